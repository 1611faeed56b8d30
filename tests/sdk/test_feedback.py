"""Feedback with the published client."""

import pytest
from memorysync import NotFoundError

from tests import once
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."


def test_feedback_moves_the_importance_and_says_by_how_much(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    first = client.feedback(memory.id, "positive", comment="Just what I needed.")
    for _ in range(3):
        last = client.feedback(memory.id, "positive")

    assert (first.memory_id, first.signal, first.influenced_ranking) == (memory.id, "positive", True)
    assert (first.importance_before, first.importance_after, first.adjustment) == (0.7, 0.75, 0.05)
    assert last.summary.total_signals == 4
    assert last.summary.signal_counts["positive"] == 4
    assert (last.summary.trend.momentum, last.summary.trend.trend_multiplier) == ("positive", 2.0)
    assert client.get(memory.id).importance == last.importance_after == 1.0


def test_twenty_negative_signals_leave_something(make: Make) -> None:
    client = make()
    memory = client.add(TEXT, importance=0.7)

    for _ in range(20):
        answer = client.feedback(memory.id, "negative")

    assert client.get(memory.id).importance == answer.importance_after >= 0.05


def test_feedback_on_a_foreign_memory_is_not_found(make: Make) -> None:
    memory = make().add(TEXT, importance=0.7)

    refused(NotFoundError, lambda: make(end_user_id="bob").feedback(memory.id, "positive"))
