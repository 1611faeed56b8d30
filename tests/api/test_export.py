"""GET /memory/export: everything of one end user, as a stream."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from apps.api.memory.memory_output import MemoryOutput
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories import exporting
from apps.memories.indexing_mode import set_profile
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.makers import NOW, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."


def export(caller: Caller) -> Any:
    response = caller("GET", "/memory/export")
    assert response.status_code == 200, response.content
    return response.json()


def test_everything_is_there_oldest_first_as_get_shows_it(alice: Caller) -> None:
    first = alice.add(TEXT, source="notes", tags=["home"], metadata={"a": [1, "é\x00"]}, session_id="s1")
    second = alice.add("The bus to the airport leaves at ten past six.", ttl_minutes=60)

    told = export(alice)

    assert [row["id"] for row in told["memories"]] == [first["id"], second["id"]]
    assert (told["user_id"], told["count"], told["unreadable"]) == (first["user_id"], 2, 0)
    assert told["generated_at"]
    for row in told["memories"]:
        shown = alice("GET", f"/memory/{row['id']}").json()
        assert row.items() >= {name: shown[name] for name in MemoryOutput().fields}.items()
    assert [(row["session_id"], row["edges"]) for row in told["memories"]] == [("s1", []), (None, [])]


def test_replaced_memory_is_reported_as_archived(alice: Caller) -> None:
    alice.add("I live in Lisbon.")
    new = alice.add("I live in Porto.")

    old, current = export(alice)["memories"]

    assert (old["retention_status"], old["validity"], old["superseded_by"]) == ("archived", "superseded", new["id"])
    assert (current["retention_status"], current["extracted_type"]) == ("active", current["memory_type"])
    assert current["extracted_key"]


def test_edges_are_told_once_with_the_later_memory(alice: Caller) -> None:
    one, other = alice.add(TEXT), alice.add("The bus to the airport leaves at ten past six.")
    body = {"to_memory_id": other["id"], "relationship_type": "supports", "metadata": {"why": "é"}}
    made = alice("POST", f"/memory/{one['id']}/relations", body).json()

    earlier, later = export(alice)["memories"]

    (stated,) = [edge for edge in later["edges"] if not edge["automatic"]]
    assert stated == made | {"from_ref": earlier["client_ref"], "to_ref": later["client_ref"]}
    assert earlier["edges"] == []


@pytest.mark.parametrize("is_sealed", [False, True], ids=["searchable", "sealed"])
def test_batches_join_up(is_sealed: bool, acme: OpenedTenant, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "BATCH", 3)
    items = [{"text": f"Locker {n} holds volume {n} of the old atlas.", "importance": 0.6} for n in range(10)]
    alice("POST", "/memory/bulk-add", {"items": items})
    if is_sealed:
        space = find_end_user(acme.scope, "alice")
        assert space is not None
        set_profile(acme.scope, space.id, Profile.SEALED, now=NOW)

    told = export(alice)

    assert [row["text"] for row in told["memories"]] == [item["text"] for item in items]
    assert told["count"] == 10


def test_answer_is_a_stream_and_opens_a_batch_at_a_time(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "BATCH", 2)
    opened: list[int] = []
    real = exporting.open_memory
    monkeypatch.setattr(exporting, "open_memory", lambda row, *rest: (opened.append(row.pk), real(row, *rest))[1])
    for number in range(6):
        alice.add(f"Locker {number} holds volume {number} of the old atlas.")

    response: Any = Client().get("/memory/export", headers={"X-API-Key": alice.key or "", "X-End-User-ID": "alice"})

    assert response.streaming
    pieces = iter(response.streaming_content)
    next(pieces), next(pieces)
    assert len(opened) == 2
    alice.add("Said while somebody reads slowly.")
    rest = b"".join(pieces)
    assert len(opened) == 6
    assert b"Said while" not in rest


def test_row_that_fails_its_seal_is_left_out_and_counted(acme: OpenedTenant, alice: Caller) -> None:
    broken, whole = alice.add(TEXT), alice.add("The bus to the airport leaves at ten past six.")
    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("update memories_memory set text_ct = text_ct || 'x' where id = %s", [broken["id"]])

    told = export(alice)

    assert [row["id"] for row in told["memories"]] == [whole["id"]]
    assert (told["count"], told["unreadable"]) == (1, 1)


def test_refusal_comes_in_the_envelope(alice: Caller) -> None:
    response = alice.as_user(None)("GET", "/memory/export")

    assert (response.status_code, response.json()["error"]["code"]) == (400, "MISSING_END_USER_ID")


def test_nothing_of_others_is_in_it(acme: OpenedTenant, alice: Caller, call_with: Callable[..., Caller]) -> None:
    alice.add(TEXT)
    alice.with_headers(X_Project_ID=make_project(acme.scope, "web")).add("Only for the web project.")
    alice.as_user("bob").add("Bob keeps his bicycle in the cellar.")
    call_with(acme.keys[Environment.STAGING]).add("Said in staging.")

    assert [row["text"] for row in export(alice)["memories"]] == [TEXT]


def test_stranger_gets_an_empty_one_and_is_not_made(acme: OpenedTenant, alice: Caller) -> None:
    told = export(alice.as_user("nobody"))

    assert (told["user_id"], told["memories"], told["count"]) == (0, [], 0)
    assert find_end_user(acme.scope, "nobody") is None


def test_json_is_whole_when_there_is_one_or_none(alice: Caller) -> None:
    alice.add(TEXT)

    for caller in (alice, alice.as_user("nobody")):
        assert json.loads(caller("GET", "/memory/export").content)["unreadable"] == 0
