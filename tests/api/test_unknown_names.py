"""What is sent and not known is refused by its name, with the nearest that is known: on every route."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, get_resolver

from apps.api.connectors import ConnectorView
from apps.api.mcp.views import McpView
from apps.api.mem0.unbuilt import UnbuiltView
from apps.api.parsers import StrictJSONParser
from apps.api.permissions import NoKeyDeletes, NoKeyMay
from apps.api.unknown import LISTED_AT_MOST, NAMED_AT_MOST
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.tenants.services import set_policy
from tests import once
from tests.api.conftest import Caller, Refusal
from tests.api.people import OF_PEOPLE, make_fresh_caller
from tests.api.test_access import CALLER, MEMORY_ID, TABLE, TEXT
from tests.forms import form
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

UNKNOWN = "zzz_of_nobody"
ROWS = {(row.route, row.method): row for row in (*TABLE, *OF_PEOPLE)}


class Operation(NamedTuple):
    """A method of a route of the URL conf."""

    route: str
    method: str
    view: Any

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


def _operations(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[Operation]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if route in ("/admin/", "/app/", "/oauth/"):  # OAuth tells servers to ignore parameters that they do not know
            continue
        if isinstance(pattern, URLResolver):
            yield from _operations(pattern.url_patterns, route)
        # What the first would take is not known here; the second speaks a protocol of its own (tests/mcp); the last
        # answers whatever is sent that it is not built (tests/mem0).
        elif not issubclass(view := pattern.callback.cls, ConnectorView | McpView | UnbuiltView):
            yield from (Operation(route, method, view) for method in view.permissions)


OPERATIONS = list(_operations(get_resolver().url_patterns))
# Whatever is sent is not looked at: a key may not do it.
OF_KEYS_NEVER = [
    one
    for one in OPERATIONS
    if NoKeyMay in one.view.permission_classes
    or (NoKeyDeletes in one.view.permission_classes and one.method == "DELETE")
]
every_operation = pytest.mark.parametrize("one", [one for one in OPERATIONS if one not in OF_KEYS_NEVER], ids=str)


@pytest.fixture(scope="module")
def everything(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[tuple[Caller, Caller]]:
    """A key of carol that may do all that a key may, and an owner who has just shown a second factor."""
    tenant = cast[0].tenant
    with once.taken_back():
        set_policy(tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
        yield Caller(make_api_key(cast[0].scope, scopes=list(PERMISSIONS)).text, "carol"), make_fresh_caller(tenant)


@pytest.fixture(scope="module")
def known(everything: tuple[Caller, Caller]) -> Iterator[int]:
    """The id of a memory of carol's."""
    with once.taken_back():
        yield everything[0].add(TEXT)["id"]


@pytest.fixture
def ask(everything: tuple[Caller, Caller], known: int) -> Any:
    """Sends an operation, right but for what the test adds to it."""
    key, person = everything

    def send(one: Operation, query: str = "", **added: Any) -> HttpResponse:
        row = ROWS[one.route, one.method]
        caller = person if row in OF_PEOPLE else key
        memory_id = str(known if row not in OF_PEOPLE else 2**53 - 1)
        path = re.sub(r"<int:\w+>", memory_id, one.route)
        path = path.replace("<str:tenant_id>/<path:user_id>", "acme/carol")
        path = re.sub(r"<str:\w+>", "absent", path) + query
        if getattr(row, "form", None):
            name = "memories.jsonl" if one.route == "/imports" else "notes.txt"
            content, content_type = form(json.dumps({"text": TEXT}).encode(), name, **added)
            return caller(one.method, path, content, Content_Type=content_type)
        body: Any = row.body and json.loads(json.dumps(row.body).replace(json.dumps(MEMORY_ID), memory_id))
        if body and body.get("user_id") == CALLER:
            body["user_id"] = "carol"
        return caller(one.method, path, {**(body or {}), **added} if added else body)

    return send


def findings(response: Any) -> list[tuple[list[Any], str, str]]:
    """Where, what and of which kind; once the answer has been found in order."""
    refusal = Refusal.of(response)
    assert response.status_code == (422 if refusal.envelope == "plain" else 400), response.content
    if refusal.envelope == "profiles":
        assert response.json()["code"] == "invalid_request", response.content
    assert refusal.code == "VALIDATION_ERROR"
    assert UNKNOWN not in json.dumps(refusal.message) or refusal.message.startswith(UNKNOWN)
    return [(one["loc"], one["msg"], one["type"]) for one in refusal.details]


@every_operation
def test_unknown_field_is_refused_by_its_name(one: Operation, ask: Any) -> None:
    response = ask(one, **{UNKNOWN: "1"})

    if StrictJSONParser not in one.view.parser_classes and one.method == "GET":
        assert response.status_code == 415  # beside a route that takes forms
        return
    ((loc, message, kind),) = findings(response)
    assert (loc, kind) == (["body", UNKNOWN], "unknown_field")
    assert message.startswith("unknown field; ")


@every_operation
def test_unknown_parameter_is_refused_by_its_name(one: Operation, ask: Any) -> None:
    ((loc, message, kind),) = findings(ask(one, f"?{UNKNOWN}=1"))

    assert (loc, kind) == (["query", UNKNOWN], "unknown_parameter")
    assert message.startswith("unknown parameter; ")


@pytest.mark.parametrize("one", [one for one in OPERATIONS if ROWS[one.route, one.method].body], ids=str)
def test_misspelt_field_is_told_the_nearest(one: Operation, ask: Any) -> None:
    meant = max(ROWS[one.route, one.method].body or {}, key=len)

    ((loc, message, _),) = findings(ask(one, **{f"{meant}x": "1"}))

    assert loc == ["body", f"{meant}x"]
    assert message == f"unknown field; did you mean {meant}?"


def test_misspelt_parameter_is_told_the_nearest(alice: Caller) -> None:
    ((loc, message, _),) = findings(alice("GET", "/memory/graph?limitt=5"))

    assert (loc, message) == (["query", "limitt"], "unknown parameter; did you mean limit?")


NESTED: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("/memory/query", {"query": TEXT, "filters": {"tagz": ["a"]}}, ["body", "filters", "tagz"]),
    ("/memory/batch-update", {"items": [{"memory_id": 1, "tagz": ["a"]}]}, ["body", "items", 0, "tagz"]),
    ("/v1/history/append", {"tenant_id": "acme", "user_id": "alice", "session_id": "s",
                            "turns": [{"role": "user", "content": "hi", "rol": "x"}]}, ["body", "turns", 0, "rol"]),
    ("/exports", {"format": "csv", "filters": {"tierr": "hot"}}, ["body", "filters", "tierr"]),
    ("/org/webhooks", {"name": "x", "url": "https://hooks.example.com", "events": ["memory.created"],
                       "retry_config": {"enable": True}}, ["body", "retry_config", "enable"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "loc"), NESTED, ids=[path for path, _, _ in NESTED])
def test_fields_within_fields_are_known_too(
    path: str, body: dict[str, Any], loc: list[Any], everything: tuple[Caller, Caller]
) -> None:
    found = findings(everything[0]("POST", path, body))

    assert [one[0] for one in found] == [loc]
    assert "did you mean" in found[0][1]


def test_item_with_an_unknown_field_is_rejected_and_the_others_are_kept(alice: Caller) -> None:
    items = [{"text": TEXT, "importance": 0.6}, {"text": "The attic is locked.", "importanse": 0.6}]

    results = alice("POST", "/memory/bulk-add", {"items": items}).json()["results"]

    assert [one["status"] for one in results] == ["created", "rejected"]
    assert results[1]["reason"] == "importanse: unknown field; did you mean importance?"


@pytest.mark.parametrize("path", ["/memory/add", "/memory/query", "/memory/compose", "/memory/search/routed"])
def test_owners_that_clients_send_along_are_known_and_ignored(path: str, alice: Caller, acme: OpenedTenant) -> None:
    body = {"/memory/compose": {"prompt_template": TEXT}, "/memory/add": {"text": TEXT, "importance": 0.6}}
    sent = body.get(path, {"query": TEXT}) | {"user_id": 7, "project_id": "proj_of_somebody"}

    response = alice("POST", path, sent)

    assert response.status_code in (200, 201), response.content
    if path == "/memory/add":
        assert response.json()["user_id"] != 7


def test_unknown_field_changes_nothing(alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["one"])

    findings(alice("PATCH", f"/memory/{memory['id']}", {"tags": ["two"], "importanse": 0.9}))

    assert alice("GET", f"/memory/{memory['id']}").json()["tags"] == ["one"]


def test_many_and_long_names_are_answered_shortly(alice: Caller) -> None:
    names = {f"n{number}{'x' * 50}": 1 for number in range(5_000)}

    found = findings(alice("POST", "/memory/query", {"query": TEXT} | names))

    assert len(found) == NAMED_AT_MOST
    assert all(len(loc[1]) <= 64 for loc, _, _ in found)
    assert found[0][1].count(",") <= LISTED_AT_MOST


@pytest.mark.parametrize("name", ["my card is 4111 1111", "a" * 65, "é", "", "a\u0000"])
def test_what_could_be_no_name_is_not_repeated(name: str, alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": TEXT, name: 1})

    assert [loc for loc, _, _ in findings(response)] == [["body", f"({len(name)} characters)"]]
    assert not name or name not in response.json()["detail"]


def test_null_of_an_unknown_field_is_unknown_as_well(alice: Caller) -> None:
    assert findings(alice("POST", "/memory/query", {"query": TEXT, UNKNOWN: None}))[0][0] == ["body", UNKNOWN]


@pytest.mark.parametrize("body", [None, {}, b""])
def test_operation_without_fields_takes_no_body_or_an_empty_one(body: Any, alice: Caller) -> None:
    assert alice("POST", "/memory/refresh", body).status_code == 202


def test_body_of_an_operation_without_fields_is_read_as_strictly(alice: Caller) -> None:
    assert alice("POST", "/memory/refresh", b"{broken").status_code == 400
    assert alice("POST", "/memory/refresh", b"a=b", Content_Type="text/plain").status_code == 415


# -- when it was said --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["yesterday", "2026-02-30", "", 1762000000, True, ["2026-01-01"], {}])
@pytest.mark.parametrize("place", ["top", "metadata"])
def test_bad_time_is_refused_wherever_it_stands(place: str, bad: Any, alice: Caller) -> None:
    said = {"occurred_at": bad} if place == "top" else {"metadata": {"occurred_at": bad}}
    turn = {"tenant_id": "acme", "user_id": "alice", "text": TEXT}
    where = ["body", "occurred_at"] if place == "top" else ["body", "metadata", "occurred_at"]

    for path, body in (("/memory/add", {"text": TEXT}), ("/v1/memory/add_turn", turn)):
        assert where in [loc for loc, _, _ in findings(alice("POST", path, body | said))], path
    bulk = alice("POST", "/memory/bulk-add", {"items": [{"text": TEXT} | said]}).json()["results"]
    assert [one["status"] for one in bulk] == ["rejected"]


def test_bad_time_in_the_metadata_of_a_file_is_refused(alice: Caller) -> None:
    content, content_type = form(TEXT.encode(), metadata='{"occurred_at": "soon"}')

    found = findings(alice("POST", "/memory/upload", content, Content_Type=content_type))

    assert found[0][0] == ["body", "metadata", "occurred_at"]


def test_time_at_the_top_says_when_it_held_before_the_metadatas(alice: Caller) -> None:
    alice.add("I live in Ghent.", occurred_at="2026-05-01T10:00:00Z", metadata={"occurred_at": "2020-01-01"})

    earlier = alice.add("I live in Utrecht.", occurred_at="2025-05-01")

    assert earlier["valid_from"].startswith("2025-05-01")
    found = alice("POST", "/memory/query", {"query": "Where do I live?"}).json()["memories"]
    assert [(one["text"], one["valid_from"][:10]) for one in found] == [("I live in Ghent.", "2026-05-01")]


def test_metadata_without_a_time_or_with_null_is_the_callers_own(alice: Caller) -> None:
    for metadata in ({"occurred_at": None}, {"event_time": "once upon a time"}, {"when": 5}):
        assert alice.add(TEXT, metadata=metadata, deduplicate=False)["metadata"] == metadata


# -- how many ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, 51, 2**31])
def test_more_than_there_may_be_is_refused_and_not_cut(k: int, alice: Caller) -> None:
    named = {"tenant_id": "acme", "user_id": "alice", "prompt": TEXT}
    for path, body, name in (
        ("/memory/query", {"query": TEXT}, "k"),
        ("/memory/retrieve", {"query": TEXT}, "limit"),
        ("/memory/search/routed", {"query": TEXT}, "k"),
        ("/memory/synthesize", {"query": TEXT}, "max_memories"),
        ("/memory/compose", {"prompt_template": TEXT}, "recall_k"),
        ("/v1/memory/recall", named, "k"),
        ("/v1/memory/query", named, "k"),
    ):
        ((loc, message, _),) = findings(alice("POST", path, body | {name: k}))
        assert loc == ["body", name], path
        assert message in ("must be at least 1", "must be at most 50")


def test_text_under_both_of_its_names_is_refused(alice: Caller) -> None:
    ((loc, message, _),) = findings(alice("POST", "/memory/add", {"text": TEXT, "content": "Something else."}))

    assert (loc, message) == (["body", "content"], "is another name for text: send one")
    assert alice("POST", "/memory/add", {"content": TEXT, "importance": 0.6, "text": None}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "fields", "found"),
    [
        ("POST", "/memory/query", {"query": TEXT, "k": 1, "limit": 3}, (["body", "limit"], "k")),
        (
            "POST",
            "/memory/query",
            {"query": TEXT, "depth": 1, "traversal_depth": 3},
            (["body", "depth"], "traversal_depth"),
        ),
        ("GET", "/api/v1/memories?query=tea&q=coffee", {}, (["query", "q"], "query")),
        ("GET", "/api/v1/memories?page=2&cursor=3", {}, (["query", "cursor"], "page")),
    ],
)  # fmt: skip
def test_two_names_of_one_field_are_refused(
    method: str, path: str, fields: dict[str, Any], found: tuple[list[str], str], alice: Caller
) -> None:
    ((loc, message, kind),) = findings(alice(method, path, fields or None))

    assert (loc, message, kind) == (found[0], f"is another name for {found[1]}: send one", "doubled")


def test_a_parameter_that_is_given_twice_is_refused(alice: Caller) -> None:
    ((loc, message, kind),) = findings(alice("GET", "/v1/sessions?limit=1&limit=2&offset=0"))

    assert (loc, message, kind) == (["query", "limit"], "is given twice", "doubled")


def test_route_that_only_people_delete_on_looks_at_nothing(everything: tuple[Caller, Caller]) -> None:
    assert OF_KEYS_NEVER
    for one in OF_KEYS_NEVER:
        response = replace(everything[0])(one.method, one.route, {UNKNOWN: 1})
        code = "FORBIDDEN" if one.route.startswith("/api/v1/") else "STEP_UP_REQUIRED"  # the platform's word
        assert (response.status_code, response.json()["error"]["code"]) == (403, code)
