"""GET /memory/{id}/history: who changed what, oldest first."""

from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.models import MemoryTransition
from apps.memories.revisions import TRACKED
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."


def history(caller: Caller, memory_id: int, query: str = "") -> Any:
    response = caller("GET", f"/memory/{memory_id}/history{query}")
    assert response.status_code == 200, response.content
    return response.json()


def test_creation_is_revision_zero(alice: Caller) -> None:
    memory = alice.add(TEXT)

    told = history(alice, memory["id"])

    assert (told["memory_id"], told["total"], told["tracked_fields"]) == (memory["id"], 1, list(TRACKED))
    (created,) = told["revisions"]
    assert (created["revision"], created["event"], created["changed_fields"]) == (0, "created", [])
    assert created["created_at"] == memory["created_at"]
    assert created["actor"].startswith("api_key:")


def test_edits_are_told_with_old_and_new_values(alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["home"], metadata={"a": 1})
    alice("PATCH", f"/memory/{memory['id']}", {"tags": ["garden"], "importance": 0.9})
    alice("POST", "/memory/batch-update", {"items": [{"memory_id": memory["id"], "metadata": {}, "source": "chat"}]})

    _, first, second = history(alice, memory["id"])["revisions"]

    assert (first["revision"], first["event"], first["changed_fields"]) == (1, "updated", ["tags", "importance"])
    assert first["diff"] == {"tags": {"old": ["home"], "new": ["garden"]}, "importance": {"old": 0.6, "new": 0.9}}
    assert second["diff"] == {"metadata": {"old": {"a": 1}, "new": {}}, "source": {"old": None, "new": "chat"}}
    assert first["actor"] == second["actor"]


def test_replaced_and_revived_are_told(alice: Caller) -> None:
    lisbon = alice.add("I live in Lisbon.")
    porto = alice.add("I live in Porto.")
    alice("POST", "/memory/add", {"text": "I live in Lisbon.", "importance": 0.6})

    _, replaced, revived = history(alice, lisbon["id"])["revisions"]

    assert (replaced["event"], revived["event"]) == ("superseded", "restored")
    assert replaced["diff"]["superseded_by"] == {"old": None, "new": porto["id"]}
    assert replaced["diff"]["retention_status"] == {"old": "active", "new": "archived"}
    assert replaced["changed_fields"] == ["retention_status", "superseded_by"]
    assert revived["diff"]["superseded_by"] == {"old": porto["id"], "new": None}
    assert revived["diff"]["retention_status"] == {"old": "archived", "new": "active"}


def test_pages_join_up(alice: Caller) -> None:
    memory = alice.add(TEXT)
    for number in range(5):
        alice("PATCH", f"/memory/{memory['id']}", {"tags": [f"tag{number}"]})
    whole = history(alice, memory["id"])

    pages = [history(alice, memory["id"], f"?limit=2&offset={at}") for at in (0, 2, 4, 6)]

    assert whole["total"] == 6
    assert [page["total"] for page in pages] == [6, 6, 6, 6]
    assert [one for page in pages for one in page["revisions"]] == whole["revisions"]
    assert [one["revision"] for one in whole["revisions"]] == list(range(6))


@pytest.mark.parametrize("query", ["?limit=0", "?limit=1001", "?limit=x", "?limit=1.5", "?offset=-1", "?since=now"])
def test_bad_page_is_refused(query: str, alice: Caller) -> None:
    memory = alice.add(TEXT)

    response = alice("GET", f"/memory/{memory['id']}/history{query}")

    assert (response.status_code, response.json()["error"]["details"][0]["loc"][0]) == (422, "query")


def test_old_and_new_values_are_sealed(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["old-word"])
    alice("PATCH", f"/memory/{memory['id']}", {"tags": ["new-word"]})

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("select t::text from memories_memorytransition t where memory_id = %s", [memory["id"]])
        rows = " ".join(row for (row,) in cursor.fetchall())

    assert "tags" in rows
    assert b"old-word".hex() not in rows
    assert "-word" not in rows


def test_broken_diff_is_left_out_and_the_rest_is_told(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)
    alice("PATCH", f"/memory/{memory['id']}", {"tags": ["a"]})
    alice("PATCH", f"/memory/{memory['id']}", {"tags": ["b"]})
    with tenant_transaction(acme.scope):
        first = MemoryTransition.objects.within(acme.scope).filter(memory_id=memory["id"], event="updated").first()
        assert first is not None
        first.diff_ct = bytes(first.diff_ct or b"") + b"x"
        first.save(update_fields=["diff_ct"])

    _, broken, whole = history(alice, memory["id"])["revisions"]

    assert (broken["changed_fields"], broken["diff"]) == (["tags"], {})
    assert whole["diff"] == {"tags": {"old": ["a"], "new": ["b"]}}


def test_history_of_a_stranger_is_not_found(alice: Caller) -> None:
    memory = alice.add(TEXT)

    for memory_id in (memory["id"], 2**53, 2**63):
        response = alice.as_user("bob")("GET", f"/memory/{memory_id}/history")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "MEMORY_NOT_FOUND")
