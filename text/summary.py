"""A summary made of the sources' own sentences: deterministic, and without a model."""

from collections.abc import Sequence
from typing import Final

from text.digest import figures, keeps_everything, names, sentences
from text.terms import normalised, terms

MOST_LINES: Final = 20


def summary_of(texts: Sequence[str], *, lossless: bool) -> str:
    """One line for each sentence kept, in the order of the texts.

    Otherwise: of each text the sentence that names most, at most twenty.  lossless: every sentence that says anything
    that no other does, and then it is verified that each name, number, date and time is still there; if one is not,
    the texts themselves.
    """
    if not lossless:
        best = [max(sentences(text) or [text], key=_weight) for text in texts]
        return "\n".join(_each_once(best)[:MOST_LINES])
    kept = "\n".join(_saying_something(_each_once([one for text in texts for one in sentences(text)])))
    return kept if keeps_everything(kept, texts) else "\n".join(texts)


def _weight(sentence: str) -> tuple[int, int]:
    """max() takes the first of equals."""
    return len(names(sentence)) + len(figures(sentence)), min(len(terms(sentence)), 12)


def _each_once(found: Sequence[str]) -> list[str]:
    first: dict[str, str] = {}
    for one in found:
        first.setdefault(normalised(one), one)
    return list(first.values())


def _saying_something(found: Sequence[str]) -> list[str]:
    """Without sentences whose every word, in its order, another sentence holds."""
    words = [normalised(one) for one in found]
    return [
        one
        for at, one in enumerate(found)
        if not any(at != other and words[at] and words[at] in words[other] for other in range(len(found)))
    ]
