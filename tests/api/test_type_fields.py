"""Values of the fields of a type: on every route that shows, sets, carries or removes a memory."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.key_management import rotation
from apps.memories.models import Memory
from apps.memories.phrase_rules import PhraseRule
from apps.memories.type_fields import TypeField
from apps.memory_types import change_worker
from apps.memory_types.models import TypeChange
from apps.memory_types.type_changes import Definition, commit, plan_addition
from apps.projects.scope import Environment, Scope
from tests.api.conftest import Caller
from tests.api.test_exports import file_of
from tests.api.test_moving_house import bring_in, exported
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

MEDICINE = "I take 20 mg of lisinopril every morning."
VALUES = {"medication_name": "lisinopril", "dosage": "20 mg", "started_at": "2026-05-05", "active": True}
FIELDS = (
    TypeField(name="medication_name", kind="text", required=True),
    TypeField(name="dosage", kind="text"),
    TypeField(name="frequency", kind="choice", values=("daily", "weekly")),
    TypeField(name="started_at", kind="date"),
    TypeField(name="active", kind="boolean"),
)


def finish(change: TypeChange) -> TypeChange:
    change_worker.work(change.pk, seconds=60, clock=lambda: datetime.now(UTC) + timedelta(minutes=1))
    return change


def add_medication(scope: Scope, fields: tuple[TypeField, ...] = FIELDS) -> TypeChange:
    told = PhraseRule(name="doses", type="", sources=(), words=("# mg",))
    planned = plan_addition(scope, "medication", Definition(parent="fact", slot="none", fields=fields), (told,))
    return finish(commit(scope, planned, now=datetime.now(UTC)))


def ask(caller: Caller, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
    response: Any = caller(method, path, body)
    assert response.status_code == status, response.content
    return response.json()


def fields_of(caller: Caller, memory_id: int) -> Any:
    return ask(caller, "GET", f"/memory/{memory_id}")["fields"]


@pytest.fixture
def memory_id(alice: Caller, acme: OpenedTenant) -> int:
    """A medication with values."""
    add_medication(acme.scope)
    made: int = alice.add(MEDICINE)["id"]
    ask(alice, "PATCH", f"/memory/{made}", {"fields": VALUES})
    return made


def test_the_registry_describes_the_fields(alice: Caller, acme: OpenedTenant) -> None:
    add_medication(acme.scope)

    types = {one["name"]: one for one in ask(alice, "GET", "/v1/types")["types"]}

    assert [one["name"] for one in types["medication"]["fields"]] == [one.name for one in FIELDS]
    assert types["medication"]["fields"][2] == {
        "name": "frequency", "kind": "choice", "required": False, "description": "", "values": ["daily", "weekly"],
        "hints": [], "units": [],
    }  # fmt: skip
    assert types["fact"]["fields"] == []


def test_values_are_shown_replaced_cleared_and_in_the_history(alice: Caller, memory_id: int) -> None:
    assert fields_of(alice, memory_id) == VALUES

    changed = ask(alice, "PATCH", f"/memory/{memory_id}", {"fields": {"medication_name": "lisinopril"}, "tags": ["a"]})
    cleared = ask(alice, "PATCH", f"/memory/{memory_id}", {"fields": {}})

    assert (changed["fields"], changed["tags"]) == ({"medication_name": "lisinopril"}, ["a"])
    assert (cleared["fields"], cleared["tags"]) == ({}, ["a"])
    revisions = ask(alice, "GET", f"/memory/{memory_id}/history")["revisions"]
    assert [one["changed_fields"] for one in revisions[1:]] == [["fields"], ["tags", "fields"], ["fields"]]
    assert revisions[1]["diff"]["fields"] == {"old": {}, "new": VALUES}


def test_other_edits_keep_the_values(alice: Caller, memory_id: int) -> None:
    ask(alice, "PATCH", f"/memory/{memory_id}", {"tags": ["a"], "metadata": {"b": 1}, "importance": 0.9})

    assert fields_of(alice, memory_id) == VALUES


def test_recall_shows_them(alice: Caller, memory_id: int) -> None:
    found = ask(alice, "POST", "/memory/query", {"query": "which medicine do I take?", "fields": ["fields"]})

    assert {one["id"]: one["fields"] for one in found["memories"]}[memory_id] == VALUES


def test_values_that_do_not_fit_are_refused_by_name_and_nothing_changes(alice: Caller, memory_id: int) -> None:
    bad = {"dosage": 20, "frequency": "hourly", "size": "my secret"}

    refused = ask(alice, "PATCH", f"/memory/{memory_id}", {"fields": bad, "tags": ["a"]}, status=422)

    assert refused["error"]["code"] == "BAD_FIELD_VALUES"
    named = [one["loc"][-1] for one in refused["error"]["details"]]
    assert named == ["size", "medication_name", "dosage", "frequency"]
    assert "secret" not in json.dumps(refused)
    assert ask(alice, "GET", f"/memory/{memory_id}")["tags"] == []
    assert (
        ask(alice, "PATCH", f"/memory/{memory_id}", {"fields": [1]}, status=422)["error"]["code"] == "VALIDATION_ERROR"
    )


def test_a_type_without_fields_takes_none(alice: Caller) -> None:
    made = alice.add("The spare key lies under the blue flower pot.")

    refused = ask(alice, "PATCH", f"/memory/{made['id']}", {"fields": {"dosage": "20 mg"}}, status=422)

    assert refused["error"]["code"] == "BAD_FIELD_VALUES"
    assert made["fields"] == {}


def test_one_bad_item_of_a_batch_refuses_all(alice: Caller, memory_id: int) -> None:
    other = alice.add("The spare key lies under the blue flower pot.")["id"]
    items = [{"memory_id": other, "tags": ["a"]}, {"memory_id": memory_id, "fields": {"dosage": 1}}]

    refused = ask(alice, "POST", "/memory/batch-update", {"items": items}, status=422)

    assert refused["error"]["code"] == "BAD_FIELD_VALUES"
    assert ask(alice, "GET", f"/memory/{other}")["tags"] == []
    items[1] = {"memory_id": memory_id, "fields": {"medication_name": "ramipril"}}
    assert ask(alice, "POST", "/memory/batch-update", {"items": items}, status=207)["updated"] == 2
    assert fields_of(alice, memory_id) == {"medication_name": "ramipril"}


def test_another_end_user_or_tenant_finds_neither_memory_nor_type(
    alice: Caller, memory_id: int, globex: OpenedTenant
) -> None:
    theirs = Caller(globex.keys[Environment.PRODUCTION])
    for stranger in (alice.as_user("bob"), theirs):
        absent = ask(stranger, "PATCH", f"/memory/{memory_id}", {"fields": {"size": 1}}, status=404)
        assert absent["error"]["code"] == "MEMORY_NOT_FOUND"
    assert "medication" not in {one["name"] for one in ask(theirs, "GET", "/v1/types")["types"]}
    made = theirs.add(MEDICINE)
    assert made["extracted_type"] == "fact"
    assert ask(theirs, "PATCH", f"/memory/{made['id']}", {"fields": VALUES}, status=422)


def test_values_are_sealed_and_read_again_after_a_rotation(alice: Caller, acme: OpenedTenant, memory_id: int) -> None:
    def row() -> Memory:
        with tenant_transaction(acme.scope):
            return Memory.objects.within_tenant(acme.scope).get(pk=memory_id)

    before = row()
    assert b"lisinopril" not in bytes(before.fields_ct or b"")

    turned = rotation.rotate(acme.scope, reason="due", is_compromise=False, now=datetime.now(UTC))
    rotation.work(turned.pk, seconds=60, workers=1, clock=lambda: datetime.now(UTC) + timedelta(minutes=1))

    assert row().key_version > before.key_version
    assert bytes(row().fields_ct or b"") != bytes(before.fields_ct or b"")
    assert fields_of(alice, memory_id) == VALUES


def test_older_values_put_back_in_the_database_do_not_open(alice: Caller, acme: OpenedTenant, memory_id: int) -> None:
    with tenant_transaction(acme.scope):
        older = Memory.objects.within_tenant(acme.scope).get(pk=memory_id).fields_ct
    ask(alice, "PATCH", f"/memory/{memory_id}", {"fields": {"medication_name": "ramipril"}})

    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=memory_id).update(fields_ct=older)

    ask(alice, "GET", f"/memory/{memory_id}", status=503)


def test_an_export_carries_them_to_a_tenant_with_the_type_alone(
    alice: Caller, acme: OpenedTenant, globex: OpenedTenant, memory_id: int
) -> None:
    there = Caller(globex.keys[Environment.PRODUCTION], "carol")
    content = alice("GET", "/memory/export").content

    refused = bring_in(there, globex, content)
    assert (refused["status"], refused["rejected"]) == ("failed", 1)
    assert "extracted_type: no type of this tenant" in refused["errors"][0]["reason"]

    add_medication(globex.scope)
    assert bring_in(there, globex, content)["created"] == 1

    (told,) = exported(there)
    assert (told["extracted_type"], told["fields"]) == ("medication", VALUES)


def test_a_file_of_an_export_carries_them_too(
    alice: Caller, acme: OpenedTenant, globex: OpenedTenant, memory_id: int
) -> None:
    add_medication(globex.scope)
    exporter = Caller(make_api_key(acme.scope, scopes=["exports:read", "exports:write"]).text, None)
    there = Caller(globex.keys[Environment.PRODUCTION])
    content = file_of(acme, exporter, format="jsonl")
    assert b'"fields":{"medication_name":"lisinopril"' in content
    assert b"fields" in file_of(acme, exporter, format="csv").splitlines()[0]

    rows = [json.loads(line) for line in content.splitlines()]
    assert bring_in(there, globex, json.dumps(rows).encode())["created"] == 1

    assert exported(there)[0]["fields"] == VALUES


def test_an_imported_record_with_bad_values_is_rejected_by_name(alice: Caller, acme: OpenedTenant) -> None:
    add_medication(acme.scope)
    record = {"text": MEDICINE, "extracted_type": "medication", "fields": {"dosage": "20 mg"}}

    job = bring_in(alice, acme, json.dumps([record]).encode())

    assert (job["created"], job["rejected"]) == (0, 1)
    assert job["errors"][0]["reason"] == "fields.medication_name: is required"
