"""The decay of memories: their weight fades with time, and use refreshes it.  Never a reason to delete.  Pure.

Formulas of the typed-memory seed (003: freshness, access boost) and of the proposal that makes one salience of them
(seed-systems 3.8).
"""

from datetime import datetime
from typing import Final

from apps.memories.types import DEFAULT_HALF_LIFE_DAYS, TYPES

BOOST_AT_MOST: Final = 3.0
BOOST_BASE: Final = 1.2
SALIENCE_AT_LEAST: Final = 0.05


def freshness(days: float, *, half_life_days: float) -> float:
    """2^(-days / half-life), 0..1.  days: since it was last recalled, or stored; what lies ahead is fresh."""
    return float(2 ** (-max(0.0, days) / half_life_days))


def boost(access_count: int) -> float:
    """min(3, 1.2^accesses), 1..3: the cap is reached with the seventh."""
    # The power overflows long after the cap.
    return BOOST_AT_MOST if access_count > 100 else min(BOOST_AT_MOST, BOOST_BASE**access_count)


def liveliness(days: float, *, half_life_days: float, access_count: int) -> float:
    """Boosted freshness, clamped to 0..1 so that it may weigh a score."""
    return min(1.0, freshness(days, half_life_days=half_life_days) * boost(access_count))


def salience(*, importance: float, days: float, half_life_days: float, access_count: int) -> float:
    """importance x boosted freshness, at least 0.05.  days: since the later of its last recall and its own time."""
    lively = liveliness(days, half_life_days=half_life_days, access_count=access_count)
    return max(SALIENCE_AT_LEAST, importance * lively)


def salience_factor(value: float) -> float:
    """0.5 + 0.5 x salience: what a ranking multiplies by, so that salience reorders and never erases."""
    return 0.5 + 0.5 * value


def half_life_of(type_: str) -> float:
    """In days; of a type that the registry does not know, that of most."""
    return TYPES[type_].half_life_days if type_ in TYPES else DEFAULT_HALF_LIFE_DAYS


def days_since(created_at: datetime, last_accessed_at: datetime | None, *, now: datetime) -> float:
    latest = max(created_at, last_accessed_at) if last_accessed_at else created_at
    return (now - latest).total_seconds() / 86_400
