"""Result of background work in slices of a few seconds, so that other tasks in the queue get their turn."""

from enum import StrEnum
from typing import Final

SLICE_SECONDS: Final = 5.0  # then other tasks in the queue get their turn


class SliceOutcome(StrEnum):
    """Result of one slice: nothing is left; the time is up; other workers hold the remaining work."""

    OVER = "over"
    MORE = "more"
    BUSY = "busy"
