"""Numbers of the seeds that callers meet (seed-systems 3.10); the others: ``tests/recall/test_seed_numbers.py``."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from tests.api.conftest import Caller
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

LOUD = 100  # sixty there; more than the 64 that a leg finds, so that filtering what was found would show here


def find(caller: Caller, query: str, **asked: Any) -> list[Any]:
    found = caller("POST", "/memory/query", {"query": query} | asked).json()["memories"]
    assert isinstance(found, list)
    return found


@pytest.fixture
def loud(acme: OpenedTenant, alice: Caller) -> str:
    """Many events that answer a question by all of its words, and one task and one memory of another source.

    Returns the question.
    """
    scope = make_scope(acme)
    events = [Proposal(text=Plaintext(f"We moored the barge at lock {n}, on the barge."), source="chat", importance=0.9,
                       deduplicate=False) for n in range(LOUD)]  # fmt: skip
    others = [
        Proposal(text=Plaintext("Remind me to paint the barge."), source="chat", importance=0.9),
        Proposal(text=Plaintext("The harbour office wrote about a barge."), source="mail", importance=0.9),
    ]
    remember(scope, events + others, now=NOW)
    with tenant_transaction(scope):
        mine = Memory.objects.within(scope).order_by("pk")
        mine.filter(source="chat").update(type="event")
        mine.filter(pk=mine[LOUD].pk).update(type="task")
    return "where did we moor the barge at the lock?"


def test_loud_events_do_not_starve_one_task(loud: str, alice: Caller) -> None:
    """T12: the filter is inside every leg, so that a rare type is found behind any number of others."""
    assert [one["text"] for one in find(alice, loud, filters={"memory_type": "task"})] == [
        "Remind me to paint the barge."
    ]


def test_loud_events_do_not_starve_one_row_of_another_source(loud: str, alice: Caller) -> None:
    """T12, the second of its two regressions."""
    assert [one["text"] for one in find(alice, loud, filters={"source": "mail"})] == [
        "The harbour office wrote about a barge."
    ]


def test_a_recall_gives_five_and_at_most_fifty(loud: str, alice: Caller) -> None:
    """A3: five results by default, fifty at most."""
    assert [len(find(alice, loud, **asked)) for asked in ({}, {"k": 50})] == [5, 50]
    for k in (51, 10**6):
        assert alice("POST", "/memory/query", {"query": loud, "k": k}).status_code == 422


def test_a_public_id_is_36_characters_long(acme: OpenedTenant, alice: Caller) -> None:
    """T3, T4: ``mem_`` and 32 hex digits.  Keyed, so not the seed's own hash of the content."""
    scope = make_scope(acme)
    memory_id = alice.add("I moor the barge at the northern lock.")["id"]

    with tenant_transaction(scope):
        public_id = Memory.objects.within(scope).get(pk=memory_id).public_id

    assert len(public_id) == 36
    assert public_id.startswith("mem_")
    assert set(public_id.removeprefix("mem_")) <= set("0123456789abcdef")


@pytest.mark.parametrize("items", [51, 1_001])
def test_a_batch_that_is_too_long_is_refused_whole(items: int, acme: OpenedTenant, alice: Caller) -> None:
    """T6: 1,001 items are 400 there, and 422 here as every field that is out of its bounds; fifty are the most here."""
    scope = make_scope(acme)

    response = alice("POST", "/memory/bulk-add", {"items": [{"text": f"I moor at lock {n}."} for n in range(items)]})

    assert (response.status_code, response.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    with tenant_transaction(scope):
        assert not Memory.objects.within(scope).exists()
