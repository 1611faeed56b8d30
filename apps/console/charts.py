"""Coordinates of stacked columns and bars.  Pure functions; templates write the SVG.

Coordinates are rounded, so that the same numbers produce the same bytes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH, HEIGHT = 600.0, 120.0  # of a column chart
GAP: Final = 0.3  # share of a column's width


@dataclass(frozen=True, slots=True)
class Block:
    """kind: its position in the stack, from 0."""

    x: float
    y: float
    width: float
    height: float
    kind: int


@dataclass(frozen=True, slots=True)
class Chart:
    """most: the value at the top of the chart.  marks: labels of the first, middle and last column."""

    blocks: Sequence[Block]
    most: int
    marks: Sequence[str]

    @property
    def half(self) -> int:
        return self.most // 2


def stacked(stacks: Sequence[Sequence[float]], marks: Sequence[str] = ()) -> Chart:
    """A chart with one column per stack; each stack lists its values from the bottom up.  marks: one label per
    stack."""
    most = rounded_up(max((sum(stack) for stack in stacks), default=0))
    room = WIDTH / max(1, len(stacks))
    blocks = []
    for at, stack in enumerate(stacks):
        top = HEIGHT
        for kind, number in enumerate(stack):
            height = HEIGHT * number / most
            if height:
                top -= height
                x = (at + GAP / 2) * room
                blocks.append(Block(round(x, 2), round(top, 2), round(room * (1 - GAP), 2), round(height, 2), kind))
    return Chart(blocks=blocks, most=most, marks=[marks[0], marks[len(marks) // 2], marks[-1]] if marks else [])


def rounded_up(number: float) -> int:
    """Round up to 1, 2, 4, 5 or 8 times a power of ten, so that half of it is a whole, readable number."""
    if number <= 1:
        return 2
    power: int = 10 ** int(math.log10(number))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= number and not step * power % 2)


@dataclass(frozen=True, slots=True)
class Bar:
    """width: 0..100."""

    name: str
    amount: float
    width: float


def bars(amounts: Mapping[str, float]) -> list[Bar]:
    """One bar per amount, its width relative to the largest."""
    most = max((abs(amount) for amount in amounts.values()), default=0) or 1
    return [Bar(name, amount, round(100 * abs(amount) / most, 2)) for name, amount in amounts.items()]
