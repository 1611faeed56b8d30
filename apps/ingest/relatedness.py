"""Preselect pairs of statements for the classifier: the probability that one changes or repeats the other.

A logistic regression on shared words, fitted by ``python -m training.relatedness``.
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
NEAREST: Final = 8  # nearest statements that are scored here
READ: Final = 4  # at most so many of these go to the classifier
LIKELY: Final = 0.1  # lowest probability: passes 88 of 100 changed or repeated statements, and about two others
MOST: Final = 0.9  # highest value that ``given`` counts
# Exponents of ``given``, fitted by ``python -m training.endings`` with the heads.
OVER: Final = 0.38
REPEATED: Final = 0.61


@dataclass(frozen=True, slots=True)
class Words:
    """Word sets of one statement.  terms: stemmed, without stop words."""

    terms: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """The first character is ignored for names, since it starts a sentence."""
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


def likely(later: str, earlier: Sequence[tuple[str, float]]) -> list[tuple[int, float]]:
    """(index, relatedness) of the statements that the classifier should read, likeliest first.

    earlier: (text, cosine).
    """
    mine = Words.of(later)
    chances = [relatedness(mine, Words.of(text), cosine) for text, cosine in earlier]
    places = sorted(range(len(earlier)), key=lambda place: -chances[place])
    return [(place, chances[place]) for place in places if chances[place] >= LIKELY][:READ]


def relatedness(later: Words, earlier: Words, cosine: float) -> float:
    """Probability, 0..1, that the later statement changes or repeats the earlier one."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, features(later, earlier, cosine), strict=True))
    return 1 / (1 + math.exp(-total))


def log_odds(related: float) -> float:
    """Log-odds of a relatedness of at most MOST: "locker 12" and "locker 7" are not one thing."""
    bounded = min(max(related, LIKELY), MOST)
    return math.log(bounded / (1 - bounded))


def given(chance: float, related: float, exponent: float) -> float:
    """The classifier's probability for a pair, corrected by relatedness: its odds, times those of relatedness to this
    power.  Both 0..1."""
    odds = max(chance, 1e-6) / max(1 - chance, 1e-6) * math.exp(exponent * log_odds(related))
    return odds / (1 + odds)
