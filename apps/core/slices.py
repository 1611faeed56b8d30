"""Background work that is done in slices of a few seconds, so that other work in the queue gets its turn."""

from enum import StrEnum


class SliceOutcome(StrEnum):
    """Of one slice: nothing is left; time is up; other workers are at what is left."""

    OVER = "over"
    MORE = "more"
    BUSY = "busy"
