"""How long recalls take: how many of each hour took how long, of the whole deployment, not per user."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.recall.models import RecallPace

# Milliseconds: each bucket holds what took longer than the bound before it and not longer than its own.
BOUNDS: Final = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000, 3_000, 5_000, 10_000)
KEPT: Final = timedelta(days=30)

Pace = tuple[datetime, int]  # the hour, and the bucket


def pace_of(milliseconds: float, *, now: datetime) -> Pace:
    return now.replace(minute=0, second=0, microsecond=0), min(bisect_left(BOUNDS, milliseconds), len(BOUNDS) - 1)


def add(counts: Mapping[Pace, int]) -> None:
    """In one statement, its rows in one order, so that of processes that add concurrently none waits for the other."""
    rows = sorted(counts.items())
    hours, buckets, numbers = [], [], []
    for (hour, bucket), number in rows:
        hours.append(hour)
        buckets.append(bucket)
        numbers.append(number)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into recall_recallpace (hour, bucket, count)"
            " select * from unnest(%s::timestamptz[], %s::smallint[], %s::bigint[])"
            " on conflict (hour, bucket) do update set count = recall_recallpace.count + excluded.count",
            [hours, buckets, numbers],
        )


def forget(*, now: datetime) -> int:
    """Delete hours that are long over; how many rows there were."""
    return RecallPace.objects.filter(hour__lt=now - KEPT).delete()[0]


def percentile(counts: Sequence[int], share: float) -> float:
    """The milliseconds within which this share of what was counted was answered, by bucket, along its width."""
    wanted, before = share * sum(counts), 0
    for bucket, count in enumerate(counts):
        if count and before + count >= wanted:
            low = BOUNDS[bucket - 1] if bucket else 0
            return low + (BOUNDS[bucket] - low) * (wanted - before) / count
        before += count
    return 0.0
