"""Trust in sources (docs/adr/0012): only a source that is trusted as much or more may replace a claim."""

from enum import IntEnum
from typing import Final


class Trust(IntEnum):
    """How far a source is trusted.

    HEARSAY: guessed, or quoted from someone else.  SAID: by the user, or by a program that states what it knows.
    STATED: by a person who wrote, accepted or pinned the memory itself.
    """

    HEARSAY = 0
    SAID = 1
    STATED = 2


PERSONS: Final = frozenset({"manual"})  # kinds of source in which a person writes the memory itself
SPECULATION: Final = 0.5  # source strength below which it was not said explicitly


def trust_of(*, source_kind: str, source_strength: float, pinned: bool = False) -> Trust:
    if pinned or source_kind in PERSONS:
        return Trust.STATED
    return Trust.HEARSAY if source_strength < SPECULATION else Trust.SAID
