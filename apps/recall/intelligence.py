"""Themes, names and patterns of a set of memories, found by counting.  Pure, and without a model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from text.digest import names, topics

NAMED_IDS: Final = 5  # example memory ids listed with each finding
LEAST: Final = 2  # memories needed for a theme
LEAST_DATED: Final = 5  # dated memories needed for a weekday pattern
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The counted fields of one memory.  event_at: when the event happened, if known."""

    id: int
    text: str
    key: str | None
    tags: Sequence[str]
    type: str
    event_at: datetime | None
    told: int
    recalled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """A topic or a name, the number of memories that contain it, and the first few of their ids."""

    label: str
    count: int
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgePattern:
    """kind: ``repeated`` (stored again), ``recalled`` (returned often) or ``weekday`` (events on one weekday)."""

    kind: str
    label: str
    count: int
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    memories: int
    themes: Sequence[Theme]
    entities: Sequence[Theme]
    patterns: Sequence[KnowledgePattern]


def insight(observed: Sequence[Observed], *, limit: int) -> Insight:
    """Return at most ``limit`` of each, those with the most memories first.  Deterministic for the same order."""
    about = {one.id: topics(one.key, one.tags) or [one.type] for one in observed}
    named = {one.id: names(one.text) for one in observed}
    return Insight(
        memories=len(observed),
        themes=_counted(about, limit, least=LEAST),
        entities=_counted(named, limit, least=1),
        patterns=_patterns(observed)[:limit],
    )


def _counted(labels: Mapping[int, Sequence[str]], limit: int, *, least: int) -> list[Theme]:
    holders: dict[str, list[int]] = {}
    for memory_id, found in labels.items():
        for label in found:
            holders.setdefault(label, []).append(memory_id)
    themes = [
        Theme(label=label, count=len(ids), memory_ids=ids[:NAMED_IDS])
        for label, ids in holders.items()
        if len(ids) >= least
    ]
    return sorted(themes, key=lambda theme: (-theme.count, theme.label))[:limit]


def _patterns(observed: Sequence[Observed]) -> list[KnowledgePattern]:
    return [
        *_often("repeated", {one.id: one.told for one in observed}),
        *_often("recalled", {one.id: one.recalled for one in observed}),
        *_weekdays(observed),
    ]


def _often(kind: str, times: Mapping[int, int]) -> list[KnowledgePattern]:
    """Patterns of single memories with a count of three or more."""
    found = [
        KnowledgePattern(kind=kind, label="", count=count, memory_ids=[one])
        for one, count in times.items()
        if count >= 3
    ]
    return sorted(found, key=lambda pattern: (-pattern.count, pattern.memory_ids[0]))[:NAMED_IDS]


def _weekdays(observed: Sequence[Observed]) -> list[KnowledgePattern]:
    """The weekdays that hold at least two fifths of the dated memories."""
    dated = [(WEEKDAYS[one.event_at.weekday()], one.id) for one in observed if one.event_at is not None]
    if len(dated) < LEAST_DATED:
        return []
    return [
        KnowledgePattern(
            kind="weekday", label=day, count=count, memory_ids=[one for on, one in dated if on == day][:NAMED_IDS]
        )
        for day, count in Counter(day for day, _ in dated).most_common()
        if count * 5 >= len(dated) * 2
    ]
