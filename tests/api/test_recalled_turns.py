"""include_turns: the newest stored turns beside the memories of an answer."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.history.models import HistoryTurn
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = ("The ferry to Kotka leaves at 9.", "Bring the blue oars.", "The ferry costs 4 euros.")


def turn(caller: Caller, *said: str, session_id: str = "s1", user_id: str = "alice") -> None:
    body = {
        "tenant_id": "acme", "user_id": user_id, "session_id": session_id, "extract": False,
        "turns": [{"role": "user", "content": text} for text in said],
    }  # fmt: skip
    assert caller("POST", "/v1/history/append", body).status_code == 200


def query(caller: Caller, text: str = "When does the ferry leave?", status: int = 200, **fields: Any) -> Any:
    response = caller("POST", "/memory/query", {"query": text, "include_turns": True} | fields)
    assert response.status_code == status, response.content
    return response.json()


def contents(answer: Any) -> list[str]:
    return [one["content"] for one in answer["turns"]]


def test_turns_that_share_words_come_beside_the_memories(alice: Caller) -> None:
    turn(alice, *SAID)

    answer = query(alice)

    assert answer["memories"] == []
    assert contents(answer) == [SAID[0], SAID[2]]
    first, second = answer["turns"]
    assert first.keys() == {"id", "session_id", "role", "content", "created_at", "score"}
    assert (first["id"][:2], first["session_id"], first["role"]) == ("h_", "s1", "user")
    assert 1 > first["score"] > second["score"] > 0
    assert contents(query(alice, k=1)) == [SAID[0]]
    assert contents(query(alice, "zebra")) == []


def test_they_are_read_only_on_request(alice: Caller) -> None:
    turn(alice, *SAID)

    assert "turns" not in query(alice, include_turns=False)


def test_filters_of_session_and_time_apply(alice: Caller) -> None:
    turn(alice, SAID[0])
    turn(alice, SAID[2], session_id="s2")

    assert contents(query(alice, filters={"session_id": "s2"})) == [SAID[2]]
    assert contents(query(alice, filters={"until": "2020-01-01"})) == []
    assert contents(query(alice, filters={"since": "2030-01-01"})) == []
    assert len(contents(query(alice, filters={"since": "2020-01-01"}))) == 2


def test_only_the_newest_are_looked_at(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.recall.stored_turns.NEWEST", 2)
    turn(alice, *SAID)

    assert contents(query(alice)) == [SAID[2]]


def test_turn_of_which_a_memory_was_erased_is_left_out(alice: Caller, acme: OpenedTenant) -> None:
    turn(alice, *SAID)
    scope = make_scope(acme)
    with tenant_transaction(scope):
        first = HistoryTurn.objects.within(scope).order_by("pk")[0].pk
        HistoryTurn.objects.within(scope).filter(pk=first).update(is_withheld=True)

    assert contents(query(alice)) == [SAID[2]]


def test_key_without_the_history_reads_no_turns(alice: Caller, acme: OpenedTenant) -> None:
    turn(alice, *SAID)
    key = make_api_key(acme.scope, scopes=[one for one in DEFAULT if not one.startswith("history:")]).text

    assert query(Caller(key), status=403)["error"]["code"] == "INSUFFICIENT_SCOPE"
    assert "turns" not in query(Caller(key), include_turns=False)
    refused = Caller(key)("POST", "/v1/memory/acme/alice/recall", {"query": "ferry", "include_turns": True})
    assert (refused.status_code, refused.json()["reason"]) == (403, "INSUFFICIENT_SCOPE")


def test_turns_of_others_are_not_found(alice: Caller, globex: OpenedTenant) -> None:
    turn(alice, *SAID)
    turn(alice, "Bob's ferry is late.", user_id="bob")

    assert contents(query(alice.as_user("bob"))) == ["Bob's ferry is late."]
    assert contents(query(alice.as_user("carol"))) == []
    assert contents(query(Caller(next(iter(globex.keys.values()))))) == []


def test_turns_of_a_profile_by_their_distance(alice: Caller) -> None:
    here = "/v1/memory/shop/alice"
    for text in SAID:
        assert alice("POST", f"{here}/sessions/s1/turns", {"role": "user", "content": text}).status_code == 201

    answer = alice("POST", f"{here}/recall", {"query": "ferry leaves", "include_turns": True, "k": 2}).json()

    assert contents(answer) == [SAID[0], SAID[2]]
    first, second = answer["turns"]
    assert first.keys() == {"session_id", "seq", "role", "content", "distance"}
    assert 0 < first["distance"] < second["distance"] < 1
    assert alice("POST", f"{here}/recall", {"topic_key": "user.diet", "include_turns": True}).json()["turns"] == []
    assert "turns" not in alice("POST", f"{here}/recall", {"query": "ferry"}).json()
    assert alice("POST", "/v1/memory/shop/bob/recall", {"query": "ferry", "include_turns": True}).json()["turns"] == []
