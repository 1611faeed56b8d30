"""Filters of a recall, and its results: hits with their explanations."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from apps.memories.opened import OpenedMemory
from apps.projects.scope import SpaceRef
from apps.recall.replay import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories a recall may return.  Empty means any.  speakers: names, of which the first word counts.

    tags: any of them.  since, until: created, inclusive.

    as_of: memories valid at that time, even if replaced since.  known_at: only what had been written by then; without
    as_of, also valid at that time.  include_superseded: also memories that were replaced; in place of these times.
    happened: memories whose own date or time range overlaps [from, to).
    """

    types: Sequence[str] = ()
    speakers: Sequence[str] = ()
    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    tiers: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    include_summaries: bool = True
    include_superseded: bool = False
    session_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    as_of: datetime | None = None
    known_at: datetime | None = None
    happened: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit has its rank.  ``factors`` are the weighted parts of the score and sum to it; ``legs`` give the rank
    (from 1) and the raw score in each retriever that found it.  path, hop: the relations from a found memory to it.
    boosts: other changes of its score, with the memories that caused them."""

    matched_by: str
    factors: Mapping[str, float]
    weights: Mapping[str, float]
    legs: Mapping[str, Mapping[str, float]]
    path: Sequence[Mapping[str, object]] = ()
    hop: int = 0
    boosts: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """relevance: calibrated probability, 0..1, that it answers the question; None if it cannot be computed: without a
    vector, or if only a relation led to it."""

    memory: OpenedMemory
    score: float
    explanation: Explanation
    relevance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceAnswer:
    """The answer of one space.  legs: retrievers that ran.  cut: those that did not for lack of time.

    reread: outcome of a call of a remote cross-encoder; None if there was none.
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

    legs: the retrievers that ran.  legs_cut: those skipped because the time was up.
    """

    query_id: uuid.UUID
    hits: Sequence[Hit]
    profile: str
    latency_ms: float
    intent: str
    dense_available: bool = True
    legs: Sequence[str] = ()
    legs_cut: Sequence[str] = ()
