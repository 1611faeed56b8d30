"""Words taken out of a text, with a mark in their place.  Pure."""

from collections.abc import Iterable
from typing import Final

MARK: Final = "…"
_BEFORE: Final = " \t"


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch or overlap joined into one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with a mark in place of each span; of marks with nothing but blanks between them, one."""
    pieces: list[str] = []
    at = 0
    for start, end in merged(spans):
        between = text[at:start]
        if not pieces or between.strip(_BEFORE):
            pieces += [between, MARK]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text
