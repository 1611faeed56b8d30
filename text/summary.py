"""A deterministic summary that quotes sentences of its sources.  Uses no model."""

from collections.abc import Sequence
from typing import Final

from text.digest import figures, keeps_everything, names, sentences
from text.terms import normalised, terms

MOST_LINES: Final = 20
_LOOKED_AT: Final = 2_000  # characters of a turn


def summary_of(texts: Sequence[str], *, lossless: bool) -> str:
    """The selected sentences, one per line, in the order of the texts.

    lossless: all sentences that add something.  If a name, number, date or time is then still missing, the full texts.
    Otherwise: the sentence of each text that names most, at most twenty.
    """
    if not lossless:
        best = [max(sentences(text) or [text], key=_weight) for text in texts]
        return "\n".join(_each_once(best)[:MOST_LINES])
    kept = "\n".join(_saying_something(_each_once([one for text in texts for one in sentences(text)])))
    return kept if keeps_everything(kept, texts) else "\n".join(texts)


def session_summary_of(said: Sequence[tuple[str, str]]) -> tuple[str, list[int]]:
    """One line for each of the turns that name most, at most twenty, in order; and the places of these turns.

    said: speaker, or "" for none, and text of each turn.  A line is "speaker: sentence".  Of equals the later turn.
    """
    lines: dict[str, tuple[tuple[int, int], int, str]] = {}  # by what is said: weight, place, line
    for at, (speaker, text) in enumerate(said):
        sentence = max(sentences(text[:_LOOKED_AT]), key=_weight, default="")
        if sentence:
            line = f"{speaker}: {sentence}" if speaker else sentence
            lines.setdefault(normalised(sentence), (_weight(sentence), at, line))
    best = sorted(lines.values(), key=lambda one: (*one[0], one[1]), reverse=True)[:MOST_LINES]
    best.sort(key=lambda one: one[1])
    return "\n".join(line for _, _, line in best), [at for _, at, _ in best]


def _weight(sentence: str) -> tuple[int, int]:
    """Sort key of a sentence; max() returns the first of equals."""
    return len(names(sentence)) + len(figures(sentence)), min(len(terms(sentence)), 12)


def _each_once(found: Sequence[str]) -> list[str]:
    first: dict[str, str] = {}
    for one in found:
        first.setdefault(normalised(one), one)
    return list(first.values())


def _saying_something(found: Sequence[str]) -> list[str]:
    """Without sentences whose words, in the same order, are contained in another sentence."""
    words = [normalised(one) for one in found]
    return [
        one
        for at, one in enumerate(found)
        if not any(at != other and words[at] and words[at] in words[other] for other in range(len(found)))
    ]
