"""Hourly latency histogram of recalls, for the whole deployment, not per user."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from apps.core.queries import execute
from apps.recall.models import RecallPace

# Milliseconds: the upper bound, inclusive, of each bucket.  The last bucket also counts slower recalls.
BOUNDS: Final = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000, 3_000, 5_000, 10_000)
KEPT: Final = timedelta(days=30)

Pace = tuple[datetime, int]  # the hour, and the bucket


def pace_of(milliseconds: float, *, now: datetime) -> Pace:
    return now.replace(minute=0, second=0, microsecond=0), min(bisect_left(BOUNDS, milliseconds), len(BOUNDS) - 1)


def add(counts: Mapping[Pace, int]) -> None:
    """Add the counts in one statement, rows in sorted order, so that concurrent processes cannot deadlock."""
    rows = sorted(counts.items())
    hours, buckets, numbers = [], [], []
    for (hour, bucket), number in rows:
        hours.append(hour)
        buckets.append(bucket)
        numbers.append(number)
    execute(
        "insert into recall_recallpace (hour, bucket, count)"
        " select * from unnest(%s::timestamptz[], %s::smallint[], %s::bigint[])"
        " on conflict (hour, bucket) do update set count = recall_recallpace.count + excluded.count",
        [hours, buckets, numbers],
    )


def forget(*, now: datetime) -> int:
    """Delete hours older than KEPT; return the number of rows."""
    return RecallPace.objects.filter(hour__lt=now - KEPT).delete()[0]


def percentile(counts: Sequence[int], share: float) -> float:
    """The latency in milliseconds at this share (0..1), interpolated linearly within its bucket; 0 without counts."""
    wanted, before = share * sum(counts), 0
    for bucket, count in enumerate(counts):
        if count and before + count >= wanted:
            low = BOUNDS[bucket - 1] if bucket else 0
            return low + (BOUNDS[bucket] - low) * (wanted - before) / count
        before += count
    return 0.0
