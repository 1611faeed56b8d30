"""Coordinates of the charts in pages: timelines, graphs, and columns (by ``charts``).  Pure functions; templates write
the SVG.

Coordinates are rounded, so that the same numbers produce the same bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import numpy as np

from apps.console.charts import Block, stacked
from apps.console.ingest_statistics import KINDS, Day
from apps.console.memory_detail import Version

GRAPH_WIDTH, GRAPH_HEIGHT = 900.0, 620.0
MARGIN: Final = 80.0  # reserved for the names of nodes
ROUNDS: Final = 220
IN_A_ROW, ROW = 7, 62.0  # rows of nodes without an edge


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """most: the value at the top of the chart.  days: the first, the middle and the last."""

    blocks: Sequence[Block]
    most: int
    days: Sequence[date]


def columns(days: Sequence[Day], kinds: Sequence[str] = KINDS) -> ColumnChart:
    """One column per day, stacked in the order of ``kinds`` from the bottom up."""
    drawn = stacked([[day.counts[name] for name in kinds] for day in days])
    marks = [days[0].day, days[len(days) // 2].day, days[-1].day] if days else []
    return ColumnChart(blocks=drawn.blocks, most=drawn.most, days=marks)


@dataclass(frozen=True, slots=True)
class Piece:
    """x, width: 0..100."""

    start: datetime
    end: datetime | None
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class TimelineSpan:
    """pieces: the periods in which it held."""

    version: Version
    pieces: Sequence[Piece]
    is_this: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """asked_at: position of the requested time, 0..100."""

    spans: Sequence[TimelineSpan]
    first: date
    asked_at: float | None


def timeline(versions: Sequence[Version], *, of: int, as_of: datetime | None, now: datetime) -> Timeline:
    """When each version held, from the start of the first to now."""
    first = min((start for one in versions for start, _ in one.stretches), default=now)
    first = min(first, now)
    whole = max((now - first).total_seconds(), 1.0)

    def place(at: datetime) -> float:
        return round(min(max(100 * (at - first).total_seconds() / whole, 0.0), 100.0), 2)

    def piece(start: datetime, end: datetime | None) -> Piece:
        x = min(place(start), 99.0)
        return Piece(start, end, x, max(round(place(end or now) - x, 2), 1.0))

    spans = [TimelineSpan(one, [piece(*stretch) for stretch in one.stretches], one.memory.id == of) for one in versions]
    return Timeline(spans=spans, first=first.date(), asked_at=place(as_of) if as_of else None)


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


def spread(nodes: Sequence[int], ties: Sequence[tuple[int, int]]) -> dict[int, Point]:
    """A position for each node: connected nodes near each other, the others in rows below.  Deterministic."""
    ends = sorted({(one, other) for one, other in ties if one != other and {one, other} <= set(nodes)})
    tied = {node for pair in ends for node in pair}
    alone = [node for node in nodes if node not in tied]
    top = 0.0 if not tied else max(GRAPH_HEIGHT - ROW * math.ceil(len(alone) / IN_A_ROW), GRAPH_HEIGHT / 3)
    placed = _drawn_together([node for node in nodes if node in tied], ends, height=top)
    rows = math.ceil(len(alone) / IN_A_ROW)
    for number, node in enumerate(alone):
        row, column = divmod(number, IN_A_ROW)
        in_row = min(IN_A_ROW, len(alone) - row * IN_A_ROW)
        x = GRAPH_WIDTH * (column + 0.5) / in_row
        y = top + (GRAPH_HEIGHT - top) * (row + 0.4) / rows
        placed[node] = Point(round(x, 1), round(y, 1))
    return placed


def _drawn_together(nodes: Sequence[int], ends: Sequence[tuple[int, int]], *, height: float) -> dict[int, Point]:
    """Fruchterman and Reingold 1991, starting from a spiral instead of random positions."""
    if not nodes:
        return {}
    number = len(nodes)
    place = {node: at for at, node in enumerate(nodes)}
    pairs = np.array([(place[one], place[other]) for one, other in ends], dtype=int)
    turns = np.arange(number) * 2.399963  # the golden angle
    radius = np.sqrt((np.arange(number) + 0.5) / number)
    at = np.column_stack([radius * np.cos(turns), radius * np.sin(turns)])
    length = 1.6 / math.sqrt(number)
    for step in range(ROUNDS):
        away = at[:, None, :] - at[None, :, :]
        far = np.maximum(np.linalg.norm(away, axis=2), 1e-3)
        move = (away * (length**2 / far**2)[:, :, None]).sum(axis=1) - 0.3 * at
        along = at[pairs[:, 0]] - at[pairs[:, 1]]
        strength = along * np.linalg.norm(along, axis=1, keepdims=True) / length
        np.subtract.at(move, pairs[:, 0], strength)
        np.add.at(move, pairs[:, 1], strength)
        size = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        at = at + move / size * np.minimum(size, 0.12 * (1 - step / ROUNDS) + 0.002)
    low, high = at.min(axis=0), at.max(axis=0)
    room = np.array([GRAPH_WIDTH - 2 * MARGIN, height - MARGIN])
    placed = (at - low) / np.maximum(high - low, 1e-6) * room + np.array([MARGIN, MARGIN / 2])
    return {node: Point(round(float(placed[n, 0]), 1), round(float(placed[n, 1]), 1)) for n, node in enumerate(nodes)}
