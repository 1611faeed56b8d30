"""Pinned memories in prompts: whatever the question, first, and a few at most."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.pinned import MOST
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

PIN = "Granite is an igneous rock made of quartz and feldspar."
KEY = "The spare key lies under the blue flower pot."
QUESTION = "Where is the spare key?"


@pytest.fixture
def reviewer(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope, scopes=["*"]).text)


def pin(reviewer: Caller, text: str, **fields: Any) -> int:
    memory_id: int = reviewer.add(text)["id"]
    assert reviewer("PATCH", f"/memory/{memory_id}", {"pinned": True} | fields).status_code == 200
    return memory_id


def query(caller: Caller, **fields: Any) -> Any:
    response = caller("POST", "/memory/query", {"query": QUESTION, "k": 1} | fields)
    assert response.status_code == 200, response.content
    return response.json()


def compose(caller: Caller, **fields: Any) -> Any:
    response = caller("POST", "/memory/compose", {"prompt_template": QUESTION, "recall_k": 1} | fields)
    assert response.status_code == 200, response.content
    return response.json()


def change(acme: OpenedTenant, memory_id: int, **fields: Any) -> None:
    scope = make_scope(acme)
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=memory_id).update(**fields)


def test_query_returns_what_is_pinned_whatever_is_asked(alice: Caller, reviewer: Caller) -> None:
    key, pinned = alice.add(KEY)["id"], pin(reviewer, PIN, importance=0.9)

    answer = query(alice, include_pinned=True, filters={"memory_type": "event", "tags": ["x"]})

    (found,) = answer["pinned"]
    assert (found["id"], found["text"], found["importance"]) == (pinned, PIN, 0.9)
    assert answer["memories"] == []
    assert query(alice, include_pinned=True)["context"] == f"- {PIN}\n- {KEY}"
    assert [one["id"] for one in query(alice, include_pinned=True)["memories"]] == [key]


def test_query_without_the_option_is_as_before(alice: Caller, reviewer: Caller) -> None:
    alice.add(KEY)
    pin(reviewer, PIN)

    answer = query(alice)

    assert "pinned" not in answer
    assert answer["context"] == f"- {KEY}"


def test_pinned_memory_that_answers_is_once_in_the_context(alice: Caller, reviewer: Caller) -> None:
    pinned = pin(reviewer, KEY)

    answer = query(alice, include_pinned=True)

    assert [one["id"] for one in answer["pinned"]] == [one["id"] for one in answer["memories"]] == [pinned]
    assert answer["context"] == f"- {KEY}"


def test_the_most_important_are_first_and_five_at_most(alice: Caller, reviewer: Caller) -> None:
    words = ("Quartz", "Basalt", "Slate", "Marble", "Chalk", "Gneiss")
    ids = [pin(reviewer, f"{word} is kept in a drawer of its own.", importance=place / 10)
           for place, word in enumerate(words, start=1)]  # fmt: skip

    found = [one["id"] for one in query(alice, include_pinned=True)["pinned"]]

    assert found == ids[::-1][:MOST]


def test_prompt_begins_with_what_is_pinned_then_the_profile(alice: Caller, reviewer: Caller) -> None:
    alice.add(KEY)
    alice.add("I am allergic to sesame.")
    pin(reviewer, PIN)

    lines = compose(alice)["composed_prompt"].splitlines()

    today = f"[said {timezone.now():%Y-%m-%d}]"
    assert lines == [
        "Pinned memories:", f"- {today} {PIN}", "",
        "About the user:", "- I am allergic to sesame.", "",
        "Relevant memories:", f"- {today} {KEY}", "",
        QUESTION,
    ]  # fmt: skip
    assert PIN not in compose(alice, pinned=False)["composed_prompt"]


def test_pinned_memory_that_answers_is_once_in_a_prompt(alice: Caller, reviewer: Caller) -> None:
    pin(reviewer, KEY)
    pin(reviewer, "I am allergic to sesame.")

    answer = compose(alice)

    assert answer["composed_prompt"].count("flower pot") == answer["composed_prompt"].count("sesame") == 1
    assert answer["memories_used"] == 2


def test_pinned_memories_are_within_the_budget(alice: Caller, reviewer: Caller) -> None:
    pin(reviewer, PIN)

    answer = compose(alice, max_tokens=8)

    assert (answer["composed_prompt"], answer["truncated"]) == (QUESTION, True)


GONE: dict[str, dict[str, Any]] = {
    "superseded": {"validity": "superseded"},
    "archived": {"retention_status": "archived"},
    "deleted": {"retention_status": "soft_deleted"},
    "past its time": {"expires_at": timezone.now() - timedelta(days=1)},
    "no longer true": {"valid_to": timezone.now() - timedelta(days=1)},
    "possibly outdated": {"outdated_by_id": 2**50},
    "unpinned": {"pinned": False},
}


@pytest.mark.parametrize("fields", GONE.values(), ids=GONE.keys())
def test_what_does_not_hold_is_not_among_them(
    acme: OpenedTenant, alice: Caller, reviewer: Caller, fields: dict[str, Any]
) -> None:
    pinned = pin(reviewer, PIN)
    assert query(alice, include_pinned=True)["pinned"]

    change(acme, pinned, **fields)

    assert query(alice, include_pinned=True)["pinned"] == []
    assert "Pinned memories:" not in compose(alice)["composed_prompt"]


def test_they_are_of_the_end_user_the_environment_and_the_tenant(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, reviewer: Caller
) -> None:
    pin(reviewer, PIN)

    strangers = (
        alice.as_user("bob"),
        Caller(acme.keys[Environment.STAGING]),
        Caller(globex.keys[Environment.PRODUCTION]),
    )

    for stranger in strangers:
        stranger.add(KEY)
        assert query(stranger, include_pinned=True)["pinned"] == []


def test_accepted_candidate_that_is_pinned_is_in_prompts(alice: Caller, reviewer: Caller) -> None:
    alice("POST", "/memory/add", {"text": "Always send me the invoices as PDF files to the accountant."})
    (candidate,) = reviewer("GET", "/v1/candidates").json()["candidates"]

    reviewer("POST", f"/v1/candidates/{candidate['id']}/accept", {"pinned": True})

    assert [one["text"] for one in query(alice, include_pinned=True)["pinned"]] == [candidate["text"]]
