"""Encrypts the fields of a memory, and decrypts them for their owner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.memories.ended_parts import MemoryPart, ended_then, unpacked, without
from apps.memories.lifetimes import Lifetimes
from apps.memories.lookup_keys import LookupValues, message_token
from apps.memories.models import Memory
from apps.memories.models.memory import (
    ANALYSIS,
    CONTENT,
    FIELDS,
    HANDLES,
    KEYWORDS,
    LABEL,
    METADATA,
    PARTS,
    SAID,
    SUMMARY,
    TAGS,
    TEXT,
)
from apps.memories.models.search import EMBEDDING
from apps.memories.opened import OpenedMemory
from apps.memories.typed import TypedMemory
from apps.memories.validity import AsOf, Moment
from apps.projects.scope import SpaceRef
from text.analysis import TextAnalysis

Blob = bytes | memoryview
# What ``seal_changed`` writes: one revision seals them all.
REVISED_COLUMNS: Final = ("tags_ct", "metadata_ct", "fields_ct", "parts_ct", "tag_tokens", "revision")
CATEGORY: Final = "category"
WORKSPACE: Final = "workspace"
MAX_ANALYSIS_BYTES: Final = 1_000_000  # of a text in a script without spaces it is four times as long


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """The content of a memory before encryption.  terms: of the text, if they are known."""

    text: Plaintext
    terms: Sequence[str] | None = None
    key: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    handles: LookupValues = field(default_factory=LookupValues)
    typed: TypedMemory | None = None


def seal_into(row: Memory, readable: Readable, cipher: SpaceCipher) -> None:
    """Fill the row's encrypted columns and its tokens.  The row must have its id: every ciphertext is bound to it."""
    row.key_version = cipher.key_version
    row.text_ct = cipher.seal(TEXT, row.pk, readable.text)
    row.analysis_ct = seal_analysis(row.pk, readable.text, cipher, terms=readable.terms)
    row.label_ct = cipher.seal(LABEL, row.pk, Plaintext(readable.key)) if readable.key else None
    _seal_what_changes(row, cipher, tags=readable.tags, metadata=readable.metadata, fields=readable.fields, parts=None)
    row.handles_ct = cipher.seal(HANDLES, row.pk, orjson.dumps(asdict(readable.handles)))
    if typed := readable.typed:
        row.content_ct = cipher.seal(CONTENT, row.pk, typed.content)
        row.summary_ct = cipher.seal(SUMMARY, row.pk, typed.summary)
        row.keywords_ct = cipher.seal(KEYWORDS, row.pk, typed.keywords) if typed.keywords else None
    blind(row, readable, cipher)


def seal_changed(
    row: Memory,
    cipher: SpaceCipher,
    *,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    parts: bytes | None = None,
) -> None:
    """Encrypt new tags, metadata, values of fields or parts under the row's next revision.

    Older ciphertexts no longer decrypt here.  Values of None stay.  The other columns keep their key version: changing
    it is the work of a rotation.
    """
    tags = open_tags(row, cipher) if tags is None else tags
    metadata = open_metadata(row, cipher) if metadata is None else metadata
    fields = open_field_values(row, cipher) if fields is None else fields
    if parts is None and row.parts_ct is not None:
        parts = cipher.open_bytes(PARTS, row.pk, bytes(row.parts_ct), revision=row.revision)
    row.revision += 1
    _seal_what_changes(row, cipher, tags=tags, metadata=metadata, fields=fields, parts=parts)
    row.tag_tokens = label_tokens(tags, open_handles(row, cipher), cipher)


def _seal_what_changes(
    row: Memory,
    cipher: SpaceCipher,
    *,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
    fields: Mapping[str, Any],
    parts: bytes | None,
) -> None:
    row.tags_ct = cipher.seal(TAGS, row.pk, orjson.dumps(list(tags)), revision=row.revision) if tags else None
    row.metadata_ct = (
        cipher.seal(METADATA, row.pk, orjson.dumps(dict(metadata)), revision=row.revision) if metadata else None
    )
    row.fields_ct = cipher.seal(FIELDS, row.pk, orjson.dumps(dict(fields)), revision=row.revision) if fields else None
    row.parts_ct = cipher.seal(PARTS, row.pk, parts, revision=row.revision) if parts is not None else None


def blind(row: Memory, readable: Readable, cipher: SpaceCipher) -> None:
    """Fill the row's tokens, by which the database filters; none if the space is sealed."""
    session, actor = readable.handles.session, readable.handles.actor
    row.tag_tokens = label_tokens(readable.tags, readable.handles, cipher)
    row.session_token = cipher.session_token(session) if session and cipher.is_searchable else None
    row.actor_token = cipher.actor_token(actor) if actor and cipher.is_searchable else None


def label_tokens(tags: Sequence[str], handles: LookupValues, cipher: SpaceCipher) -> list[int]:
    """Of a memory's tags, category, workspace and messages; none if the space is sealed.

    For a category and for a workspace there are two: of its name, and of the fact that there is one.
    """
    if not cipher.is_searchable:
        return []
    found = [cipher.tag_token(tag) for tag in tags]
    found += [message_token(cipher, message) for message in handles.messages]
    for kind, name in ((CATEGORY, handles.category), (WORKSPACE, handles.workspace)):
        found += [cipher.filter_token(kind, name), cipher.filter_token(kind, "")] if name else []
    return found


def open_handles(row: Memory, cipher: SpaceCipher) -> LookupValues:
    return LookupValues(**orjson.loads(cipher.open_bytes(HANDLES, row.pk, bytes(row.handles_ct))))


def seal_analysis(
    memory_id: int, text: Plaintext, cipher: SpaceCipher, *, terms: Sequence[str] | None = None
) -> bytes | None:
    """Analyse a text and encrypt the result, as ``analysis_bytes``.  terms: of the text, if they are known."""
    raw = analysis_bytes(text, terms)
    return None if raw is None else cipher.seal(ANALYSIS, memory_id, raw)


def analysis_bytes(text: Plaintext, terms: Sequence[str] | None = None) -> bytes | None:
    """The text's analysis as stored; None if it is too large to be worth it."""
    raw = TextAnalysis.of(text.reveal(), terms).to_bytes()
    return raw if len(raw) <= MAX_ANALYSIS_BYTES else None


def open_analysis(memory_id: int, blob: Blob | None, cipher: SpaceCipher) -> TextAnalysis | None:
    """Decrypt it; None if there is none, or one of another version: analyse the text then."""
    return None if blob is None else TextAnalysis.from_bytes(cipher.open_bytes(ANALYSIS, memory_id, bytes(blob)))


def seal_embedding(memory_id: int, vector: NDArray[np.float32], cipher: SpaceCipher) -> bytes:
    """Encrypt an embedding at half precision.  vector: as the embedder returned it, not rotated."""
    return cipher.seal(EMBEDDING, memory_id, vector.astype("<f2").tobytes())


def as_sealed(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector as ``open_embedding`` will return it, so that values computed from it can be recomputed."""
    return vector.astype("<f2").astype(np.float32)


def open_embedding(memory_id: int, blob: bytes, cipher: SpaceCipher) -> NDArray[np.float32]:
    return as_vectors([cipher.open_bytes(EMBEDDING, memory_id, blob)]).reshape(-1)


def as_vectors(embeddings: Sequence[bytes]) -> NDArray[np.float32]:
    """The decrypted embeddings as one array of shape (n, dimensions).  At least one, all of one length."""
    return np.frombuffer(b"".join(embeddings), dtype="<f2").astype(np.float32).reshape(len(embeddings), -1)


def open_text(row: Memory, cipher: SpaceCipher) -> Plaintext:
    return cipher.open(TEXT, row.pk, bytes(row.text_ct))


def open_parts(row: Memory, cipher: SpaceCipher) -> list[MemoryPart]:
    """The parts that no longer hold, in order; none if the memory holds as a whole, or not at all."""
    return _opened_parts(cipher, row.pk, row.revision, row.parts_ct)


def open_said(row: Memory, cipher: SpaceCipher) -> Plaintext:
    """The original text, including parts that no longer hold."""
    return _opened_said(cipher, row.pk, row.text_ct, row.said_ct)


def open_text_then(
    cipher: SpaceCipher,
    memory_id: int,
    revision: int,
    text: Blob,
    said: Blob | None,
    parts: Blob | None,
    moment: Moment | None,
) -> Plaintext:
    """Decrypt, from a row's encrypted columns, the text as it held at the moment, as known then.

    moment: None for the present.
    """
    if not isinstance(moment, AsOf) or said is None:
        return cipher.open(TEXT, memory_id, bytes(text))
    ended = ended_then(_opened_parts(cipher, memory_id, revision, parts), moment.at, moment.known_at)
    return without(_opened_said(cipher, memory_id, text, said), ended)


def _opened_parts(cipher: SpaceCipher, memory_id: int, revision: int, parts: Blob | None) -> list[MemoryPart]:
    return [] if parts is None else unpacked(cipher.open_bytes(PARTS, memory_id, bytes(parts), revision=revision))


def _opened_said(cipher: SpaceCipher, memory_id: int, text: Blob, said: Blob | None) -> Plaintext:
    name, blob = (SAID, said) if said is not None else (TEXT, text)
    return cipher.open(name, memory_id, bytes(blob))


def open_tags(row: Memory, cipher: SpaceCipher) -> list[str]:
    return _json(cipher, TAGS, row, row.tags_ct) or []


def open_metadata(row: Memory, cipher: SpaceCipher) -> dict[str, Any]:
    return _json(cipher, METADATA, row, row.metadata_ct) or {}


def open_field_values(row: Memory, cipher: SpaceCipher) -> dict[str, Any]:
    return _json(cipher, FIELDS, row, row.fields_ct) or {}


def open_typed_content(row: Memory, handles: LookupValues, cipher: SpaceCipher) -> Plaintext | None:
    """The content of a typed memory, as canonical JSON; None of any other."""
    return cipher.open(CONTENT, row.pk, bytes(row.content_ct)) if row.content_ct and handles.typed else None


def open_memory(
    row: Memory, cipher: SpaceCipher, owner: SpaceRef, lifetimes: Lifetimes, *, moment: Moment | None = None
) -> OpenedMemory:
    """Decrypt the row, fetched with ``to_open``, for its owner.  lifetimes: of its space.  moment: to read it as of.

    Raises DecryptError if any part fails decryption.
    """
    vector = getattr(row, "vector", None)
    ended, said, handles = open_parts(row, cipher), open_said(row, cipher), open_handles(row, cipher)
    if not isinstance(moment, AsOf):
        text = open_text(row, cipher) if ended else said
    else:
        ended = ended_then(ended, moment.at, moment.known_at)
        text = without(said, ended)
    return OpenedMemory(
        id=row.pk,
        public_id=row.public_id,
        space_id=owner.id,
        user_id=owner.owner_id,
        project_id=row.project_id,
        environment=row.environment,
        text=text,
        said=said,
        ended=ended,
        outdated_by=row.outdated_by_id,
        summary=cipher.open(SUMMARY, row.pk, bytes(row.summary_ct)) if row.summary_ct else None,
        content=open_typed_content(row, handles, cipher),
        keywords=cipher.open(KEYWORDS, row.pk, bytes(row.keywords_ct)) if row.keywords_ct else None,
        tags=open_tags(row, cipher),
        metadata=open_metadata(row, cipher),
        fields=open_field_values(row, cipher),
        key=cipher.open(LABEL, row.pk, bytes(row.label_ct)).reveal() if row.label_ct else None,
        value=handles.value,
        session=handles.session,
        speaker=handles.actor,
        slot=bytes(row.slot) if row.slot is not None else None,
        context=handles.context,
        category=handles.category,
        workspace=handles.workspace,
        messages=handles.messages,
        type=row.type,
        source=row.source,
        source_kind=row.source_kind,
        event_type=row.event_type,
        tier=row.tier,
        is_summary=row.is_summary,
        pinned=row.pinned,
        importance=row.importance,
        confidence=row.confidence,
        source_strength=row.source_strength,
        extractor_confidence=row.extractor_confidence,
        type_prior=row.type_prior,
        repetition_count=row.repetition_count,
        access_count=row.access_count,
        last_accessed_at=row.last_accessed_at,
        validity=row.validity,
        retention_status=row.retention_status,
        superseded_by=row.superseded_by_id,
        superseded_at=row.superseded_at,
        event_at=row.event_at,
        event_precision=row.event_precision,
        valid_from=row.valid_from or row.created_at,
        valid_to=row.valid_to,
        expires_at=row.expires_at,
        kept_until=lifetimes.until(row),
        is_held=row.legal_hold,
        created_at=row.created_at,
        updated_at=row.updated_at,
        is_embedded=vector is not None,
        embedder=vector.embedder if vector else None,
    )


def _json(cipher: SpaceCipher, name: str, row: Memory, blob: bytes | memoryview | None) -> Any:
    return orjson.loads(cipher.open_bytes(name, row.pk, bytes(blob), revision=row.revision)) if blob else None
