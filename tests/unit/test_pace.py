"""How long recalls take, by the hour."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from apps.apikeys.onboarding import Opened
from apps.core.plaintext import Plaintext
from apps.recall import access, pace
from apps.recall.models import RecallPace
from apps.recall.services import recall
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

NOON = datetime(2026, 11, 22, 12, 34, tzinfo=UTC)


def test_a_recall_is_counted_in_its_hour_with_the_others(acme: Opened) -> None:
    for _ in range(3):
        recall(make_scope(acme, now=NOON), Plaintext("Where is the key?"), now=NOON)

    access.flush()

    assert sum(RecallPace.objects.values_list("count", flat=True)) == 3


def test_counts_add_up_and_long_ago_is_let_go_of() -> None:
    old, new = pace.pace_of(4.0, now=NOON - timedelta(days=31)), pace.pace_of(4.0, now=NOON)
    for _ in range(2):
        pace.add(Counter({old: 1, new: 5}))

    assert pace.forget(now=NOON) == 1
    assert list(RecallPace.objects.values_list("hour", "bucket", "count")) == [(NOON.replace(minute=0), new[1], 10)]


def test_percentiles_lie_within_their_bucket() -> None:
    counts = [0] * len(pace.BOUNDS)
    for milliseconds in (0.2, *[6.0] * 98, 99_999.0):
        counts[pace.pace_of(milliseconds, now=NOON)[1]] += 1

    assert 5 < pace.percentile(counts, 0.5) <= 8
    assert pace.percentile(counts, 0.005) <= 1
    assert pace.percentile(counts, 1.0) == pace.BOUNDS[-1]
    assert pace.percentile([0] * len(pace.BOUNDS), 0.5) == 0.0
