"""Memories of an import, as their export describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEdge:
    """A relation of an imported memory; its ends are given by their references."""

    from_ref: str
    to_ref: str
    type: str
    confidence: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_automatic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """The attributes of a memory from another system, kept as they are: nothing is extracted, split or scored again.

    since: start of the import.  Memories stored before it are matched as duplicates; those of the same import are not.
    value: under its key, as exported of a typed memory.
    """

    type: str
    key: str | None
    since: datetime
    value: str | None = None
    is_current: bool = True
    is_archived: bool = False
    is_summary: bool = False
    pinned: bool = False
    tier: str = "hot"
    confidence: float | None = None
    event_at: datetime | None = None
    event_precision: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    edges: Sequence[KeptEdge] = ()
