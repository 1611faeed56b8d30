"""Fill a prompt template with memories, within a token budget.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from text import patterns
from text.digest import count_tokens

_PLACE = patterns.compile(r"\{\{\s*memories\s*\}\}|\{memories\}")
HEADING = "Relevant memories:"
PROFILE_HEADING = "About the user:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory to insert.  said_at, happened_at: its date; the latter precedes.  is_standing: of the standing profile,
    without a date.

    Ingestion reads these lines without the dates (``text.bullet_lists``), in case an agent adds its prompt.
    """

    text: str
    said_at: datetime | None = None
    happened_at: datetime | None = None
    is_standing: bool = False

    def __str__(self) -> str:
        date = ""
        if self.happened_at and not self.is_standing:
            date = f"[on {self.happened_at:%Y-%m-%d}] "
        elif self.said_at and not self.is_standing:
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

    lines: the standing profile, then the rest, best first.  The two have headings if there is a profile or no
    placeholder.  A memory that does not fit into the budget is left out whole; a later, shorter one may still fit.
    """
    places = len(_PLACE.findall(template)) or 1
    tokens = count_tokens(_PLACE.sub(" ", template))
    used: list[int] = []
    for at, line in enumerate(lines):
        # Token counts are additive over lines.
        headings = _headings(template, [lines[one] for one in (*used, at)])
        size = places * (count_tokens(str(line)) + sum(map(count_tokens, headings)))
        size -= places * sum(map(count_tokens, _headings(template, [lines[one] for one in used])))
        if max_tokens is None or tokens + size <= max_tokens:
            tokens += size
            used.append(at)
    prompt = _filled(template, [lines[at] for at in used])
    tokens = count_tokens(prompt)
    is_over = max_tokens is not None and tokens > max_tokens
    return Composed(prompt=prompt, used=used, tokens=tokens, truncated=is_over or len(used) < len(lines))


def _headings(template: str, lines: Sequence[Line]) -> list[str]:
    """The headings that these memories need."""
    standing = any(line.is_standing for line in lines)
    others = any(not line.is_standing for line in lines)
    has_place = _PLACE.search(template) is not None
    return [PROFILE_HEADING] * standing + [HEADING] * (others and (standing or not has_place))


def _filled(template: str, lines: Sequence[Line]) -> str:
    headings = _headings(template, lines)
    parts = []
    for heading, is_standing in ((PROFILE_HEADING, True), (HEADING, False)):
        if mine := [str(line) for line in lines if line.is_standing == is_standing]:
            parts.append("\n".join([heading] * (heading in headings) + mine))
    block = "\n\n".join(parts)
    if _PLACE.search(template):
        # A function, so that backslashes in a memory are not read as group references.
        return _PLACE.sub(lambda _: block, template)
    return f"{block}\n\n{template}" if lines else template
