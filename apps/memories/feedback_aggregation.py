"""Aggregates feedback on a memory and computes how far one signal moves its importance.  Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from typing import Final


class Signal(StrEnum):
    """A caller's feedback on a memory that it received."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    RETRIEVED = "retrieved"
    IGNORED = "ignored"


STEPS: Final = {Signal.POSITIVE: 0.05, Signal.NEGATIVE: -0.05, Signal.RETRIEVED: 0.01, Signal.IGNORED: -0.01}
LOWEST, HIGHEST = 0.05, 1.0
RECENT: Final = 20  # latest signals in the trend
SETTLED: Final = 3  # fewer signals do not show whether callers agree
LEANING: Final = 0.2  # a balance above this has a direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The trend of the latest signals.

    momentum: positive, negative or neutral.  consistency: 0 if signals cancel out, 1 if they all agree.  multiplier:
    0.5 to 2; lengthens the step if callers agree and shortens it if they do not.
    """

    momentum: str
    consistency: float
    multiplier: float
    recent_count: int


def trend_of(signals: Sequence[Signal]) -> Trend:
    """The trend of the latest signals, in any order, each weighted by its step.

    balance = sum(steps) / sum(|steps|);  multiplier = 0.5 + 1.5 · |balance|, or 1 for fewer than three signals.
    """
    steps = [STEPS[signal] for signal in signals]
    # fsum: a plain sum depends on the order in its last digit, which could move it across a threshold.
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
    """The importance after this signal, clamped to 0.05..1."""
    return round(min(max(importance + STEPS[signal] * trend.multiplier, LOWEST), HIGHEST), 6)
