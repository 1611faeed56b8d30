"""Options of one recall: the caller's request, the number of candidates, and the time budget."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from datetime import datetime

from apps.recall.relevance import Floors
from apps.recall.results import Filters

# Candidates per retriever: fewer lose relevant memories, and more add none (docs/benchmarks.md).
FEWEST, ENOUGH = 32, 64


def candidates_per_retriever(limit: int) -> int:
    """Candidates that each retriever returns for ``limit`` hits; their union is the shortlist."""
    return max(limit, min(ENOUGH, max(FEWEST, 2 * limit)))


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """milliseconds: counted from ``started``, a ``time.perf_counter`` value; 0 means no limit."""

    milliseconds: float
    started: float

    @property
    def seconds_left(self) -> float:
        """Negative once the budget is spent; infinity without a limit."""
        return self.milliseconds / 1000 - (time.perf_counter() - self.started) if self.milliseconds > 0 else math.inf

    @property
    def is_spent(self) -> bool:
        return self.seconds_left < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Validated arguments of ``recall``.  retrievers: names of those that may run.  is_traced: store a trace.

    reranks: a cross-encoder reads the best, if there is one.  floors: of the hits' relevance.  with_alike: also hits
    with the same words as a better one.
    """

    filters: Filters
    limit: int
    depth: int
    profile: str
    weights: Mapping[str, float] | None
    session_id: str | None
    retrievers: frozenset[str]
    budget: TimeBudget
    reranks: bool
    is_traced: bool
    now: datetime
    floors: Floors
    with_alike: bool

    @property
    def candidates_per_retriever(self) -> int:
        # Metadata are filtered after decryption, which drops candidates: start with more.
        return candidates_per_retriever(max(self.limit, FEWEST) if self.filters.metadata else self.limit)

    @property
    def graph_weight(self) -> float:
        """Multiplier of scores carried along relations."""
        return (self.weights or {}).get("graph", 1.0)

    @property
    def wanted(self) -> str:
        """All options that an answer depends on, as JSON for the cache key.  Of the time it holds only the day, which
        words like "yesterday" are resolved against."""
        weights = sorted(self.weights.items()) if self.weights is not None else None
        return json.dumps(
            [asdict(self.filters), self.limit, self.depth, self.profile, weights, self.session_id,
             sorted(self.retrievers), self.reranks, f"{self.now:%Y-%m-%d}", astuple(self.floors), self.with_alike],
            sort_keys=True, default=str,
        )  # fmt: skip
