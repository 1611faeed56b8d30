"""Fill a prompt template with memories, within a token budget.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from text import patterns
from text.digest import count_tokens

_PLACE = patterns.compile(r"\{\{\s*memories\s*\}\}|\{memories\}")
HEADING = "Relevant memories:"


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


def compose(template: str, texts: Sequence[str], *, max_tokens: int | None = None) -> Composed:
    """Replace ``{{memories}}`` or ``{memories}`` with the texts, one line each; without a placeholder, prepend them.

    texts: best first.  A text that does not fit into the budget is left out whole; a later, shorter one may still fit.
    """
    places = len(_PLACE.findall(template)) or 1
    tokens = count_tokens(_PLACE.sub(" ", template)) + (0 if _PLACE.search(template) else count_tokens(HEADING))
    used: list[int] = []
    for at, text in enumerate(texts):
        # Token counts are additive over lines.
        size = places * count_tokens(_line(text))
        if max_tokens is None or tokens + size <= max_tokens:
            tokens += size
            used.append(at)
    prompt = _filled(template, [texts[at] for at in used])
    tokens = count_tokens(prompt)
    is_over = max_tokens is not None and tokens > max_tokens
    return Composed(prompt=prompt, used=used, tokens=tokens, truncated=is_over or len(used) < len(texts))


def _line(text: str) -> str:
    return "- " + " ".join(text.split())


def _filled(template: str, texts: Sequence[str]) -> str:
    block = "\n".join(_line(text) for text in texts)
    if _PLACE.search(template):
        # A function, so that backslashes in a memory are not read as group references.
        return _PLACE.sub(lambda _: block, template)
    return f"{HEADING}\n{block}\n\n{template}" if texts else template
