"""Links of the OpenAPI document: how a tool continues from one operation's response to other operations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OF_MEMORY: Final = ("get", "update", "history", "feedback", "list_relations", "create_relation", "status")
OF_IMPORT: Final = ("get_import", "cancel_import")
OF_EXPORT: Final = ("get_export", "cancel_export", "retry_export", "get_export_download_url")
OF_CANDIDATE: Final = ("get_candidate", "accept_candidate", "reject_candidate")
OF_REQUEST: Final = ("get_forget_request", "cancel_forget_request")


@dataclass(frozen=True, slots=True)
class OpenApiLink:
    """Links from a response to other operations: which values of the response or its request are their parameters."""

    of: str
    status: int
    to: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


def _answer(pointer: str) -> str:
    return f"$response.body#/{pointer}"


def _asked(pointer: str) -> str:
    return f"$request.body#/{pointer}"


WHOSE: Final = {"tenant_id": _asked("tenant_id"), "user_id": _asked("user_id")}
SESSION: Final = WHOSE | {"session_id": _asked("session_id")}
NAMESPACE: Final = WHOSE | {"namespace": _asked("namespace"), "source": _asked("source")}

WAYS: Final = (
    OpenApiLink("add", 201, OF_MEMORY, {"memory_id": _answer("id")}),
    OpenApiLink("upload", 201, OF_MEMORY, {"memory_id": _answer("id")}),
    OpenApiLink("bulk_add", 207, OF_MEMORY, {"memory_id": _answer("results/0/memory_ids/0")}),
    OpenApiLink("query", 200, OF_MEMORY, {"memory_id": _answer("memories/0/id")}),
    OpenApiLink("retrieve", 200, OF_MEMORY, {"memory_id": _answer("memories/0/id")}),
    OpenApiLink("update", 200, ("get", "history"), {"memory_id": _answer("id")}),
    OpenApiLink("add", 201, ("create_relation",), {"memory_id": _answer("id")}, {"to_memory_id": _answer("id")}),
    OpenApiLink("query", 200, ("create_relation",), {"memory_id": _answer("memories/0/id")},
        {"to_memory_id": _answer("memories/1/id"), "relationship_type": "contradicts"}),
    OpenApiLink("create_relation", 201, ("delete_relation",),
        {"memory_id": _answer("from_memory_id"), "edge_id": _answer("id")}),
    OpenApiLink("add", 201, ("graph",), {"memory_id": _answer("id")}),
    OpenApiLink("add", 201, ("summarize",), body={"memory_ids": [_answer("id")]}),
    OpenApiLink("create_relation", 201, ("list_relations",), {"memory_id": _answer("to_memory_id")}),
    OpenApiLink("list_relations", 200, ("delete_relation",),
        {"memory_id": _answer("memory_id"), "edge_id": _answer("relations/0/id")}),
    OpenApiLink("decisions", 200, ("resolve_decision",), body={"decision_id": _answer("decisions/0/decision_id")}),
    OpenApiLink("query", 200, ("create_forget_request",), body={"memory_ids": [_answer("memories/0/id")]}),
    OpenApiLink("create_forget_request", 201, OF_REQUEST, {"request_id": _answer("id")}),
    OpenApiLink("list_forget_requests", 200, OF_REQUEST, {"request_id": _answer("requests/0/id")}),
    OpenApiLink("list_candidates", 200, OF_CANDIDATE, {"candidate_id": _answer("candidates/0/id")}),
    OpenApiLink("list_candidates", 200, ("decide_candidates",),
        body={"action": "reject", "candidate_ids": [_answer("candidates/0/id")]}),
    OpenApiLink("add_turn", 201, OF_CANDIDATE, {"candidate_id": _answer("candidate_ids/0")}),
    OpenApiLink("create_import", 202, OF_IMPORT, {"job_id": _answer("id")}),
    OpenApiLink("list_imports", 200, OF_IMPORT, {"job_id": _answer("jobs/0/id")}),
    OpenApiLink("create_export", 202, OF_EXPORT, {"job_id": _answer("job/id")}),
    OpenApiLink("list_exports", 200, OF_EXPORT, {"job_id": _answer("jobs/0/id")}),
    OpenApiLink("add_turn", 201, ("recall", "v1_query"), body=WHOSE),
    OpenApiLink("add_turn", 201, ("list_memories",), WHOSE),
    OpenApiLink("append_history", 200, ("list_history", "delete_history"), body=SESSION),
    OpenApiLink("list_history", 200, ("delete_history",), body=WHOSE | {"ids": [_answer("items/0/id")]}),
    OpenApiLink("put_state", 200, ("get_state",), body=NAMESPACE | {"key": _asked("key")}),
    OpenApiLink("put_state", 200, ("delete_state",), body=NAMESPACE | {"keys": [_asked("key")]}),
    OpenApiLink("put_state", 200, ("list_state", "search_state", "list_state_namespaces"), body=WHOSE),
)  # fmt: skip


def add_links(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Postprocessing hook of drf-spectacular: add each link to the response it starts from."""
    answers = {operation["operationId"]: operation["responses"] for operation in _operations(result)}
    for way in WAYS:
        links = answers[way.of][str(way.status)].setdefault("links", {})
        for target in way.to:
            links[_name(target, links)] = _link(target, way)
    return result


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def _name(target: str, taken: Mapping[str, Any]) -> str:
    return target if target not in taken else f"{target}_{sum(name.startswith(target) for name in taken) + 1}"


def _link(target: str, way: OpenApiLink) -> dict[str, Any]:
    link: dict[str, Any] = {"operationId": target}
    if way.parameters:
        link["parameters"] = dict(way.parameters)
    if way.body:
        link["requestBody"] = dict(way.body)
    return link
