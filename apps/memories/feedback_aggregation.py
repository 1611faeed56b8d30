"""Feedback about a memory, summed up, and how far one signal moves its importance.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from typing import Final


class Signal(StrEnum):
    """What a caller says of a memory that it was given."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    RETRIEVED = "retrieved"
    IGNORED = "ignored"


STEPS: Final = {Signal.POSITIVE: 0.05, Signal.NEGATIVE: -0.05, Signal.RETRIEVED: 0.01, Signal.IGNORED: -0.01}
LOWEST, HIGHEST = 0.05, 1.0
RECENT: Final = 20  # signals that make the trend
SETTLED: Final = 3  # fewer say nothing about whether callers agree
LEANING: Final = 0.2  # from this much balance on there is a direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """momentum: positive, negative or neutral.  consistency: 0 for as much against as for, 1 for one voice.
    multiplier: 0.5 to 2, by which a step is longer where callers agree and shorter where they do not."""

    momentum: str
    consistency: float
    multiplier: float
    recent_count: int


def trend_of(signals: Sequence[Signal]) -> Trend:
    """Of the latest signals, in any order: their steps weigh as much as they would move.

    balance = sum(steps) / sum(|steps|);  multiplier = 0.5 + 1.5 · |balance|, and 1 while there are fewer than three.
    """
    steps = [STEPS[signal] for signal in signals]
    # fsum: of floats added in another order the sum may differ in its last place, and with it the side of a threshold.
    balance = fsum(steps) / fsum(abs(step) for step in steps) if steps else 0.0
    if len(steps) < SETTLED:
        return Trend(momentum="neutral", consistency=round(abs(balance), 6), multiplier=1.0, recent_count=len(steps))
    momentum = "positive" if balance > LEANING else "negative" if balance < -LEANING else "neutral"
    return Trend(
        momentum=momentum,
        consistency=round(abs(balance), 6),
        multiplier=round(0.5 + 1.5 * abs(balance), 6),
        recent_count=len(steps),
    )


def moved(importance: float, signal: Signal, trend: Trend) -> float:
    """The importance after this signal: from 0.05 to 1."""
    return round(min(max(importance + STEPS[signal] * trend.multiplier, LOWEST), HIGHEST), 6)
