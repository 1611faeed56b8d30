"""Replaces words of a text by a mark."""

from collections.abc import Iterable, Iterator
from typing import Final

MARK: Final = "…"
_BEFORE: Final = " \t"


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order; those that touch or overlap are merged."""
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
    """The text with a mark for each span. Marks with only blanks between them become one."""
    return "".join(text[start:end] if start < end else MARK for start, end in _pieces(text, spans))


def places(text: str, spans: Iterable[tuple[int, int]], wanted: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ``wanted`` spans of ``marked(text, spans)``, as spans of the text. Marks map to nothing."""
    pieces: list[tuple[int, int, int]] = []  # start in the marked text, and span in the text
    at = 0
    for start, end in _pieces(text, spans):
        pieces.append((at, start, end))
        at += end - start or len(MARK)
    return [
        (first, last)
        for begin, stop in wanted
        for at, start, end in pieces
        if (first := max(start, start + begin - at)) < (last := min(end, start + stop - at))
    ]


def _pieces(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The remaining spans of the text, in order; an empty span stands for a mark."""
    at, has_mark = 0, False
    for start, end in merged(spans):
        if not has_mark or text[at:start].strip(_BEFORE):
            if at < start:
                yield at, start
            yield end, end
            has_mark = True
        at = end
    if at < len(text):
        yield at, len(text)
