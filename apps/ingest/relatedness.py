"""Preselect pairs of statements for the classifier: the probability that one changes or repeats the other.

A logistic regression on shared words, fitted by ``python -m training.relatedness``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from apps.adapters.classifiers.base import CHANGES, ChangeScores
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
MOST: Final = 0.9  # highest value that ``corrected`` counts
# Exponents of ``corrected``; the first two are fitted by ``python -m training.endings`` with the heads.
OVER: Final = 0.35
REPEATED: Final = 0.46
RELATION: Final = 0.4  # exponent of the relation's odds, chosen on validation authors
SUREST: Final = 4.0  # most log-odds of the relation that count


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
    return _log_odds(min(max(related, LIKELY), MOST))


def corrected(scores: ChangeScores, related: float) -> ChangeScores:
    """The scores with ``over`` and ``repeated`` corrected: their odds, times those of relatedness to a power, times
    those of the relation to a power where it is unlikely.

    The relation decides where two statements differ only in their object: "adds" of "I speak French", "I speak German".
    """
    changes = sum(scores.relations[name] for name in CHANGES)
    return replace(
        scores,
        over=_given(scores.over, OVER * log_odds(related) + _relation_odds(changes)),
        repeated=_given(scores.repeated, REPEATED * log_odds(related) + _relation_odds(scores.relations["repeats"])),
    )


def _relation_odds(chance: float) -> float:
    """What a relation of this probability adds to log-odds; at most 0."""
    return RELATION * max(min(_log_odds(chance), 0.0), -SUREST)


def _given(chance: float, more: float) -> float:
    return 1 / (1 + math.exp(-_log_odds(chance) - more))


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))
