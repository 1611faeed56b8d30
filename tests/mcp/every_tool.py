"""Calls of every tool of a server, through any published client."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from apps.apikeys.permissions import DEFAULT

KEY = "The spare key lies under the blue flower pot."
PRIYA = {"name": "Priya", "entityType": "person", "observations": ["speaks Dutch"]}
WORKS = {"from": "Priya", "to": "Acme", "relationType": "works at"}
PROFILE = {"namespace": "home", "profile": "alice"}
DIET = {"type": "fact", "topic_key": "user.diet", "summary": "vegan since 2026", "content": {"diet": "vegan"}}
STRICTER = {"memory": {"event_max_age_secs": 864_000}}
# The permissions that every tool needs.
SCOPES = [*DEFAULT, "history:read", "history:write", "state:read", "exports:read", "audit:read", "retention:read",
          "retention:write"]  # fmt: skip

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


async def call_typed_tools(call: Call) -> dict[str, Any]:
    """The same of the seventeen tools of /v1/mcp/typed."""

    async def ask(name: str, arguments: dict[str, Any]) -> Any:
        return await call(name, PROFILE | arguments)

    results = {"memory_ingest": await ask("memory_ingest", {"memories": [DIET]})}
    one = {"memory_id": structured(results["memory_ingest"])["results"][0]["id"]}
    for name, arguments in {
        "memory_append": {"session_id": "s-1", "role": "user", "content": "The boiler is loud."},
        "memory_recall": {"topic_key": "user.diet"},
        "memory_search": {"query": "boiler"},
        "memory_ask": {"question": "Is she vegan?"},
        "memory_extract": {"turns": [{"role": "user", "content": "I am allergic to peanuts."}], "dry_run": True},
        "memory_get": one,
        "memory_window": {"session_id": "s-1"},
        "memory_sessions_list": {},
        "policy_set": {"policy": STRICTER},
        "policy_get": {},
        "memory_forget": one,
        "memory_erase": one,
        "memory_session_end": {"session_id": "s-1", "drop_turns": True},
    }.items():
        results[name] = await ask(name, arguments)
    erasure = {"erasure_id": structured(results["memory_erase"])["erasure_id"]}
    results["memory_erasure_status"] = await ask("memory_erasure_status", erasure)
    for name in ("memory_profiles_list", "audit_query"):
        results[name] = await call(name, {"namespace": PROFILE["namespace"]})
    return results


def check_tools(results: dict[str, Any], end_user: str) -> None:
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


def check_graph_tools(results: dict[str, Any], end_user: str) -> None:
    found = {name: structured(result) for name, result in results.items()}
    whole = {"entities": [PRIYA | {"observations": ["speaks Dutch", "likes tea"]}], "relations": [WORKS]}
    assert {found[name]["status"] for name in found if name.startswith("delete")} == {"pending"}
    assert [name for name, one in results.items() if is_error(one)] == [one for one in found if one[:6] == "delete"]
    assert (found["create_entities"], found["create_relations"]) == ({"entities": [PRIYA]}, {"relations": [WORKS]})
    assert (found["read_graph"], found["search_nodes"], found["open_nodes"]) == (whole, whole, whole)


def check_typed_tools(results: dict[str, Any], end_user: str) -> None:
    """Their memories are the profile's, for every end user."""
    assert [name for name, result in results.items() if is_error(result)] == ["memory_forget"]
    assert "STEP_UP_REQUIRED" in str(results["memory_forget"].content)
    found = {name: structured(result) for name, result in results.items() if name != "memory_forget"}
    one = found["memory_ingest"]["results"][0]["id"]
    assert [memory["id"] for memory in found["memory_recall"]["memories"]] == [one]
    assert [turn["content"] for turn in found["memory_search"]["turns"]] == ["The boiler is loud."]
    assert "vegan since 2026" in found["memory_ask"]["answer"]
    assert "peanuts" in str(found["memory_extract"])
    assert found["memory_get"]["memory"]["content"] == DIET["content"]
    assert [turn["content"] for turn in found["memory_window"]["turns"]] == ["The boiler is loud."]
    assert [session["id"] for session in found["memory_sessions_list"]["sessions"]] == ["s-1"]
    assert found["policy_get"]["effective"]["memory"]["event_max_age_secs"] == 864_000
    assert found["memory_session_end"] == {"ended": True}
    assert found["memory_erasure_status"]["status"] == "pending"
    assert [profile["profile"] for profile in found["memory_profiles_list"]["profiles"]] == ["alice"]
    assert found["audit_query"]["complete"]


def structured(result: Any) -> Any:
    assert result.structured_content is not None, result
    return result.structured_content


def is_error(result: Any) -> bool:
    return bool(result.is_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """call_all: calls every tool and returns the results by name.  check: fails unless they are right, given them and
    the end user.
    """

    path: str
    call_all: Callable[[Call], Awaitable[dict[str, Any]]]
    check: Callable[[dict[str, Any], str], None]


# By their names in `memsync mcp --tools`.
SERVERS: Final = {
    "memories": ToolServer(path="/v1/mcp", call_all=call_tools, check=check_tools),
    "typed": ToolServer(path="/v1/mcp/typed", call_all=call_typed_tools, check=check_typed_tools),
    "graph": ToolServer(path="/v1/mcp/graph", call_all=call_graph_tools, check=check_graph_tools),
}
