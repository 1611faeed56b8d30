"""POST /memory/{id}/feedback: signals move the importance, within bounds."""

from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.crypto.encrypted_tables import OPENERS
from apps.memories.integrity import FEEDBACK
from apps.memories.models import MemoryFeedback
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."


def feedback(caller: Caller, memory_id: int, signal: str, **fields: Any) -> Any:
    response = caller("POST", f"/memory/{memory_id}/feedback", {"signal": signal} | fields)
    assert response.status_code == 200, response.content
    return response.json()


def test_first_signal_moves_by_its_step_and_is_counted(alice: Caller) -> None:
    memory = alice.add(TEXT)

    answer = feedback(alice, memory["id"], "positive", comment="Just what I needed.")

    assert answer == {
        "memory_id": memory["id"],
        "signal": "positive",
        "importance_before": 0.6,
        "importance_after": 0.65,
        "adjustment": 0.05,
        "influenced_ranking": True,
        "summary": {
            "total_signals": 1,
            "signal_counts": {"positive": 1, "negative": 0, "retrieved": 0, "ignored": 0},
            "trend": {"momentum": "neutral", "consistency": 1.0, "trend_multiplier": 1.0, "recent_count": 1},
        },
    }
    assert alice("GET", f"/memory/{memory['id']}").json()["importance"] == 0.65


def test_twenty_negative_signals_leave_something(alice: Caller) -> None:
    memory = alice.add(TEXT)

    answers = [feedback(alice, memory["id"], "negative") for _ in range(20)]

    assert answers[-1]["importance_after"] == 0.05
    assert answers[-1]["adjustment"] == 0.0
    assert answers[3]["adjustment"] == -0.1  # who agrees is heard twice as loud
    assert answers[-1]["summary"]["trend"]["momentum"] == "negative"


def test_positive_signals_end_at_one(alice: Caller) -> None:
    memory = alice.add(TEXT, importance=0.95)

    answers = [feedback(alice, memory["id"], "positive") for _ in range(3)]

    assert answers[-1]["importance_after"] == 1.0


def test_trend_looks_at_the_last_twenty(alice: Caller) -> None:
    memory = alice.add(TEXT)
    for _ in range(3):
        feedback(alice, memory["id"], "negative")

    for _ in range(20):
        answer = feedback(alice, memory["id"], "retrieved")

    assert answer["summary"]["trend"] == {
        "momentum": "positive",
        "consistency": 1.0,
        "trend_multiplier": 2.0,
        "recent_count": 20,
    }
    assert answer["summary"]["total_signals"] == 23


def test_what_moved_stands_in_the_history(alice: Caller) -> None:
    memory = alice.add(TEXT)
    feedback(alice, memory["id"], "negative", comment="not quite")

    _, told = alice("GET", f"/memory/{memory['id']}/history").json()["revisions"]

    assert (told["event"], told["diff"]) == ("updated", {"importance": {"old": 0.6, "new": 0.55}})


def test_without_influence_signals_are_only_kept(alice: Caller, settings: Any) -> None:
    settings.FEEDBACK_MOVES_IMPORTANCE = False
    memory = alice.add(TEXT)

    answer = feedback(alice, memory["id"], "positive")

    assert (answer["influenced_ranking"], answer["adjustment"], answer["summary"]["total_signals"]) == (False, 0.0, 1)
    assert alice("GET", f"/memory/{memory['id']}").json()["importance"] == 0.6


def test_memory_that_was_replaced_since_takes_it_too(alice: Caller) -> None:
    old = alice.add("I live in Lisbon.")
    alice.add("I live in Porto.")

    assert feedback(alice, old["id"], "retrieved")["importance_after"] == 0.61


def test_comment_is_sealed_and_opens_for_a_rotation(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)
    feedback(alice, memory["id"], "negative", comment="the-old-word")

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("select f::text from memories_memoryfeedback f")
        (row,) = cursor.fetchall()
        kept = MemoryFeedback.objects.within(acme.scope).get()
        OPENERS[FEEDBACK](acme.scope, kept.pk)

    assert b"the-old-word".hex() not in row[0]
    assert kept.key_version == 1


def test_blank_comment_is_none(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)
    feedback(alice, memory["id"], "negative", comment="")

    with tenant_transaction(acme.scope):
        assert MemoryFeedback.objects.within(acme.scope).get().comment_ct is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"signal": None},
        {"signal": "great"},
        {"signal": 1},
        {"signal": ["positive"]},
        {"signal": "positive", "comment": 5},
        {"signal": "positive", "comment": "   "},
        {"signal": "positive", "comment": "x" * 10_001},
        {"signal": "positive", "vector_id": "x"},
    ],
    ids=lambda body: str(body)[:50],
)
def test_hostile_feedback_is_one_envelope_and_keeps_nothing(body: Any, acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)

    response = alice("POST", f"/memory/{memory['id']}/feedback", body)

    assert (response.status_code, response.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    with tenant_transaction(acme.scope):
        assert not MemoryFeedback.objects.within(acme.scope).exists()


@pytest.mark.parametrize("memory_id", [0, 2**53, 2**63])
def test_absent_is_not_found(memory_id: int, alice: Caller) -> None:
    response = alice("POST", f"/memory/{memory_id}/feedback", {"signal": "positive"})

    assert (response.status_code, response.json()["error"]["code"]) == (404, "MEMORY_NOT_FOUND")
