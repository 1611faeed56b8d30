"""Decay of memories: their weight fades with time and use refreshes it.  Decay never deletes.  Pure functions.

Formulas from the typed-memory seed (003: freshness, access boost) and from the proposal that combines them into one
salience (seed-systems 3.8).
"""

from datetime import datetime
from typing import Final

from apps.memories.types import DEFAULT_HALF_LIFE_DAYS, TYPES

BOOST_AT_MOST: Final = 3.0
BOOST_BASE: Final = 1.2
SALIENCE_AT_LEAST: Final = 0.05


def freshness(days: float, *, half_life_days: float) -> float:
    """2^(-days / half-life), 0..1.  days: since the last recall, or since storing; future times count as fresh."""
    return float(2 ** (-max(0.0, days) / half_life_days))


def boost(access_count: int) -> float:
    """min(3, 1.2^accesses), 1..3: seven accesses reach the cap."""
    # The cap is reached long before the power could overflow.
    return BOOST_AT_MOST if access_count > 100 else min(BOOST_AT_MOST, BOOST_BASE**access_count)


def liveliness(days: float, *, half_life_days: float, access_count: int) -> float:
    """Boosted freshness, clamped to 0..1 for use as a weight of a score."""
    return min(1.0, freshness(days, half_life_days=half_life_days) * boost(access_count))


def salience(*, importance: float, days: float, half_life_days: float, access_count: int) -> float:
    """importance x boosted freshness, at least 0.05.  days: since the later of its last recall and its own time."""
    lively = liveliness(days, half_life_days=half_life_days, access_count=access_count)
    return max(SALIENCE_AT_LEAST, importance * lively)


def salience_factor(value: float) -> float:
    """0.5 + 0.5 x salience: the ranking multiplies by it, so salience reorders results but removes none."""
    return 0.5 + 0.5 * value


def half_life_of(type_: str) -> float:
    """The half-life of the type in days; the default for a type that is not in the registry."""
    return TYPES[type_].half_life_days if type_ in TYPES else DEFAULT_HALF_LIFE_DAYS


def days_since(created_at: datetime, last_accessed_at: datetime | None, *, now: datetime) -> float:
    latest = max(created_at, last_accessed_at) if last_accessed_at else created_at
    return (now - latest).total_seconds() / 86_400
