"""Filling a prompt with memories, within a budget of tokens.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from text import patterns
from text.digest import count_tokens

_PLACE = patterns.compile(r"\{\{\s*memories\s*\}\}|\{memories\}")
HEADING = "Relevant memories:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """prompt: the template with the memories in it.  used: places of those, among the texts given.

    truncated: the budget left some memory out, or is smaller than the template alone, which is never cut.
    """

    prompt: str
    used: Sequence[int]
    tokens: int
    truncated: bool


def question_of(template: str) -> str:
    """What a template asks: itself, without the places for memories."""
    return " ".join(_PLACE.sub(" ", template).split())


def compose(template: str, texts: Sequence[str], *, max_tokens: int | None = None) -> Composed:
    """Put the texts, best first, one line each, where ``{{memories}}`` or ``{memories}`` stands, or else in front.

    A text that does not fit into the budget is left out whole, and a later, shorter one may still fit.
    """
    places = len(_PLACE.findall(template)) or 1
    tokens = count_tokens(_PLACE.sub(" ", template)) + (0 if _PLACE.search(template) else count_tokens(HEADING))
    used: list[int] = []
    for at, text in enumerate(texts):
        # Counts add up over lines, so that nothing is counted twice.
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
        # A function, so that nothing in a memory is read as a reference or as another place.
        return _PLACE.sub(lambda _: block, template)
    return f"{HEADING}\n{block}\n\n{template}" if texts else template
