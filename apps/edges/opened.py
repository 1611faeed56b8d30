"""Edges as plain values, independent of any database row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEdge:
    """An edge to write.  confidence: 0..1.  is_automatic: found at a write, not stated by a caller."""

    from_id: int
    to_id: int
    type: str
    confidence: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_automatic: bool = False

    @property
    def name(self) -> tuple[int, int, str]:
        return self.from_id, self.to_id, self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stored edge, decrypted for the owner of its space."""

    id: int
    from_id: int
    to_id: int
    type: str
    confidence: float
    metadata: Mapping[str, Any]
    is_automatic: bool
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """One step along an edge, from ``node_id`` to ``memory_id``, whichever way the edge points."""

    node_id: int
    memory_id: int
    edge_id: int
    type: str
    confidence: float
    is_forward: bool
