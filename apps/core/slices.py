"""Background work in slices of a few seconds, so that other tasks in the queue get their turn."""

from enum import StrEnum
from typing import Final

SLICE_SECONDS: Final = 5.0  # then other tasks in the queue get their turn
BATCH_SECONDS: Final = 0.5  # target duration of one transaction; slower machines get smaller batches


class SliceOutcome(StrEnum):
    """Result of one slice: nothing is left; the time is up; other workers hold the remaining work."""

    OVER = "over"
    MORE = "more"
    BUSY = "busy"


def next_size(size: int, took: float, *, smallest: int, largest: int) -> int:
    """The size of the next batch, after one of this size took so many seconds."""
    if took > BATCH_SECONDS:
        return max(smallest, size // 2)
    return min(largest, size * 2) if took < BATCH_SECONDS / 2 else size
