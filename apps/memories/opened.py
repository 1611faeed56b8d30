"""A memory decrypted for its owner: plain values for display, independent of any database row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.core.plaintext import Plaintext
from apps.memories.ended_parts import MemoryPart


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMemory:
    """One decrypted memory.  It exists only in a hit or a response.

    text: what still holds.  said: the original text.  ended: the parts of it that no longer hold.  outdated_by: a later
    memory that may have made it untrue.  content, keywords: of a typed memory; content is canonical JSON.  fields:
    values of its type's fields.  value: the value in its slot.  session, speaker: as the caller named them.
    context, category, workspace, messages: as in ``LookupValues``.
    source_strength, extractor_confidence, type_prior: what ``confidence`` is computed from, with the repetitions.

    kept_until: when its next automatic step is due, see ``Lifetimes.until``; None if it is kept for good or under a
    legal hold (is_held).
    """

    id: int
    public_id: str
    space_id: int
    user_id: int
    project_id: int | None
    environment: str
    text: Plaintext
    said: Plaintext
    ended: Sequence[MemoryPart]
    outdated_by: int | None
    summary: Plaintext | None
    content: Plaintext | None
    keywords: Plaintext | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    fields: Mapping[str, Any]
    key: str | None
    value: str | None
    session: str | None
    speaker: str | None
    slot: bytes | None
    context: str
    category: str
    workspace: str
    messages: Sequence[str]
    type: str
    source: str
    source_kind: str
    event_type: str
    tier: str
    is_summary: bool
    pinned: bool
    importance: float
    confidence: float
    source_strength: float
    extractor_confidence: float
    type_prior: float
    repetition_count: int
    access_count: int
    last_accessed_at: datetime | None
    validity: str
    retention_status: str
    superseded_by: int | None
    superseded_at: datetime | None
    event_at: datetime | None
    event_precision: str
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    kept_until: datetime | None
    is_held: bool
    created_at: datetime
    updated_at: datetime
    is_embedded: bool
    embedder: str | None

    @property
    def ended_words(self) -> list[tuple[MemoryPart, Plaintext]]:
        """Each part that no longer holds, with its words."""
        return [(part, Plaintext(self.said.reveal()[part.start : part.end])) for part in self.ended]
