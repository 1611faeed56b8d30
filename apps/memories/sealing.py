"""Between a row and what it says: sealing the fields of a memory, and opening them for their owner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.memories.handles import Handles
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.projects.scope import SpaceRef

# The columns that hold a seal, by the name bound into it.  Those that may change carry the row's revision.
TEXT, SUMMARY, LABEL, TAGS, METADATA = "memory.text", "memory.summary", "memory.label", "memory.tags", "memory.metadata"
CONTENT, KEYWORDS, HANDLES = "memory.content", "memory.keywords", "memory.handles"
EMBEDDING = "vector.embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """What a memory says, before it is sealed."""

    text: Plaintext
    key: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    handles: Handles = field(default_factory=Handles)


def seal_into(row: Memory, readable: Readable, cipher: SpaceCipher) -> None:
    """Fill the row's sealed columns and its tokens.  The row must have its id: it is bound into every seal."""
    row.key_version = cipher.key_version
    row.text_ct = cipher.seal(TEXT, row.pk, readable.text)
    row.label_ct = cipher.seal(LABEL, row.pk, Plaintext(readable.key)) if readable.key else None
    row.tags_ct = (
        cipher.seal(TAGS, row.pk, orjson.dumps(list(readable.tags)), revision=row.revision) if readable.tags else None
    )
    row.metadata_ct = (
        cipher.seal(METADATA, row.pk, orjson.dumps(dict(readable.metadata)), revision=row.revision)
        if readable.metadata
        else None
    )
    row.handles_ct = cipher.seal(HANDLES, row.pk, orjson.dumps(asdict(readable.handles)))
    blind(row, readable, cipher)


def blind(row: Memory, readable: Readable, cipher: SpaceCipher) -> None:
    """Fill the row's tokens, by which the database filters; none where the space is sealed."""
    session, actor = readable.handles.session, readable.handles.actor
    row.tag_tokens = [cipher.tag_token(tag) for tag in readable.tags] if cipher.is_searchable else []
    row.session_token = cipher.session_token(session) if session and cipher.is_searchable else None
    row.actor_token = cipher.actor_token(actor) if actor and cipher.is_searchable else None


def open_handles(row: Memory, cipher: SpaceCipher) -> Handles:
    return Handles(**orjson.loads(cipher.open_bytes(HANDLES, row.pk, bytes(row.handles_ct))))


def seal_embedding(memory_id: int, vector: NDArray[np.float32], cipher: SpaceCipher) -> bytes:
    """vector: as the embedder made it, not rotated.  Kept at half precision, as the index has it."""
    return cipher.seal(EMBEDDING, memory_id, vector.astype("<f2").tobytes())


def open_embedding(memory_id: int, blob: bytes, cipher: SpaceCipher) -> NDArray[np.float32]:
    return np.frombuffer(cipher.open_bytes(EMBEDDING, memory_id, blob), dtype="<f2").astype(np.float32)


def open_text(row: Memory, cipher: SpaceCipher) -> Plaintext:
    return cipher.open(TEXT, row.pk, bytes(row.text_ct))


def open_memory(row: Memory, cipher: SpaceCipher, owner: SpaceRef) -> OpenedMemory:
    """The row, fetched ``to_open``, as its owner may read it.  Raises DecryptError when any part fails its seal."""
    vector = getattr(row, "vector", None)
    return OpenedMemory(
        id=row.pk,
        public_id=row.public_id,
        user_id=owner.owner_id,
        project_id=row.project_id,
        environment=row.environment,
        text=open_text(row, cipher),
        summary=cipher.open(SUMMARY, row.pk, bytes(row.summary_ct)) if row.summary_ct else None,
        tags=_json(cipher, TAGS, row, row.tags_ct) or [],
        metadata=_json(cipher, METADATA, row, row.metadata_ct) or {},
        key=cipher.open(LABEL, row.pk, bytes(row.label_ct)).reveal() if row.label_ct else None,
        type=row.type,
        source=row.source,
        source_kind=row.source_kind,
        event_type=row.event_type,
        tier=row.tier,
        is_summary=row.is_summary,
        pinned=row.pinned,
        importance=row.importance,
        confidence=row.confidence,
        validity=row.validity,
        retention_status=row.retention_status,
        superseded_by=row.superseded_by_id,
        event_at=row.event_at,
        event_precision=row.event_precision,
        expires_at=row.expires_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        is_embedded=vector is not None,
        embedder=vector.embedder if vector else None,
    )


def _json(cipher: SpaceCipher, name: str, row: Memory, blob: bytes | memoryview | None) -> Any:
    return orjson.loads(cipher.open_bytes(name, row.pk, bytes(blob), revision=row.revision)) if blob else None
