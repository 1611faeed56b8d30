"""Calls of every tool of an address, through any published client."""

from collections.abc import Awaitable, Callable
from typing import Any

KEY = "The spare key lies under the blue flower pot."
PRIYA = {"name": "Priya", "entityType": "person", "observations": ["speaks Dutch"]}
WORKS = {"from": "Priya", "to": "Acme", "relationType": "works at"}

# Given a tool's name and arguments, its result.
Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def call_tools(call: Call) -> dict[str, Any]:
    """The results of the fourteen tools of /v1/mcp, by their names."""
    results = {"add_memory": await call("add_memory", {"text": KEY})}
    one = {"id": structured(results["add_memory"])["memory_ids"][0]}
    for name, arguments in {
        "search_memory": {"query": "Where is the spare key?"},
        "list_memories": {},
        "get_memory": one,
        "get_related_memories": one,
        "update_memory": one | {"tags": ["home"]},
        "record_fact": {"subject": "user", "predicate": "works_at", "object": "Acme"},
        "query_facts": {"subject": "user"},
        "find_contradictions": {},
        "list_entities": {},
        "record_turn": {"role": "user", "text": "I live in Lisbon."},
        "list_recent_turns": {},
        "whoami": {},
        "delete_memory": one,
    }.items():
        results[name] = await call(name, arguments)
    return results


async def call_graph_tools(call: Call) -> dict[str, Any]:
    """The same of the nine tools of /v1/mcp/graph."""
    return {
        name: await call(name, arguments)
        for name, arguments in {
            "create_entities": {"entities": [PRIYA]},
            "create_relations": {"relations": [WORKS]},
            "add_observations": {"observations": [{"entityName": "Priya", "contents": ["likes tea"]}]},
            "read_graph": {},
            "search_nodes": {"query": "dutch"},
            "open_nodes": {"names": ["Priya"]},
            "delete_observations": {"deletions": [{"entityName": "Priya", "observations": ["likes tea"]}]},
            "delete_relations": {"relations": [WORKS]},
            "delete_entities": {"entityNames": ["Priya"]},
        }.items()
    }


def check_tools(results: dict[str, Any], end_user: str = "alice") -> None:
    found = {name: structured(result) for name, result in results.items()}
    assert [name for name, result in results.items() if is_error(result)] == ["delete_memory"]
    assert found["delete_memory"]["status"] == "pending"
    assert [one["text"] for one in found["search_memory"]["memories"]] == [KEY]
    assert found["list_memories"]["total"] == 1
    assert (found["get_memory"]["text"], found["get_related_memories"]["related"]) == (KEY, [])
    assert found["update_memory"]["tags"] == ["home"]
    assert [one["object"] for one in found["query_facts"]["facts"]] == ["Acme"]
    assert found["find_contradictions"]["contradictions"] == []
    assert [one["content"] for one in found["list_recent_turns"]["turns"]] == ["I live in Lisbon."]
    assert found["list_entities"]["entities"]
    assert found["whoami"]["end_user"] == end_user


def check_graph_tools(results: dict[str, Any]) -> None:
    found = {name: structured(result) for name, result in results.items()}
    whole = {"entities": [PRIYA | {"observations": ["speaks Dutch", "likes tea"]}], "relations": [WORKS]}
    assert {found[name]["status"] for name in found if name.startswith("delete")} == {"pending"}
    assert [name for name, one in results.items() if is_error(one)] == [one for one in found if one[:6] == "delete"]
    assert (found["create_entities"], found["create_relations"]) == ({"entities": [PRIYA]}, {"relations": [WORKS]})
    assert (found["read_graph"], found["search_nodes"], found["open_nodes"]) == (whole, whole, whole)


def structured(result: Any) -> Any:
    assert result.structured_content is not None, result
    return result.structured_content


def is_error(result: Any) -> bool:
    return bool(result.is_error)
