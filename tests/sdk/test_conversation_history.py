"""append_history, list_history and delete_history, called as published."""

import pytest
from memorysync import ValidationError

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

SESSION = {"tenant_id": "acme", "user_id": "alice", "session_id": "s1"}
TURNS = [
    {"role": "human", "content": "I live in Lisbon.", "seq": 0, "payload": {"n": [1, 1.0, "é", None]}},
    {"role": "assistant", "content": "The tide tables of Lisbon are blue.", "seq": 1, "idempotency_key": "k1"},
]


def test_append_again_is_met(make: Make) -> None:
    client = make()

    first = client.append_history(**SESSION, turns=TURNS)
    again = client.append_history(**SESSION, turns=TURNS)

    assert (first["status"], len(first["request_ids"])) == ("ok", 1)
    assert again["request_ids"] == []
    assert [item["created"] for item in first["items"]] == [True, True]
    assert again["items"] == [item | {"created": False} for item in first["items"]]
    assert first["items"][0]["payload"] == TURNS[0]["payload"]
    assert first["items"][0]["role"] == "user"
    assert all(item["id"].startswith("h_1") for item in first["items"])


def test_history_is_never_queried_and_what_the_user_tells_is(make: Make) -> None:
    client = make()
    client.append_history(**SESSION, turns=TURNS)
    unheard = [{"role": "user", "content": "My dog is called Rex."}]
    client.append_history(**SESSION | {"session_id": "s2"}, turns=unheard, extract=False)

    found = client.query("Lisbon tide tables and what my dog is called", k=50)

    assert [memory.text for memory in found.memories] == ["I live in Lisbon."]
    assert client.list_memories(tenant_id="acme", user_id="alice")["total"] == 1


def test_list_takes_the_latest_and_narrows(make: Make) -> None:
    client = make()
    client.append_history(**SESSION, turns=TURNS, extract=False)
    client.append_history(**SESSION, turns=[{"role": "tool", "content": ""}], source="langgraph", extract=False)

    assert [item["content"] for item in client.list_history(**SESSION)["items"]] == [
        "I live in Lisbon.",
        "The tide tables of Lisbon are blue.",
        "",
    ]
    latest = client.list_history(**SESSION, source="api", limit=1)
    assert (latest["total"], latest["items"][0]["content"]) == (2, "The tide tables of Lisbon are blue.")
    assert client.list_history(**SESSION | {"user_id": "bob"}) == {"items": [], "total": 0}


def test_delete_by_session_and_by_ids(make: Make) -> None:
    client = make()
    whose = {"tenant_id": "acme", "user_id": "alice"}
    first, second = client.append_history(**SESSION, turns=TURNS)["items"]
    client.append_history(**SESSION | {"session_id": "s2"}, turns=TURNS[:1], extract=False)

    by_ids = client.delete_history(**whose, ids=[first["id"], int(second["id"][2:])], delete_derived_facts=True)
    by_session = client.delete_history(**SESSION | {"session_id": "s2"}, source="other")

    assert by_ids == {"deleted_ids": [first["id"], second["id"]], "deleted_fact_ids": []}
    assert by_session["deleted_ids"] == []
    assert client.list_history(**SESSION)["total"] == 0
    assert client.list_history(**SESSION | {"session_id": "s2"})["total"] == 1
    assert [memory.text for memory in client.query("Where do I live?").memories] == ["I live in Lisbon."]


def test_bad_turn_is_named(make: Make) -> None:
    with pytest.raises(ValidationError, match=r"turns\.0\.occurred_at: must be a time"):
        make().append_history(**SESSION, turns=[{"role": "user", "content": "x", "occurred_at": "soon"}])
