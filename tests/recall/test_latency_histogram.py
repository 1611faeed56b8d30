"""How long recalls take, by the hour."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.recall import latency_histogram, read_log
from apps.recall.models import RecallPace
from apps.recall.services import recall
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

NOON = datetime(2026, 11, 22, 12, 34, tzinfo=UTC)


def test_a_recall_is_counted_in_its_hour_with_the_others(acme: OpenedTenant) -> None:
    for _ in range(3):
        recall(make_scope(acme, now=NOON), Plaintext("Where is the key?"), now=NOON)

    read_log.flush()

    assert sum(RecallPace.objects.values_list("count", flat=True)) == 3


def test_counts_add_up_and_long_ago_is_let_go_of() -> None:
    old, new = latency_histogram.pace_of(4.0, now=NOON - timedelta(days=31)), latency_histogram.pace_of(4.0, now=NOON)
    for _ in range(2):
        latency_histogram.add(Counter({old: 1, new: 5}))

    assert latency_histogram.forget(now=NOON) == 1
    assert list(RecallPace.objects.values_list("hour", "bucket", "count")) == [(NOON.replace(minute=0), new[1], 10)]


def test_percentiles_lie_within_their_bucket() -> None:
    counts = [0] * len(latency_histogram.BOUNDS)
    for milliseconds in (0.2, *[6.0] * 98, 99_999.0):
        counts[latency_histogram.pace_of(milliseconds, now=NOON)[1]] += 1

    assert 5 < latency_histogram.percentile(counts, 0.5) <= 8
    assert latency_histogram.percentile(counts, 0.005) <= 1
    assert latency_histogram.percentile(counts, 1.0) == latency_histogram.BOUNDS[-1]
    assert latency_histogram.percentile([0] * len(latency_histogram.BOUNDS), 0.5) == 0.0
