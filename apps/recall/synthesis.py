"""Extractive answers: the sentences of memories that are most relevant to a question.  Pure, and without a model.

The answer is its citations, one after the other, and each quote is an exact part of the memory it cites.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from text.digest import sentences
from text.terms import normalised, terms

MODEL: Final = "extractive"
MOST_QUOTES: Final = 5
RANK_WEIGHT: Final = 0.5  # of the memory's rank, added to the score of words shared with the question


@dataclass(frozen=True, slots=True)
class Citation:
    memory_id: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    answer: str
    citations: Sequence[Citation]

    @property
    def memories_used(self) -> int:
        return len({one.memory_id for one in self.citations})


def synthesize(texts: Mapping[int, str], question: str | None, *, most: int = MOST_QUOTES) -> Synthesis:
    """Quote from the texts.  texts: memory id to text, best first.

    With a question, quote the sentence of each text that shares most with it; texts that share nothing come last.
    Without one, quote the sentences with most in common with the other texts.  Duplicates are quoted once.
    """
    pieces = [
        Citation(memory_id, quote) for memory_id, text in texts.items() for quote in dict.fromkeys(sentences(text))
    ]
    rarity = _rarity(pieces)
    asked = set(terms(question)) if question else set()
    places = {memory_id: place for place, memory_id in enumerate(texts)}
    scored = []
    for at, piece in enumerate(pieces):
        words = set(terms(piece.quote))
        wanted = words & asked if question else words
        shared = sum(rarity[word] for word in wanted)
        score = shared / (1 + math.log1p(len(words))) + RANK_WEIGHT / (1 + places[piece.memory_id])
        scored.append((-score, at, piece))
    return _joined([piece for _, _, piece in sorted(scored, key=lambda one: one[:2])], most)


def _rarity(pieces: Sequence[Citation]) -> dict[str, float]:
    """Word to weight: the rarer among the sentences, the higher."""
    counts = Counter(word for piece in pieces for word in set(terms(piece.quote)))
    return {word: math.log1p(len(pieces) / count) for word, count in counts.items()}


def _joined(pieces: Sequence[Citation], most: int) -> Synthesis:
    kept: list[Citation] = []
    said: set[str] = set()
    quoted: Counter[int] = Counter()
    for piece in pieces:
        words = normalised(piece.quote)
        if words in said or quoted[piece.memory_id] >= 1:
            continue
        said.add(words)
        quoted[piece.memory_id] += 1
        kept.append(piece)
        if len(kept) == most:
            break
    return Synthesis(answer=" ".join(_ended(piece.quote) for piece in kept), citations=kept)


def _ended(quote: str) -> str:
    """The quote with a full stop, so that it does not run into the next one."""
    return quote if quote.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{quote}."
