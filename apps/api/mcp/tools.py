"""The tools for memories.  Each calls the routes that a program would call (``apps.api.urls``)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apps.api.mcp.catalogue import Run, Tool, ToolResult
from apps.api.mcp.deleting import delete_memory
from apps.api.mcp.session import ToolSession
from apps.api.memory_ids import ID, memory_id, public_id

MOST: Final = 50
SESSION: Final = "mcp"  # of turns whose session is not named
TEXT: Final = {"type": "string", "minLength": 1}
TIME: Final = {"type": "string", "description": "ISO 8601 date or time."}
TAGS: Final = {"type": "array", "items": {"type": "string"}}


def _limit(default: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def search_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    filters = _renamed(given, {"types": "memory_type", "since": "since", "until": "until"})
    body = {"query": given["query"], "k": given.get("limit", 5), "explain": False, "filters": filters}
    found = session.ask("POST", "/memory/query", body | _renamed(given, {"as_of": "as_of"}))
    memories = [_found(one) for one in found["memories"]]
    lines = [f"- {one['id']} ({one['score']:.2f}): {one['text']}" for one in memories]
    return _listed(lines, {"memories": memories}, none="No memories match.")


def add_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    said = {"text": given["text"], "source": session.source, **_renamed(given, {"tags": "tags"})}
    made = session.ask("POST", "/memory/add", said)
    ids = [public_id(one) for one in made.get("memory_ids", ())]
    if made.get("status") == "skipped":
        known = f" It is known as {', '.join(ids)}." if ids else ""
        return ToolResult.text(
            f"Not stored: {made['reason']}.{known}",
            {"status": "skipped", "reason": made["reason"], "memory_ids": ids},
        )
    return ToolResult.text(f"Stored as {', '.join(ids)}." if ids else "Done.", {"status": "created", "memory_ids": ids})


def list_memories(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    path = f"/v1/memory/{session.scope.tenant.name}/{session.end_user}/list"
    listed = session.ask("GET", path, query={"limit": given.get("limit", 20)})
    memories = [
        {"id": one["memory_id"], "text": one["raw_text"], "type": one["type"], "tags": one["tags"],
         "created_at": one["created_at"]}
        for one in listed["memories"]
    ]  # fmt: skip
    lines = [f"- {one['id']}: {one['text']}" for one in memories]
    return _listed(lines, {"memories": memories, "total": listed["total"]}, none="There are no memories.")


def get_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    memory = session.ask("GET", f"/memory/{memory_id(given['id'])}")
    return _listed([f"- {public_id(memory['id'])}: {memory['text']}"], {**memory, "id": public_id(memory["id"])})


def get_related_memories(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    one = memory_id(given["id"])
    found = session.ask("GET", f"/memory/{one}/relations", query={"include_text": "true"})
    wanted = given.get("relationship_types")
    related = [
        {
            "id": public_id(edge["to_memory_id"] if edge["from_memory_id"] == one else edge["from_memory_id"]),
            "relationship_type": edge["relationship_type"],
            "direction": "outgoing" if edge["from_memory_id"] == one else "incoming",
            "text": edge["text"],
        }
        for edge in found["relations"]
        if not wanted or edge["relationship_type"] in wanted
    ]
    lines = [f"- {edge['relationship_type']} ({edge['direction']}) {edge['id']}: {edge['text']}" for edge in related]
    return _listed(lines, {"id": public_id(one), "related": related}, none="No memories are related to it.")


def update_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    changed = {name: given[name] for name in ("tags", "importance", "metadata") if name in given}
    memory = session.ask("PATCH", f"/memory/{memory_id(given['id'])}", changed)
    kept = {name: memory[name] for name in ("tags", "importance", "metadata", "updated_at")}
    return ToolResult.data(f"Changed {public_id(memory['id'])}.", {"id": public_id(memory["id"]), **kept})


def record_fact(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    made = session.ask("POST", "/v1/facts", dict(given))
    one = public_id(made["memory_id"]) if made.get("memory_id") else None
    reasons = [decision["reason"] for decision in made.get("decisions", ()) if decision["reason"]]
    said = f"{made['status']}{f' as {one}' if one else ''}{f': {reasons[0]}' if reasons and not one else ''}."
    return ToolResult.text(said.capitalize(), {"status": made["status"], "memory_id": one})


def query_facts(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    return _facts(session.ask("POST", "/v1/facts/query", dict(given))["facts"], none="No facts match.")


def find_contradictions(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    found = session.ask("GET", "/v1/facts/contradictions")["contradictions"]
    pairs = [{**one, "facts": [_fact(fact) for fact in one["facts"]]} for one in found]
    lines = ["- " + " / ".join(fact["text"] for fact in pair["facts"]) for pair in pairs]
    return _listed(lines, {"contradictions": pairs}, none="No facts contradict each other.")


def list_entities(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    entities = session.ask("GET", "/v1/entities", query=dict(given))["entities"]
    lines = [f"- {one['name']} ({one['type']}), in {one['mention_count']} memories" for one in entities]
    return _listed(lines, {"entities": entities}, none="No people or things match.")


def record_turn(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    turn = {"role": given["role"], "content": given["text"]}
    body = {"session_id": given.get("session_id", SESSION), "turns": [turn]}
    kept = session.ask("POST", "/v1/history/append", _whose(session) | body)
    ids = [one["id"] for one in kept["items"]]
    return ToolResult.text(f"Stored as {', '.join(ids) or 'nothing'}.", {"turn_ids": ids})


def list_recent_turns(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    asked = {"limit": given.get("limit", 20), **_renamed(given, {"session_id": "session_id"})}
    turns = session.ask("POST", "/v1/history/list", _whose(session) | asked)["items"]
    lines = [f"- {one['role']}: {one['content']}" for one in turns]
    return _listed(lines, {"turns": turns}, none="There are no turns.")


def whoami(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    scope, key = session.scope, session.request.auth
    end_user = session.view.end_user_or_none(None)
    facts = {
        "tenant": scope.tenant.name,
        "environment": scope.environment.value,
        "end_user": end_user,
        "scopes": sorted(scope.permissions),
        "can_delete": False,
        "also_reads": [one.value for one in getattr(key, "also_reads", ())],
    }
    whose = f"memories of {end_user}" if end_user else "no end user: send the header X-End-User-ID"
    return ToolResult.text(f"{scope.tenant.name}, {scope.environment.value}; {whose}.", facts)


def _whose(session: ToolSession) -> dict[str, Any]:
    return {"tenant_id": session.scope.tenant.name, "user_id": session.end_user}


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {there: given[here] for here, there in names.items() if here in given}


def _found(hit: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("text", "score", "relevance", "tags", "created_at", "valid_from", "possibly_outdated")
    return {"id": public_id(hit["id"]), "type": hit["memory_type"], **{name: hit[name] for name in kept}}


def _fact(fact: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("subject", "predicate", "object", "text", "valid_from", "valid_to", "validity")
    return {"id": public_id(fact["memory_id"]), **{name: fact[name] for name in kept}}


def _facts(found: Sequence[Mapping[str, Any]], *, none: str) -> ToolResult:
    facts = [_fact(one) for one in found]
    lines = [f"- {one['id']}: {one['text']} (since {_day(one['valid_from'])})" for one in facts]
    return _listed(lines, {"facts": facts}, none=none)


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d}" if time else "ever"


def _listed(lines: Sequence[str], structured: Mapping[str, Any], *, none: str = "") -> ToolResult:
    return ToolResult.data("\n".join(lines), structured) if lines else ToolResult.text(none, structured)


def _tool(run: Run | Callable[..., Any], title: str, description: str, **declared: Any) -> Tool:
    return Tool(name=run.__name__, title=title, description=description, run=run, **declared)


TOOLS: Final = [
    _tool(
        search_memory, "Search memories",
        "Find what is stored about the user that answers a question. Call it before you answer anything personal.",
        arguments={
            "query": TEXT | {"description": "The question, in full."},
            "limit": _limit(5, MOST),
            "types": {"type": "array", "items": {"type": "string"}, "description": "Only these types of memories."},
            "since": TIME, "until": TIME,
            "as_of": TIME | {"description": "What was true at this time."},
        },
        required=["query"], is_read_only=True,
    ),
    _tool(
        add_memory, "Add a memory",
        "Store something the user said that is worth remembering: facts, preferences, decisions, plans. The server "
        "splits it, replaces what it changes, and refuses small talk and secrets.",
        arguments={"text": TEXT, "tags": TAGS}, required=["text"], is_idempotent=True,
    ),
    _tool(
        list_memories, "List memories", "The newest memories of the user.",
        arguments={"limit": _limit(20, 200)}, is_read_only=True,
    ),
    _tool(
        get_memory, "Get a memory", "One memory, with its history and where it is from.",
        arguments={"id": ID}, required=["id"], is_read_only=True,
    ),
    _tool(
        get_related_memories, "Get related memories", "Memories that are related to one, and how.",
        arguments={"id": ID, "relationship_types": {"type": "array", "items": {"type": "string"}}},
        required=["id"], is_read_only=True,
    ),
    _tool(
        update_memory, "Update labels of a memory",
        "Change tags, importance or metadata of a memory. To change what it says, add a memory with the new fact.",
        arguments={
            "id": ID, "tags": TAGS, "metadata": {"type": "object"},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
        },
        required=["id"], is_idempotent=True,
    ),
    _tool(
        delete_memory, "Delete a memory",
        "Ask for the deletion of a memory. A person confirms it in the browser; nothing is deleted before.",
        arguments={"id": ID}, required=["id"], is_destructive=True, is_idempotent=True,
    ),
    _tool(
        record_fact, "Record a fact",
        "State a fact as subject, predicate and object, such as user / works_at / Acme. It replaces the former value.",
        arguments={
            "subject": TEXT | {"description": "`user` is the user; `user.sister` is theirs."},
            "predicate": TEXT, "object": TEXT, "valid_from": TIME, "valid_to": TIME,
        },
        required=["subject", "predicate", "object"], is_idempotent=True,
    ),
    _tool(
        query_facts, "Query facts", "Facts about a subject, now or at a time.",
        arguments={"subject": TEXT, "predicate": TEXT, "at": TIME}, is_read_only=True,
    ),
    _tool(
        find_contradictions, "Find contradictions", "Pairs of current facts that contradict each other.",
        is_read_only=True,
    ),
    _tool(
        list_entities, "List people and things", "People, places and things that memories mention.",
        arguments={"q": TEXT | {"description": "A name or alias."}, "type": TEXT}, is_read_only=True,
    ),
    _tool(
        record_turn, "Record a turn",
        "Store one turn of the conversation. Memories are made of the user's turns.",
        arguments={"role": {"enum": ["user", "assistant", "system", "tool"]}, "text": TEXT, "session_id": TEXT},
        required=["role", "text"],
    ),
    _tool(
        list_recent_turns, "List recent turns", "The latest stored turns, of one session or of all.",
        arguments={"session_id": TEXT, "limit": _limit(20, 200)}, is_read_only=True,
    ),
    _tool(whoami, "Who am I", "Whose memories these are, and what this key may do.", is_read_only=True),
]  # fmt: skip
