"""Texts made of lines: bullets and headings, as users write them and as recall formats its results."""

from typing import Final, NamedTuple

from text import patterns
from text.extraction.code import is_code_only
from text.sentences import Span, fold, sentences, trimmed

# At the start of a line, or after an introduction: "What I know: - I live in Ghent."  With the date that a composed
# prompt has there: "- [said 2026-05-03] I live in Ghent."
_BULLETS: Final = patterns.compile(
    r"(?m)(?:^[ \t]*|(?<=:)[ \t]+)(?:[-*\u2022][ \t]+)+(?:\[(?:said|on) \d{4}-\d\d-\d\d\][ \t]+)?(?=\S)"
)
_HEADING: Final = patterns.compile(r"[^\W\d_][\w ,'&-]{0,60}:(?: [^\W\d_][\w ,'&-]{0,60}:)?")
_LINE: Final = patterns.compile(r"[^\n]+")
MOST_LINES: Final = 200  # of one text that are read separately


class ListLine(NamedTuple):
    """A line of a text, and its sentences if it has several."""

    span: Span
    sentences: list[Span]


def unlisted(text: str) -> tuple[str, bool]:
    """The text with its bullets replaced by blanks, so that offsets stay valid, and whether it had any."""
    if "```" in text or "/*" in text or not _BULLETS.search(text):
        return text, False
    blanked = _BULLETS.sub(lambda found: "\n".ljust(len(found[0])), text)
    return (text, False) if is_code_only(blanked) else (blanked, True)


def is_heading(text: str) -> bool:
    """Whether a text only introduces what follows: "Facts:", "What I know: About the user:"."""
    return _HEADING.fullmatch(text.strip()) is not None


def lines_of(text: str) -> list[ListLine]:
    """The non-empty lines of an unlisted text, trimmed; empty if the text is too long to be a list."""
    plain = fold(text)
    found: list[ListLine] = []
    for place in _LINE.finditer(plain):
        span = trimmed(plain, *place.span())
        # A question comes after the recalled lines in a prompt and states nothing.
        if span.start == span.end or plain[span.end - 1] == "?" or is_heading(plain[span.start : span.end]):
            continue
        parts = sentences(plain, *span)
        found.append(ListLine(span, parts if len(parts) > 1 else []))
        if len(found) > MOST_LINES:
            return []
    return found
