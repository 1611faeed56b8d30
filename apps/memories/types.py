"""The type registry: how memories of a type are replaced, how long they last and how they rank.  Data, not an enum.

Values are from the seed systems (003 for priors and half-lives).  Unknown names set by a caller are refused.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class MemoryType:
    """group: the slot group, within which a newer value replaces an older one; None accumulates.

    prior: the t of the confidence formula.  half_life_days: of freshness, since the last access.  ttl_seconds: the
    lifetime of a memory stated as this type without a lifetime of its own; None for no limit.
    """

    name: str
    group: str | None
    prior: float
    half_life_days: float
    ttl_seconds: int | None = None


DEFAULT_HALF_LIFE_DAYS = 90.0
ACCUMULATING: Final = frozenset({"event", "decision", "task"})
ACCUMULATING_WINDOW: Final = timedelta(hours=24)  # an event told again within it is the same event
TYPES = {
    type_.name: type_
    for type_ in (
        # Claims on the same key replace each other regardless of their types, so these types share a group.
        MemoryType("fact", "claim", 0.15, 180),
        MemoryType("preference", "claim", 0.20, 90),
        MemoryType("instruction", "instruction", 0.15, 180),
        MemoryType("constraint", "constraint", 0.15, 365),
        MemoryType("relation", "claim", 0.10, 180),
        MemoryType("entity", None, 0.12, 365),
        MemoryType("event", None, 0.08, 30),
        MemoryType("decision", None, 0.12, 180),
        MemoryType("task", None, 0.10, 7, ttl_seconds=86_400),
        MemoryType("summary", None, 0.10, 90),
        MemoryType("reflection", None, 0.10, 365),
        MemoryType("insight", None, 0.10, 90),
        MemoryType("narrative", None, 0.10, 90),
        MemoryType("analysis", None, 0.10, 90),
        MemoryType("reference", None, 0.10, 90),
    )
}


def confidence(*, source_strength: float, repetition_count: int, extractor_confidence: float, prior: float) -> float:
    """min(1, 0.45 s + 0.20 r + 0.25 e + 0.10 t), r = min(1, (n - 1) / 4): seed 003, "Confidence", linear in n."""
    repetition = min(1.0, (repetition_count - 1) / 4)
    return min(1.0, 0.45 * source_strength + 0.20 * repetition + 0.25 * extractor_confidence + 0.10 * prior)
