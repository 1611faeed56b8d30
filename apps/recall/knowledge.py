"""Counts of one end user's memories, and a report over a bounded sample of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from apps.edges.selectors import count_edges
from apps.memories.opened import OpenedMemory
from apps.memories.statistics import MemoryStatistics, count_memories, newest, weightiest
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.intelligence import Insight, Observed, insight

RECENT: Final = timedelta(days=30)
SAMPLE: Final = 200  # memories opened for each part: the newest, and the weightiest


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    memories: MemoryStatistics
    edges: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeReport:
    """recent: memories created within RECENT.  lifetime: the weightiest and the newest.  sampled: memories read."""

    recent: Insight
    lifetime: Insight
    sampled: int


def knowledge_stats(scope: Scope, *, now: datetime) -> Knowledge:
    return Knowledge(memories=count_memories(scope, now=now), edges=count_edges(scope, now=now))


def intelligence(scope: Scope, *, limit: int, now: datetime) -> KnowledgeReport:
    """Themes, names and patterns of the scope's memories, recent and of all time; at most ``limit`` of each."""
    recent = newest(scope, limit=SAMPLE, since=now - RECENT, now=now)
    all_time = _each_once([*weightiest(scope, limit=SAMPLE, now=now), *newest(scope, limit=SAMPLE, now=now)])
    read_log.record_report(scope, len(_each_once([*recent, *all_time])))
    return KnowledgeReport(
        recent=insight([_observed(one) for one in recent], limit=limit),
        lifetime=insight([_observed(one) for one in all_time], limit=limit),
        sampled=len(_each_once([*recent, *all_time])),
    )


def _each_once(memories: Iterable[OpenedMemory]) -> list[OpenedMemory]:
    return list({memory.id: memory for memory in memories}.values())


def _observed(memory: OpenedMemory) -> Observed:
    return Observed(
        id=memory.id,
        text=memory.text.reveal(),
        key=memory.key,
        tags=memory.tags,
        type=memory.type,
        event_at=memory.event_at,
        told=memory.repetition_count,
        recalled=memory.access_count,
    )
