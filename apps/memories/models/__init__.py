"""Models of memories: the memory, its vector, blinded words, history, types and protection."""

from apps.memories.models.checkpoint import MemoryCheckpoint
from apps.memories.models.history import MemoryClaim, MemoryFeedback, MemoryPeriod, MemoryTransition
from apps.memories.models.memory import (
    Memory,
    MemoryManager,
    MemoryQuerySet,
    Precision,
    Retention,
    SummarySource,
    Tier,
    Validity,
)
from apps.memories.models.protection import QuarantinedRow, Tombstone
from apps.memories.models.search import DIMENSIONS, MemoryPosting, MemoryVector
from apps.memories.models.types import OwnType, TypeRule

__all__ = [
    "DIMENSIONS",
    "Memory",
    "MemoryCheckpoint",
    "MemoryClaim",
    "MemoryFeedback",
    "MemoryManager",
    "MemoryPeriod",
    "MemoryPosting",
    "MemoryQuerySet",
    "MemoryTransition",
    "MemoryVector",
    "OwnType",
    "Precision",
    "QuarantinedRow",
    "Retention",
    "SummarySource",
    "Tier",
    "Tombstone",
    "TypeRule",
    "Validity",
]
