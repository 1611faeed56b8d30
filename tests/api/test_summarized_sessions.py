"""POST /v1/sessions/summarize, and that a session's summary goes with the session and the person."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

ALICE = {"tenant_id": "acme", "user_id": "alice"}
SAID = ("I live in Lisbon.", "How nice!", "My sister Nora plays the cello.")


def summarize(caller: Caller, status: int = 200, **fields: Any) -> Any:
    response = caller("POST", "/v1/sessions/summarize", {"session_id": "s1"} | fields)
    assert response.status_code == status, response.content
    return response.json()


def found(caller: Caller) -> list[str]:
    response = caller("POST", "/memory/query", {"query": "Nora Lisbon", "filters": {"memory_type": "summary"}})
    return [one["text"] for one in response.json()["memories"]]


@pytest.fixture
def talked(alice: Caller) -> Caller:
    turns = [{"role": role, "content": text} for role, text in zip(("user", "assistant", "user"), SAID, strict=True)]
    body = ALICE | {"session_id": "s1", "turns": turns}
    assert alice("POST", "/v1/history/append", body).status_code == 200
    return alice


def test_session_is_summarized_on_request(talked: Caller) -> None:
    assert summarize(talked) == {
        "ok": True, "memory_id": None, "turns_compressed": 0, "from_at": None, "to_at": None
    }  # fmt: skip

    made = summarize(talked, force=True)

    assert (made["ok"], made["turns_compressed"]) == (True, 3)
    assert made["from_at"] == made["to_at"]
    memory = talked("GET", f"/memory/{made['memory_id']}").json()
    assert memory["text"] == "user: I live in Lisbon.\nassistant: How nice!\nuser: My sister Nora plays the cello."
    assert (memory["memory_type"], memory["source"], memory["is_summary"]) == ("summary", "session", True)
    assert summarize(talked, force=True)["memory_id"] == made["memory_id"]


def test_key_without_the_history_summarizes_memories(talked: Caller, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, scopes=[one for one in DEFAULT if not one.startswith("history:")]).text

    made = summarize(Caller(key), force=True)

    assert made["turns_compressed"] == 2
    assert "How nice" not in found(talked)[0]


def test_session_of_another_or_of_none_is_not_found(talked: Caller, globex: OpenedTenant) -> None:
    for caller in (talked.as_user("bob"), Caller(next(iter(globex.keys.values())))):
        assert summarize(caller, 404, force=True)["error"]["code"] == "CONVERSATION_NOT_FOUND"
    assert summarize(talked, 404, session_id="s2")["error"]["code"] == "CONVERSATION_NOT_FOUND"
    assert summarize(talked, 422, forced=True)


@pytest.mark.parametrize("with_facts", [False, True])
def test_deleted_history_takes_the_summary_with_it(talked: Caller, acme: OpenedTenant, with_facts: bool) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="command:0", now=NOW)
    summarize(talked, force=True)
    key = make_api_key(acme.scope, scopes=[*DEFAULT, "memory:delete"]).text
    body = ALICE | {"session_id": "s1", "delete_derived_facts": with_facts}

    gone = Caller(key)("POST", "/v1/history/delete", body).json()

    assert len(gone["deleted_ids"]) == 3
    assert len(gone["deleted_fact_ids"]) == (2 if with_facts else 0)
    assert found(talked) == []


def test_ended_session_of_a_profile_takes_its_summary_with_it(alice: Caller) -> None:
    session = "/v1/memory/acme/alice/sessions/s1"
    for text in SAID:
        assert alice("POST", f"{session}/turns", {"role": "user", "content": text}).status_code == 201
    summarize(alice, force=True)
    assert len(found(alice)) == 1

    assert alice("DELETE", f"{session}?turns=true").status_code == 204

    assert found(alice) == []
