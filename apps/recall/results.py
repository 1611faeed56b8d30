"""What recall returns: hits that explain themselves."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.memories.opened import OpenedMemory
from apps.projects.scope import SpaceRef
from apps.recall.replay import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories a recall may return.  Empty means any.  tags: any of them.  since, until: created, inclusive.

    as_of: what held then, be it replaced since.  known_at: by what had been written then; alone, of that time itself.
    happened: what has a date of its own in [from, to), or a stretch of time that reaches into it.
    """

    types: Sequence[str] = ()
    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    tiers: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    include_summaries: bool = True
    session_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    as_of: datetime | None = None
    known_at: datetime | None = None
    happened: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit is where it is.  ``factors`` are the weighted parts of the score and sum to it; ``legs`` give the rank
    (from 1) and the raw score in each retriever that found it.  path, hop: the relations by which it was reached, from
    what was found.  boosts: what else moved it, and on whose account."""

    matched_by: str
    factors: Mapping[str, float]
    weights: Mapping[str, float]
    legs: Mapping[str, Mapping[str, float]]
    path: Sequence[Mapping[str, object]] = ()
    hop: int = 0
    boosts: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    memory: OpenedMemory
    score: float
    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceAnswer:
    """What one space answers.  legs, cut: names of the ways of finding that were taken, and of those that were not for
    want of time.

    reread: how it went with the cross-encoder, where it was asked.
    """

    hits: Sequence[Hit] = ()
    is_dense: bool = True
    legs: Sequence[str] = ()
    cut: Sequence[str] = ()
    traced: tuple[SpaceRef, Trace] | None = None
    reread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The memories that best answer a query, best first.

    legs: the ways of finding that were taken.  legs_cut: those left out because the time was up.
    """

    query_id: uuid.UUID
    hits: Sequence[Hit]
    profile: str
    latency_ms: float
    intent: str
    dense_available: bool = True
    legs: Sequence[str] = ()
    legs_cut: Sequence[str] = ()
