"""/v1/sessions: where memories and turns were stated, the most recently active session first."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.history.models import HistoryTurn
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.crypto.broken import listed as quarantined
from tests.makers import NOW, make_api_key, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

ALICE = {"tenant_id": "acme", "user_id": "alice"}


def listed(caller: Caller, query: str = "") -> Any:
    response = caller("GET", f"/v1/sessions{query}")
    assert response.status_code == 200, response.content
    return response.json()


def counted(caller: Caller, query: str = "") -> list[tuple[str, int, int]]:
    return [(one["session_id"], one["memories"], one["turns"]) for one in listed(caller, query)["sessions"]]


def turn(caller: Caller, session_id: str, *said: str) -> None:
    turns = [{"role": "user", "content": text} for text in said]
    body = ALICE | {"session_id": session_id, "turns": turns, "extract": False}
    assert caller("POST", "/v1/history/append", body).status_code == 200


@pytest.fixture
def talked(alice: Caller) -> Caller:
    """Two sessions with memories, of which one has turns too, and one with turns alone."""
    alice.add("I keep bees on the roof.", session_id="monday")
    alice.add("I paint boats.", session_id="tuesday")
    alice.add("My sister Nora plays the cello.", session_id="monday")
    turn(alice, "tuesday", "Hello.", "Good night.")
    turn(alice, "wednesday", "Hello.")
    alice.add("I live in Lisbon.")
    return alice


@pytest.mark.parametrize("profile", [Profile.SEARCHABLE, Profile.SEALED])
def test_sessions_of_memories_and_of_turns_are_listed_together(
    talked: Caller, acme: OpenedTenant, profile: Profile
) -> None:
    if profile is Profile.SEALED:
        set_profile(make_scope(acme), make_scope(acme).space.id, Profile.SEALED, now=NOW)

    assert counted(talked) == [("wednesday", 0, 1), ("tuesday", 1, 2), ("monday", 2, 0)]
    assert listed(talked)["total"] == 3
    for one in listed(talked)["sessions"]:
        assert one["created_at"] <= one["last_active_at"]


def test_a_page_is_some_of_them(talked: Caller) -> None:
    assert counted(talked, "?limit=1&offset=1") == [("tuesday", 1, 2)]
    assert counted(talked, "?offset=9") == []
    assert talked("GET", "/v1/sessions?limit=0").status_code == 422
    assert talked("GET", "/v1/sessions?cursor=1").status_code == 422


def test_a_key_without_the_history_lists_sessions_of_memories(talked: Caller, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=[one for one in DEFAULT if not one.startswith("history:")]).text

    found = Caller(key)("GET", "/v1/sessions").json()["sessions"]

    assert {one["session_id"] for one in found} == {"monday", "tuesday"}
    assert {one["turns"] for one in found} == {None}


def test_sessions_of_others_are_not_listed(talked: Caller, globex: OpenedTenant, acme: OpenedTenant) -> None:
    talked.as_user("bob").add("I grow leeks.", session_id="monday")

    assert counted(talked.as_user("bob")) == [("monday", 1, 0)]
    assert counted(talked.as_user("carol")) == []
    assert counted(Caller(next(iter(globex.keys.values())))) == []
    project = make_project(acme.scope, name="another")
    assert {session for session, memories, _ in counted(talked.with_headers(X_Project_ID=project)) if memories} == set()


def test_forgotten_memories_are_not_counted(talked: Caller, acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(session_token__isnull=False).update(retention_status="soft_deleted")

    assert counted(talked) == [("wednesday", 0, 1), ("tuesday", 0, 2)]


def test_a_row_that_fails_decryption_is_left_out_and_noted(talked: Caller, acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    with tenant_transaction(scope):
        memory = Memory.objects.within(scope).filter(session_token__isnull=False).order_by("-pk")[0].pk
        Memory.objects.within(scope).filter(pk=memory).update(handles_ct=b"gone")
        HistoryTurn.objects.within(scope).update(about_ct=b"gone")

    assert counted(talked) == [("tuesday", 1, 0)]
    assert {table for table, _, _, _ in quarantined(scope)} == {"memory", "history_turn"}
