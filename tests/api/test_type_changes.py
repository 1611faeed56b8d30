"""/v1/types: adding, splitting and retiring types over HTTP, and undoing it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.api.v1 import types
from apps.apikeys.onboarding import OpenedTenant
from apps.memory_types import change_worker
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

TEXTS = (
    "I take 20 mg of lisinopril every morning.",
    "I take 2 tablets of ibuprofen at night.",
    "My dog Biscuit sleeps on the blue sofa.",
)
MEDICATION = {
    "name": "medication",
    "like": "fact",
    "slot": "none",
    "half_life_days": 30,
    "ttl_seconds": 86_400,
    "rules": [{"words": ["# mg"]}, {"name": "tablets", "words": ["tablet*"], "unless": ["graphics"]}],
    "fields": [
        {"name": "dosage", "kind": "text", "units": ["mg", "tablet*"], "required": True},
        {"name": "medication_name", "kind": "text", "hints": ["of"], "description": "as on the box"},
    ],
}


@pytest.fixture
def admin(acme: OpenedTenant) -> Caller:
    """A key that may change types and read memories."""
    return Caller(make_api_key(acme.scope, scopes=["ontology:write", "memory:read"]).text)


@pytest.fixture
def ids(alice: Caller) -> list[int]:
    return [alice.add(text)["id"] for text in TEXTS]


def ask(caller: Caller, method: str, path: str, body: Any = None, *, status: int = 202) -> Any:
    response: Any = caller(method, path, body)
    assert response.status_code == status, response.content
    return response.json()


def refused(caller: Caller, method: str, path: str, body: Any = None) -> tuple[int, str]:
    response: Any = caller(method, path, body)
    return response.status_code, response.json()["error"]["code"]


def finish(change: Any) -> None:
    change_worker.work(change["id"], seconds=60, clock=lambda: datetime.now(UTC) + timedelta(minutes=1))


def seen(caller: Caller, memory_id: int) -> tuple[str, Any]:
    body = ask(caller, "GET", f"/memory/{memory_id}", status=200)
    return body["extracted_type"], body["fields"]


def test_a_dry_run_shows_counts_and_changes_nothing(admin: Caller, ids: list[int]) -> None:
    shown = ask(admin, "POST", "/v1/types", MEDICATION | {"dry_run": True, "sample": 1}, status=200)

    assert shown["rows"] == {"total": 3, "seen": 3, "changed": 2, "taken": 0, "broken": 0}
    assert shown["by"] == [
        {"type": "fact", "rule": "rule 1", "rows": 1}, {"type": "fact", "rule": "tablets", "rows": 1},
    ]  # fmt: skip
    assert shown["fields"] == {"dosage": 2, "medication_name": 2}
    assert [one["memory_id"] for one in shown["sample"]] == [ids[1]]
    assert "lisinopril" not in json.dumps(shown)
    assert "medication" not in json.dumps(ask(admin, "GET", "/v1/types", status=200))


def test_a_dry_run_names_no_memory_to_a_key_that_may_not_read(acme: OpenedTenant, ids: list[int]) -> None:
    blind = Caller(make_api_key(acme.scope, scopes=["ontology:write"]).text)

    shown = ask(blind, "POST", "/v1/types", MEDICATION | {"dry_run": True, "sample": 10}, status=200)

    assert (shown["rows"]["changed"], shown["sample"]) == (2, [])


def test_a_dry_run_stops_after_a_while(admin: Caller, ids: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "PREVIEW_SECONDS", 0.0)

    shown = ask(admin, "POST", "/v1/types", MEDICATION | {"dry_run": True}, status=200)

    assert (shown["rows"]["total"], shown["rows"]["seen"]) == (3, 0)


def test_a_type_is_added_backfilled_and_undone(admin: Caller, alice: Caller, ids: list[int]) -> None:
    change = ask(admin, "POST", "/v1/types", MEDICATION)
    assert (change["kind"], change["type"], change["state"], change["rows"]["total"]) == (
        "add", "medication", "running", 3,
    )  # fmt: skip
    assert change["actor"].startswith("api_key:")
    (told,) = [one for one in ask(admin, "GET", "/v1/types", status=200)["types"] if one["name"] == "medication"]
    assert (told["half_life_days"], told["ttl_seconds"], told["slot"]) == (30.0, 86_400, None)
    assert told["fields"][1] == {
        "name": "medication_name", "kind": "text", "required": False, "description": "as on the box", "values": [],
        "hints": ["of"], "units": [],
    }  # fmt: skip

    finish(change)

    progress = ask(admin, "GET", f"/v1/types/changes/{change['id']}", status=200)
    assert (progress["state"], progress["rows"]["changed"]) == ("done", 2)
    assert [seen(alice, one) for one in ids] == [
        ("medication", {"dosage": "20 mg", "medication_name": "lisinopril every morning"}),
        ("medication", {"dosage": "2 tablets", "medication_name": "ibuprofen at night"}),
        ("fact", {}),
    ]

    undone = ask(admin, "POST", f"/v1/types/changes/{change['id']}/undo")
    assert undone["state"] == "undoing"
    finish(change)

    assert {seen(alice, one)[0] for one in ids} == {"fact"}
    assert ask(admin, "POST", f"/v1/types/changes/{change['id']}/undo")["rows"]["restored"] == 2


def test_types_are_split_and_retired(admin: Caller, alice: Caller, ids: list[int]) -> None:
    pets = {"sources": ["fact"], "slot": "none", "rules": [{"words": ["dog"]}]}
    assert ask(admin, "POST", "/v1/types/pet/split", pets | {"dry_run": True}, status=200)["rows"]["changed"] == 1

    finish(ask(admin, "POST", "/v1/types/pet/split", pets))
    assert seen(alice, ids[2])[0] == "pet"

    effect = ask(admin, "POST", "/v1/types/pet/sunset", {"into": "fact", "dry_run": True}, status=200)
    assert (effect["kind"], effect["rows"]["changed"]) == ("sunset", 1)
    finish(ask(admin, "POST", "/v1/types/pet/sunset", {"into": "fact"}))
    assert seen(alice, ids[2])[0] == "fact"
    (pet,) = [one for one in ask(admin, "GET", "/v1/types", status=200)["types"] if one["name"] == "pet"]
    assert pet["replaced_by"] == "fact"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/types", {"name": "Medication"}, 422, "BAD_TYPE_NAME"),
        ("/v1/types", {"name": "fact"}, 409, "TYPE_EXISTS"),
        ("/v1/types", {"name": "a", "like": "nothing"}, 404, "TYPE_UNKNOWN"),
        ("/v1/types", {"name": "a", "prior": 0.5}, 422, "BAD_TYPE_DEFINITION"),
        ("/v1/types", {"name": "a", "fields": [{"name": "b", "kind": "choice"}]}, 422, "BAD_TYPE_FIELDS"),
        ("/v1/types", {"name": "a", "fields": [{"name": "b", "kind": "json"}]}, 422, "VALIDATION_ERROR"),
        ("/v1/types", {"name": "a", "fields": [{"name": "b", "kind": "text", "unit": "mg"}]}, 422, "VALIDATION_ERROR"),
        ("/v1/types", {"name": "a", "rules": [{}]}, 422, "BAD_TYPE_RULE"),
        ("/v1/types", {"name": "a", "sources": ["summary"]}, 422, "BAD_SOURCES"),
        ("/v1/types", {"name": "a", "ttl_seconds": 2**62}, 422, "VALIDATION_ERROR"),
        ("/v1/types", {"name": "a", "kind": "own"}, 422, "VALIDATION_ERROR"),
        ("/v1/types/constraint/split", {"sources": ["fact"]}, 422, "NOTHING_TELLS_THEM"),
        ("/v1/types/constraint/split", {"rules": [{"words": ["never"]}]}, 422, "VALIDATION_ERROR"),
        ("/v1/types/fact/sunset", {"into": "event"}, 422, "TYPE_BUILT_IN"),
        ("/v1/types/nothing/sunset", {"into": "event"}, 404, "TYPE_UNKNOWN"),
    ],
)
def test_what_makes_no_sense_is_refused(admin: Caller, path: str, body: Any, status: int, code: str) -> None:
    assert refused(admin, "POST", path, body) == (status, code)


def test_one_change_at_a_time_and_the_last_is_undone_first(admin: Caller, ids: list[int]) -> None:
    first = ask(admin, "POST", "/v1/types", MEDICATION)
    assert refused(admin, "POST", "/v1/types", MEDICATION) == (409, "TYPE_EXISTS")
    assert refused(admin, "POST", "/v1/types", MEDICATION | {"name": "pill"}) == (409, "TYPE_CHANGE_UNDERWAY")
    finish(first)

    finish(ask(admin, "POST", "/v1/types/medication/sunset", {"into": "fact"}))

    assert refused(admin, "POST", f"/v1/types/changes/{first['id']}/undo") == (409, "TYPE_CHANGE_BUILT_UPON")


def test_changes_and_types_of_another_tenant_look_absent(
    admin: Caller, globex: OpenedTenant, call_with: Callable[..., Caller]
) -> None:
    change = ask(admin, "POST", "/v1/types", MEDICATION)
    finish(change)
    theirs = call_with(make_api_key(globex.scope, scopes=["ontology:write", "memory:read"]).text)

    for change_id in (change["id"], change["id"] + 1, 2**63, 10**40):
        for method, path in (("GET", ""), ("POST", "/undo")):
            absent = refused(theirs, method, f"/v1/types/changes/{change_id}{path}")
            assert absent == (404, "TYPE_CHANGE_UNKNOWN")
    assert refused(theirs, "POST", "/v1/types/medication/sunset", {"into": "fact"}) == (404, "TYPE_UNKNOWN")
    assert ask(theirs, "POST", "/v1/types", MEDICATION)["rows"]["total"] == 0
    assert ask(admin, "GET", f"/v1/types/changes/{change['id']}", status=200)["state"] == "done"


def test_a_key_of_one_project_or_environment_changes_no_types(
    acme: OpenedTenant, ids: list[int], call_with: Callable[..., Caller]
) -> None:
    limits: list[dict[str, Any]] = [{"project_id": acme.project.pk}, {"environment": Environment.STAGING}]
    for limit in limits:
        limited = call_with(make_api_key(acme.scope, scopes=["ontology:write"], **limit).text)
        for method, path, body in (
            ("POST", "/v1/types", MEDICATION),
            ("POST", "/v1/types", MEDICATION | {"dry_run": True}),
            ("POST", "/v1/types/pet/split", {"sources": ["fact"], "rules": [{"words": ["dog"]}]}),
            ("POST", "/v1/types/pet/sunset", {"into": "fact"}),
            ("GET", "/v1/types/changes/1", None),
            ("POST", "/v1/types/changes/1/undo", None),
        ):
            assert refused(limited, method, path, body) == (403, "TYPES_BEYOND_KEY"), (limit, path)
