"""Conversation history: kept as it was said, matched when it is said again, and never recalled."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.history.models import HistoryTurn
from apps.projects.scope import Environment
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.architecture import canaries
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

ALICE = {"tenant_id": "acme", "user_id": "alice"}
SESSION = ALICE | {"session_id": "s1"}


def post(caller: Caller, what: str, fields: Any, *, status: int = 200) -> Any:
    response: Any = caller("POST", f"/v1/history/{what}", fields)
    assert response.status_code == status, response.content
    return response.json()


def append(caller: Caller, *turns: dict[str, Any], **fields: Any) -> Any:
    said = [{"role": "user", "content": "Nothing much."} | turn for turn in turns]
    return post(caller, "append", SESSION | {"turns": said, "extract": False} | fields)


def contents(caller: Caller, **fields: Any) -> list[str]:
    return [item["content"] for item in post(caller, "list", SESSION | fields)["items"]]


def memories(caller: Caller) -> list[str]:
    response: Any = caller("GET", "/v1/memory/acme/alice/list")
    return [memory["raw_text"] for memory in response.json()["memories"]]


# -- appending ---------------------------------------------------------------------------------------------------------


def test_turns_come_back_as_they_were_said(alice: Caller) -> None:
    payload = {"a": [1, 1.5, True, None, {"é": "🙂\u0000"}], "z": "", "order": {"b": 1, "a": 2}}
    turn = {
        "role": "Human",
        "content": "  Hi\u0000 🙂 \r\n",
        "payload": payload,
        "occurred_at": "2026-05-05T14:22:00+02:00",
        "idempotency_key": "k1",
    }

    answer = append(alice, turn, {"role": "AI", "content": ""}, {"role": "critic", "content": "x", "payload": [None]})

    assert answer["status"] == "ok"
    assert answer["request_ids"] == []
    listed = post(alice, "list", SESSION)
    assert listed["total"] == 3
    assert [item | {"created": True} for item in listed["items"]] == answer["items"]
    first, second, third = listed["items"]
    assert json.dumps(first["payload"]) == json.dumps(payload)
    assert (first["role"], first["content"], first["occurred_at"]) == ("user", turn["content"], turn["occurred_at"])
    assert (first["session_id"], first["source"], first["seq"]) == ("s1", "api", None)
    assert (second["role"], second["content"], second["payload"]) == ("assistant", "", None)
    assert (third["role"], third["payload"]) == ("critic", [None])
    assert all(int(item["id"].removeprefix("h_")) >= 10**12 for item in listed["items"])


@pytest.mark.parametrize(
    "again",
    [
        {"content": "one", "seq": 1},
        {"content": "one", "seq": 1, "role": "human", "idempotency_key": "new"},
        {"content": "something else", "seq": 9, "idempotency_key": "k1"},
    ],
)
def test_turn_that_is_there_is_met(again: dict[str, Any], alice: Caller) -> None:
    first = append(alice, {"content": "one", "seq": 1, "idempotency_key": "k1", "payload": {"n": 1}})["items"][0]

    met = append(alice, again)["items"][0]

    assert met == first | {"created": False}
    assert contents(alice) == ["one"]


@pytest.mark.parametrize(
    "other",
    [
        {"seq": 2},
        {"content": "two"},
        {"role": "assistant"},
        {"session_id": "s2"},
        {"source": "langchain"},
        {"user_id": "bob"},
        {"tenant_id": "default"},
    ],
)
def test_turn_of_another_place_is_another_turn(other: dict[str, Any], alice: Caller) -> None:
    append(alice, {"content": "one", "seq": 1})
    turn = {"content": "one", "seq": 1} | {name: other[name] for name in other.keys() & {"seq", "content", "role"}}

    answer = append(alice, turn, **{name: other[name] for name in other if name not in turn})

    assert answer["items"][0]["created"] is True


def test_without_key_and_number_a_turn_is_always_appended(alice: Caller) -> None:
    append(alice, {"content": "one"}, {"content": "one"})
    append(alice, {"content": "one"})

    assert contents(alice) == ["one", "one", "one"]


def test_what_one_call_says_twice_is_met_the_second_time(alice: Caller) -> None:
    answer = append(alice, {"idempotency_key": "k"}, {"idempotency_key": "k"}, {"seq": 4}, {"seq": 4})

    assert [item["created"] for item in answer["items"]] == [True, False, True, False]
    assert len({item["id"] for item in answer["items"]}) == 2


# -- listing -----------------------------------------------------------------------------------------------------------


def test_numbers_order_a_session_where_there_are_any(alice: Caller) -> None:
    append(alice, {"content": "third", "seq": 7}, {"content": "without"}, {"content": "first", "seq": 0})
    append(alice, {"content": "second", "seq": 3})

    assert contents(alice) == ["first", "second", "third", "without"]
    assert contents(alice, limit=2) == ["third", "without"]


def test_limit_takes_the_latest(alice: Caller) -> None:
    append(alice, *({"content": str(number)} for number in range(5)))

    assert contents(alice, limit=2) == ["3", "4"]
    assert contents(alice, limit=0) == contents(alice, limit=99_999) == ["0", "1", "2", "3", "4"]
    assert post(alice, "list", SESSION | {"limit": 2})["total"] == 5


def test_source_narrows_and_left_out_means_every_one(alice: Caller) -> None:
    append(alice, {"content": "one"})
    append(alice, {"content": "two"}, source="langchain")

    assert contents(alice) == ["one", "two"]
    assert contents(alice, source="langchain") == ["two"]
    assert contents(alice, source="other") == []


# -- deleting ----------------------------------------------------------------------------------------------------------


def test_session_is_deleted_and_no_other(alice: Caller) -> None:
    ids = [item["id"] for item in append(alice, {"content": "one"}, {"content": "two"})["items"]]
    append(alice, {"content": "kept"}, session_id="s2")

    answer = post(alice, "delete", SESSION)

    assert answer == {"deleted_ids": ids, "deleted_fact_ids": []}
    assert contents(alice) == []
    assert contents(alice, session_id="s2") == ["kept"]
    assert post(alice, "delete", SESSION)["deleted_ids"] == []


def test_turns_are_deleted_by_ids_of_either_kind(alice: Caller) -> None:
    first, second, third = (item["id"] for item in append(alice, {}, {}, {"content": "kept"})["items"])

    answer = post(alice, "delete", ALICE | {"ids": [first, int(second[2:]), "h_1000000999999", 5, first]})

    assert answer["deleted_ids"] == [first, second]
    assert contents(alice) == ["kept"]
    assert post(alice, "delete", ALICE | {"ids": []})["deleted_ids"] == []
    assert post(alice, "delete", ALICE | {"ids": [third], "source": "other"})["deleted_ids"] == []


def test_deleted_turn_can_be_said_again(alice: Caller) -> None:
    append(alice, {"content": "one", "seq": 1, "idempotency_key": "k"})
    post(alice, "delete", SESSION)

    assert append(alice, {"content": "one", "seq": 1, "idempotency_key": "k"})["items"][0]["created"] is True


def test_nobody_deletes_what_is_anothers(alice: Caller, globex: OpenedTenant) -> None:
    (item,) = append(alice, {"content": "one"})["items"]
    strangers = [
        (alice, {"tenant_id": "acme", "user_id": "bob"}),
        (alice, {"tenant_id": "other", "user_id": "alice"}),
        (Caller(globex.keys[Environment.PRODUCTION]), ALICE),
    ]

    for caller, who in strangers:
        append(caller, {}, **who)
        assert post(caller, "delete", who | {"ids": [item["id"]]})["deleted_ids"] == []
        assert "one" not in [one["content"] for one in post(caller, "list", who | {"session_id": "s1"})["items"]]

    assert contents(alice) == ["one"]


# -- what is made of it ------------------------------------------------------------------------------------------------


def test_history_is_never_recalled(alice: Caller) -> None:
    append(alice, {"content": "I live in Lisbon."}, {"role": "assistant", "content": "Lisbon is lovely."})

    query: Any = alice("POST", "/memory/query", {"query": "Lisbon"})
    recalled: Any = alice("POST", "/v1/memory/recall", ALICE | {"prompt": "Lisbon"})

    assert query.json()["memories"] == []
    assert recalled.json()["context"] == ""
    assert memories(alice) == []


def test_turns_of_the_user_are_distilled_once(alice: Caller) -> None:
    turns = [
        {"content": "I live in Lisbon.", "seq": 0},
        {"role": "assistant", "content": "My name is Bot and I live in Paris.", "seq": 1},
        {"content": "ok", "seq": 2},
    ]
    answer = append(alice, *turns, extract=True, metadata={"channel": "sms", "deep": {}})
    again = append(alice, *turns, extract=True)

    assert memories(alice) == ["I live in Lisbon."]
    assert answer["request_ids"] == [f"req_{answer['items'][0]['id'][2:]}"]
    assert again["request_ids"] == []
    response: Any = alice("GET", "/v1/memory/acme/alice/list")
    assert response.json()["memories"][0]["metadata"] == {
        "channel": "sms",
        "write_origin": "turn-extraction",
        "turn_role": "user",
        "history_id": answer["items"][0]["id"],
        "session_id": "s1",
    }


def test_facts_survive_by_default(alice: Caller, acme: OpenedTenant) -> None:
    append(alice, {"content": "I live in Lisbon."}, extract=True)
    everything = Caller(make_api_key(acme.scope, scopes=["*", "memory:delete"]).text)

    answer = post(everything, "delete", SESSION | {"delete_derived_facts": True})

    assert (len(answer["deleted_ids"]), answer["deleted_fact_ids"]) == (1, [])
    assert memories(alice) == ["I live in Lisbon."]


def test_facts_go_along_where_policy_and_key_allow_it(alice: Caller, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    may = Caller(make_api_key(acme.scope, scopes=["*", "memory:delete"]).text)
    lisbon, rex = append(alice, {"content": "I live in Lisbon."}, {"content": "My dog is called Rex."}, extract=True)[
        "items"
    ]
    own = alice.add("I am allergic to peanuts.")
    append(alice, {"content": "I am allergic to peanuts."}, extract=True, session_id="s2")

    by_less = post(alice, "delete", ALICE | {"ids": [lisbon["id"]], "delete_derived_facts": True})
    unasked = post(may, "delete", ALICE | {"ids": [rex["id"]]})
    append(alice, {"content": "My cat is called Tom."}, {"content": "My cat is called Tom."}, extract=True)
    turns = post(alice, "list", SESSION)["items"]
    one_of_two = post(may, "delete", ALICE | {"ids": [turns[0]["id"]], "delete_derived_facts": True})
    other_of_two = post(may, "delete", ALICE | {"ids": [turns[1]["id"]], "delete_derived_facts": True})
    met = post(may, "delete", SESSION | {"session_id": "s2", "delete_derived_facts": True})

    assert [by_less["deleted_fact_ids"], unasked["deleted_fact_ids"], one_of_two["deleted_fact_ids"]] == [[], [], []]
    assert len(other_of_two["deleted_fact_ids"]) == 1
    assert met["deleted_fact_ids"] == []
    assert set(memories(alice)) == {"I live in Lisbon.", "My dog is called Rex.", "I am allergic to peanuts."}
    assert alice("GET", f"/memory/{own['id']}").status_code == 200
    assert alice("GET", f"/memory/{other_of_two['deleted_fact_ids'][0][2:]}").status_code == 404


def test_a_fact_of_many_turns_goes_with_the_last_of_them(alice: Caller, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    may = Caller(make_api_key(acme.scope, scopes=["*", "memory:delete"]).text)
    append(alice, *[{"content": "My cat is called Tom."}] * 7, extract=True)
    turns = [turn["id"] for turn in post(alice, "list", SESSION)["items"]]

    gone = [
        len(post(may, "delete", ALICE | {"ids": ids, "delete_derived_facts": True})["deleted_fact_ids"])
        for ids in ([turns[0]], turns[1:6], [turns[6]])
    ]

    assert gone == [0, 0, 1]


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"turns": []},
        {"turns": [{"role": "user", "content": "x"}] * 101},
        {"turns": {}},
        {"turns": ["x"]},
        {"turns": [{"content": "x"}]},
        {"turns": [{"role": " ", "content": "x"}]},
        {"turns": [{"role": "r" * 65, "content": "x"}]},
        {"turns": [{"role": "user"}]},
        {"turns": [{"role": "user", "content": 5}]},
        {"turns": [{"role": "user", "content": "x", "seq": -1}]},
        {"turns": [{"role": "user", "content": "x", "seq": True}]},
        {"turns": [{"role": "user", "content": "x", "seq": 2**63}]},
        {"turns": [{"role": "user", "content": "x", "occurred_at": "soon"}]},
        {"session_id": ""},
        {"session_id": "s" * 1025},
        {"metadata": []},
        {"extract": "yes"},
        {"user_id": None},
        {"retention_status": "active"},
    ],
)
def test_bad_append_keeps_nothing(fields: dict[str, Any], alice: Caller) -> None:
    body = post(alice, "append", SESSION | {"turns": [{"role": "user", "content": "x"}]} | fields, status=422)

    assert body["error"]["code"] == "VALIDATION_ERROR"
    assert contents(alice) == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"source": "api"},
        {"session_id": ""},
        {"session_id": None},
        {"session_id": "s1", "ids": []},
        {"ids": ["x"]},
        {"ids": ["h_"]},
        {"ids": [True]},
        {"ids": [2**63]},
        {"ids": ["h_99999999999999999999"]},
        {"ids": "h_1"},
        {"session_id": "s1", "source": None},
        {"session_id": "s1", "delete_derived_facts": 1},
    ],
)
def test_bad_delete_deletes_nothing(fields: dict[str, Any], alice: Caller) -> None:
    append(alice, {"content": "one"})

    post(alice, "delete", ALICE | fields, status=422)

    assert contents(alice) == ["one"]


def test_large_and_deep_turns(alice: Caller) -> None:
    large = "é" * 1_000_000

    assert append(alice, {"content": large})["items"][0]["content"] == large
    assert post(alice, "append", SESSION | {"turns": [{"role": "user", "content": "x" * 1_048_577}]}, status=422)
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    post(alice, "append", SESSION | {"turns": [{"role": "user", "content": "x", "payload": deep}]}, status=422)


# -- at rest -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_nothing_is_readable_at_rest(alice: Caller, superuser_url: str) -> None:
    words = [canaries.word(number) for number in range(6)]
    append(
        alice,
        {"role": words[0], "content": words[1], "payload": {words[2]: words[3]}, "idempotency_key": words[4]},
        session_id=words[5],
        metadata={"note": words[1]},
    )

    assert canaries.in_databases(superuser_url, words) == []


def test_turn_that_fails_its_seal_is_left_out(alice: Caller, acme: OpenedTenant) -> None:
    broken, _ = append(alice, {"content": "one"}, {"content": "two"})["items"]
    with tenant_transaction(acme.scope):
        HistoryTurn.objects.within(acme.scope).filter(pk=int(broken["id"][2:])).update(content_ct=b"\x00" * 80)

    assert contents(alice) == ["two"]


# -- of every session --------------------------------------------------------------------------------------------------


def test_without_a_session_the_latest_turns_of_all_are_listed(alice: Caller) -> None:
    append(alice, {"content": "one", "seq": 9}, {"content": "two", "seq": 1})
    append(alice, {"content": "three"}, session_id="s2", source="mail")
    append(alice, {"content": "four", "seq": 5})

    def of_all(**fields: Any) -> list[str]:
        return [item["content"] for item in post(alice, "list", ALICE | fields)["items"]]

    assert of_all() == ["one", "two", "three", "four"]
    assert of_all(limit=2) == ["three", "four"]
    assert of_all(source="mail") == ["three"]
    assert post(alice, "list", ALICE | {"limit": 1})["total"] == 4
    assert {item["session_id"] for item in post(alice, "list", ALICE)["items"]} == {"s1", "s2"}
    assert post(alice, "list", ALICE | {"user_id": "bob"}) == {"items": [], "total": 0}
    post(alice, "list", ALICE | {"session_id": None}, status=422)


def test_of_all_sessions_the_latest_hundred_are_listed(alice: Caller) -> None:
    for at in range(0, 120, 60):
        append(alice, *({"content": str(number)} for number in range(at, at + 60)), session_id=f"s{at}")

    listed = post(alice, "list", ALICE)

    assert [item["content"] for item in listed["items"]] == [str(number) for number in range(20, 120)]
    assert listed["total"] == 120
