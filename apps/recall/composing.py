"""Fill a prompt template with memories, within a token budget.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from text import patterns
from text.digest import count_tokens

_PLACE = patterns.compile(r"\{\{\s*memories\s*\}\}|\{memories\}")
HEADING = "Relevant memories:"
PROFILE_HEADING = "About the user:"
PINNED_HEADING = "Pinned memories:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory to insert.  said_at, happened_at: its date; the latter precedes.  heading: of its kind, such as
    PROFILE_HEADING, under which there are no dates.

    Ingestion reads these lines without the dates (``text.bullet_lists``), in case an agent adds its prompt.
    """

    text: str
    said_at: datetime | None = None
    happened_at: datetime | None = None
    heading: str = HEADING

    def __str__(self) -> str:
        date = ""
        if self.heading == PROFILE_HEADING:
            pass
        elif self.happened_at:
            date = f"[on {self.happened_at:%Y-%m-%d}] "
        elif self.said_at:
            date = f"[said {self.said_at:%Y-%m-%d}] "
        return f"- {date}{' '.join(self.text.split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """prompt: the filled template.  used: indexes of the texts that it holds.

    truncated: some memory did not fit, or the template alone exceeds the budget; the template is never cut.
    """

    prompt: str
    used: Sequence[int]
    tokens: int
    truncated: bool


def question_of(template: str) -> str:
    """The question in a template: its text without the placeholders."""
    return " ".join(_PLACE.sub(" ", template).split())


def compose(template: str, lines: Sequence[Line], *, max_tokens: int | None = None) -> Composed:
    """Replace ``{{memories}}`` or ``{memories}`` with the memories, one line each; without a placeholder, prepend them.

    lines: kind by kind, best first.  Each kind has its heading; but not relevant memories alone, in place of a
    placeholder.  A memory that does not fit into the budget is left out whole; a later, shorter one may still fit.
    """
    places = len(_PLACE.findall(template))
    tokens = count_tokens(_PLACE.sub(" ", template))
    kept: list[str] = []  # the lines to insert, with headings
    used: list[int] = []
    for at, line in enumerate(lines):
        added = [*_heading(line, [lines[one] for one in used], has_place=places > 0), str(line)]
        # Token counts are additive over lines.
        size = max(places, 1) * sum(map(count_tokens, added))
        if max_tokens is None or tokens + size <= max_tokens:
            tokens += size
            used.append(at)
            kept += added
    prompt = _filled(template, "\n".join(kept), has_place=places > 0)
    tokens = count_tokens(prompt)
    is_over = max_tokens is not None and tokens > max_tokens
    return Composed(prompt=prompt, used=used, tokens=tokens, truncated=is_over or len(used) < len(lines))


def _heading(line: Line, before: Sequence[Line], *, has_place: bool) -> list[str]:
    """The lines that precede the first memory of its kind; before: the memories already inserted."""
    if any(one.heading == line.heading for one in before):
        return []
    if before:
        return ["", line.heading]
    return [] if has_place and line.heading == HEADING else [line.heading]


def _filled(template: str, block: str, *, has_place: bool) -> str:
    if has_place:
        # A function, so that backslashes in a memory are not read as group references.
        return _PLACE.sub(lambda _: block, template)
    return f"{block}\n\n{template}" if block else template
