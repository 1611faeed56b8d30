"""How likely a statement changes or repeats another, by what the two share: a quick look, so that few pairs are read.

Logistic regression, fitted by ``python -m training.relatedness``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from text import patterns
from text.terms import terms

_NUMBER: Final = patterns.compile(r"\d+")
_NAME: Final = patterns.compile(r"\b[A-Z]\w+")

FEATURES: Final = (
    "cosine", "share of the shorter", "share of both", "terms in common", "number in common", "numbers differ",
    "name in common", "length of the later", "length of the earlier",
)  # fmt: skip
WEIGHTS: Final = (4.033, -1.7, 11.596, 1.704, 0.355, 0.255, 0.458, -1.999, -2.457)
BIAS: Final = -1.745
NEAREST: Final = 8  # so many of the nearest statements are looked at
READ: Final = 4  # and so many of these are read, at most
LIKELY: Final = 0.1  # those from here on: 88 in 100 of those that are changed or repeated, and about two that are not


@dataclass(frozen=True, slots=True)
class Words:
    """Of one statement.  terms: stemmed, without stop words."""

    terms: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """The first character opens a sentence and makes no name of its word."""
        return cls(frozenset(terms(text)), frozenset(_NUMBER.findall(text)), frozenset(_NAME.findall(text[1:])))


def features(later: Words, earlier: Words, cosine: float) -> tuple[float, ...]:
    """As ``FEATURES`` names them, each about 0..1.  cosine: of the two statements' embeddings."""
    both = len(later.terms & earlier.terms)
    return (
        cosine,
        both / (1 + min(len(later.terms), len(earlier.terms))),
        both / (1 + len(later.terms | earlier.terms)),
        min(both, 4) / 4,
        float(bool(later.numbers & earlier.numbers)),
        float(bool(later.numbers - earlier.numbers) and bool(earlier.numbers - later.numbers)),
        float(bool(later.names & earlier.names)),
        math.log1p(len(later.terms)) / 4,
        math.log1p(len(earlier.terms)) / 4,
    )


def likely(later: str, earlier: Sequence[tuple[str, float]]) -> list[int]:
    """Which of these statements, each with its cosine, should be read, by place; the likeliest first."""
    mine = Words.of(later)
    chances = [relatedness(mine, Words.of(text), cosine) for text, cosine in earlier]
    places = sorted(range(len(earlier)), key=lambda place: -chances[place])
    return [place for place in places if chances[place] >= LIKELY][:READ]


def relatedness(later: Words, earlier: Words, cosine: float) -> float:
    """0..1."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features(later, earlier, cosine), strict=True))
    return 1 / (1 + math.exp(-total))
