"""Relevance: a calibrated probability, 0..1, that a memory answers the question.  Pure.

A score orders the candidates of one question; a relevance can be compared between questions, so that a question that
nothing answers can have no answer.  A network with one small hidden layer, on features of the candidate and of the
whole shortlist, by ``python -m training.relevance``, which measures it on writers it has not seen.  What the local
reranker says is added to it, with weights by ``python -m training.reranking``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from apps.recall.default_ranking import in_context
from apps.recall.ranking import Features, Ranked

WEIGHTS_FILE: Final = Path(__file__).parent / "relevance_weights.json"
REREAD_FILE: Final = Path(__file__).parent / "reread_weights.json"
NOT_READ: Final[Mapping[int, float]] = MappingProxyType({})
EMBEDDER: Final = "memsync-retrieval/2"  # the embedder whose cosines it was fitted on
RERANKER: Final = "memsync-rerank/1"  # the reranker whose scores count, too
INPUTS: Final = (
    "semantic",
    "coverage",
    "coverage of the best",
    "behind the best",
    "is expected",
    "is actor",
    "is English",
)


def relevance_of(candidates: Sequence[Features], read: Mapping[int, float] = NOT_READ) -> dict[int, float]:
    """Candidate id to relevance, of those that have a vector.  Candidates: the whole shortlist, of ``EMBEDDER``.

    read: candidate id to the score of ``RERANKER``.  If it read any, its least score stands for the others.
    """
    if not candidates:
        return {}
    ids = [one.id for one in candidates]
    chances = _fitted().chances(np.array(inputs(candidates)))
    if scores := [read[one] for one in ids if one in read]:
        least = min(scores)
        chances = _reread().chances(chances, np.array([read.get(one, least) for one in ids]))
    measured = zip(candidates, chances.tolist(), strict=True)
    return {one.id: chance for one, chance in measured if one.has_vector}


def inputs(candidates: Sequence[Features]) -> list[tuple[float, ...]]:
    """For each candidate a value for each of ``INPUTS``, about 0..1."""
    if not candidates:
        return []
    semantic = [in_context(one) for one in candidates]
    best, covered = max(semantic), max(one.coverage_in_context for one in candidates)
    return [
        (
            near,
            one.coverage_in_context,
            covered,
            best - near,
            float(one.is_expected),
            float(one.is_actor),
            float(one.is_english),
        )
        for one, near in zip(candidates, semantic, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Floors:
    """least: relevance below which a memory is left out.  best: all are left out if none of them reaches it.

    0 leaves out nothing.
    """

    least: float = 0.0
    best: float = 0.0


def drop_irrelevant(
    ranked: Sequence[Ranked], candidates: Sequence[Features], floors: Floors, read: Mapping[int, float] = NOT_READ
) -> list[Ranked]:
    """The ranking without memories below the floors.  read: as in ``relevance_of``.

    A memory without a vector stays if it has a word of the question.  One that only a relation led to has no relevance
    of its own: it stays if anything else does.
    """
    if floors == Floors():
        return list(ranked)
    by_words = {one.id: float(one.coverage > 0) for one in candidates if not one.has_vector}
    relevance, least = relevance_of(candidates, read) | by_words, floors.least
    if max((relevance[one.id] for one in ranked if one.id in relevance), default=0.0) < floors.best:
        return []
    kept = [one for one in ranked if relevance.get(one.id, least) >= least]
    return kept if any(one.id in relevance for one in kept) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """hidden: shape (INPUTS, units).  hidden_bias, output: shape (units,)."""

    hidden: NDArray[np.float64]
    hidden_bias: NDArray[np.float64]
    output: NDArray[np.float64]
    bias: float

    @classmethod
    def of_json(cls, fitted: Mapping[str, Any]) -> Self:
        return cls(
            hidden=np.array([fitted["hidden"][name] for name in INPUTS]),
            hidden_bias=np.array(fitted["hidden_bias"]),
            output=np.array(fitted["output"]),
            bias=fitted["bias"],
        )

    def chances(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """values: shape (n, INPUTS).  Returns the relevance of each row."""
        hidden = np.tanh(values @ self.hidden + self.hidden_bias)
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-(hidden @ self.output + self.bias)))
        return chances


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadWeights:
    """Logistic regression of a candidate's relevance without a reranker and the reranker's score, both as log-odds."""

    bias: float
    relevance: float
    score: float

    def chances(self, relevance: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Both 0..1, shape (n,).  Returns the relevance of each."""
        sure = self.bias + self.relevance * log_odds(relevance) + self.score * log_odds(scores)
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-sure))
        return chances


def log_odds(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    within = np.clip(chances, 1e-5, 1 - 1e-5)
    found: NDArray[np.float64] = np.log(within / (1 - within))
    return found


@cache
def _fitted() -> Network:
    return Network.of_json(json.loads(WEIGHTS_FILE.read_bytes()))


@cache
def _reread() -> RereadWeights:
    return RereadWeights(**json.loads(REREAD_FILE.read_bytes()))
