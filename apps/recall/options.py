"""Options of one recall: what the caller asked for, how many candidates that takes, and the time it may take."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from apps.recall.results import Filters

# Of each retriever: fewer lose what is asked for, and more find nothing (docs/benchmarks.md).
FEWEST, ENOUGH = 32, 64


def candidates_per_retriever(limit: int) -> int:
    """How many each finds for an answer of ``limit``; their union, the shortlist, is opened and measured."""
    return max(limit, min(ENOUGH, max(FEWEST, 2 * limit)))


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """milliseconds: from ``started`` on, by the clock of ``time.perf_counter``; 0 is without end."""

    milliseconds: float
    started: float

    @property
    def seconds_left(self) -> float:
        """Below 0 once it is spent; infinity where there is no end."""
        return self.milliseconds / 1000 - (time.perf_counter() - self.started) if self.milliseconds > 0 else math.inf

    @property
    def is_spent(self) -> bool:
        return self.seconds_left < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """As ``recall`` takes them, checked.  retrievers: names of those that may run.  is_traced: whether a trace of it is
    to be kept."""

    filters: Filters
    limit: int
    depth: int
    profile: str
    weights: Mapping[str, float] | None
    session_id: str | None
    retrievers: frozenset[str]
    budget: TimeBudget
    is_traced: bool
    now: datetime

    @property
    def candidates_per_retriever(self) -> int:
        # Metadata are compared once they are opened, and then fewer are left.
        return candidates_per_retriever(max(self.limit, FEWEST) if self.filters.metadata else self.limit)

    @property
    def graph_weight(self) -> float:
        """What is carried along relations is multiplied by it."""
        return (self.weights or {}).get("graph", 1.0)

    @property
    def wanted(self) -> str:
        """All of it that an answer depends on, to recognize equal questions.  Of the time, the day that words like
        "yesterday" are counted from."""
        weights = sorted(self.weights.items()) if self.weights is not None else None
        return json.dumps(
            [asdict(self.filters), self.limit, self.depth, self.profile, weights, self.session_id,
             sorted(self.retrievers), f"{self.now:%Y-%m-%d}"],
            sort_keys=True, default=str,
        )  # fmt: skip
