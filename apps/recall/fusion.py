"""Fuse rankings.  Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

K = 60


def reciprocal_rank(rankings: Iterable[Sequence[int]], *, k: int = K) -> list[tuple[int, float]]:
    """Fuse rankings of ids, best first in each, ids unique within one: score = sum of 1 / (k + rank), rank from 1.

    Returns (id, score), best first, ties by the newer id.  Cormack, Clarke and Buettcher 2009; k = 60 as there.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, memory_id in enumerate(ranking, start=1):
            scores[memory_id] += 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], -item[0]))


def union(rankings: Iterable[Sequence[int]], *, limit: int) -> list[int]:
    """The first ``limit`` of every ranking, each id once, in the order found."""
    return list(dict.fromkeys(memory_id for ranking in rankings for memory_id in ranking[:limit]))
