"""Who may replace what (docs/adr/0012): a claim yields to a source that is trusted as much, or more."""

from enum import IntEnum
from typing import Final


class Trust(IntEnum):
    """HEARSAY: guessed, or said of another who said it.  SAID: by the user, or by a program that states what it knows.
    STATED: by a person who looked at the memory itself: who wrote, accepted or pinned it."""

    HEARSAY = 0
    SAID = 1
    STATED = 2


PERSONS: Final = frozenset({"manual"})  # kinds of source in which a person states a memory as a memory
SPECULATION: Final = 0.5  # source strength below which it was not said explicitly


def trust_of(*, source_kind: str, source_strength: float, pinned: bool = False) -> Trust:
    if pinned or source_kind in PERSONS:
        return Trust.STATED
    return Trust.HEARSAY if source_strength < SPECULATION else Trust.SAID
