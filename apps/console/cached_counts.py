"""Cached counts: the more expensive a count, the longer it is cached.

A count is cached for a hundred times as long as it took, so that counting takes at most 1 % of the time.  A count of 3
ms is not cached; one of a second is cached for 100 seconds, and none for more than LONGEST_SECONDS. The values are
numbers and codes, never content.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Final, Generic, TypeVar

from django.core.cache import cache

T = TypeVar("T")

SHARE: Final = 100
LONGEST_SECONDS: Final = 600.0
WORTH_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Counted(Generic[T]):
    """A count and its time.  is_kept: the value comes from the cache."""

    value: T
    at: datetime
    is_kept: bool = False


def get_or_count(name: str, count: Callable[[], T], *, now: datetime) -> Counted[T]:
    """The count from the cache, or counted now.  name: cache key: the count and its tenant."""
    kept: tuple[T, datetime] | None = cache.get(f"counted:{name}")
    if kept is not None:
        return Counted(kept[0], kept[1], is_kept=True)
    started = perf_counter()
    value = count()
    seconds = min((perf_counter() - started) * SHARE, LONGEST_SECONDS)
    if seconds >= WORTH_SECONDS:
        cache.set(f"counted:{name}", (value, now), seconds)
    return Counted(value, now)
