"""Create vectors for memories: within a time budget at a write, later from the outbox, and again on request."""

import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.core.plaintext import Plaintext
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.models import Memory, MemoryVector
from apps.memories.nearest import stored_signs
from apps.memories.sealing import as_sealed, open_analysis, open_text, seal_analysis, seal_embedding
from apps.memories.spaces import touch
from apps.memories.typed import OF_CALLER
from apps.projects.models import Space
from apps.projects.scope import Scope

CHUNK = 8  # texts embedded between two checks of the time budget


def embed_within(embedder: Embedder, texts: Sequence[Plaintext], *, seconds: float) -> list[NDArray[np.float32] | None]:
    """A vector for each text, in order; None for texts that the time budget or the embedder did not cover.

    Never raises if the embedder fails: a memory without a vector is found by its words and embedded later.
    """
    vectors: list[NDArray[np.float32] | None] = []
    started = time.monotonic()
    try:
        for at in range(0, len(texts), CHUNK):
            if at and time.monotonic() - started > seconds:
                break
            vectors.extend(embedder.embed([text.reveal() for text in texts[at : at + CHUNK]]))
    except AdapterError:
        pass
    return vectors + [None] * (len(texts) - len(vectors))


def vector_row(
    memory: Memory, vector: NDArray[np.float32], cipher: SpaceCipher, embedder_id: str, now: datetime
) -> MemoryVector:
    """The unsaved row for a vector.  vector: as the embedder returned it, unit length.

    The vector id is always new: an index entry is replaced, never edited.
    """
    return MemoryVector(
        tenant_id=memory.tenant_id,
        memory_id=memory.pk,
        space_id=memory.space_id,
        project_id=memory.project_id,
        live=memory.is_live(),
        expires_at=memory.expires_at,
        vector_id=uuid.uuid4(),
        embedder=embedder_id,
        key_version=cipher.key_version,
        embedding_ct=seal_embedding(memory.pk, vector, cipher),
        signs=stored_signs(as_sealed(vector), cipher),
        created_at=now,
    )


def embed_memories(scope: Scope, memory_ids: Sequence[int], embedder: Embedder, *, now: datetime) -> int:
    """Embed these memories, also those that have a vector of ours; returns how many.  Inside the caller's transaction.

    Typed tasks, and memories with a vector of the caller's own, are left as they are.

    Nothing is locked while the embedder works, so an add that touches one of these memories does not wait.  Safe to run
    twice: the vector is replaced, not added.  Raises AdapterError if the embedder is down.
    """
    wanted = (
        Memory.objects.within_tenant(scope)
        .filter(pk__in=list(memory_ids), retention_status__in=("active", "archived"))
        .exclude(type="task", content_ct__isnull=False)
        .exclude(
            Exists(MemoryVector.objects.within(scope).filter(memory_id=OuterRef("pk"), embedder__startswith=OF_CALLER))
        )
        .order_by("pk")
    )
    rows = list(wanted)
    opened = _ciphers(scope, rows)
    texts = {row.pk: text for row in rows if (text := _open(scope, row, opened[row.space_id], now=now)) is not None}
    if not texts:
        return 0
    vectors = dict(zip(texts, embedder.embed([text.reveal() for text in texts.values()]), strict=True))
    # Read again: whether a memory is live, its text and its key version may have changed while the embedder worked.
    opened = _ciphers(scope, rows, writing=True)
    rows = list(wanted.filter(pk__in=list(vectors)).select_for_update(no_key=True))
    # A change of the text has requested a vector of its own.
    rows = [row for row in rows if _open(scope, row, opened[row.space_id], now=now) == texts[row.pk]]
    _analyse(rows, texts, opened)
    MemoryVector.objects.within(scope).filter(memory_id__in=[row.pk for row in rows]).delete()
    MemoryVector.objects.bulk_create(
        scope, (vector_row(row, vectors[row.pk], opened[row.space_id], embedder.id, now) for row in rows)
    )
    touch(scope, *opened)
    return len(rows)


def _analyse(rows: Sequence[Memory], texts: Mapping[int, Plaintext], ciphers: Mapping[int, SpaceCipher]) -> None:
    """Analyse the texts whose analysis was written by an earlier version, or does not decrypt."""
    for row in (row for row in rows if not _is_analysed(row, ciphers[row.space_id])):
        row.analysis_ct = seal_analysis(row.pk, texts[row.pk], ciphers[row.space_id])
        row.save(update_fields=["analysis_ct"])


def _is_analysed(row: Memory, cipher: SpaceCipher) -> bool:
    try:
        return open_analysis(row.pk, row.analysis_ct, cipher) is not None
    except DecryptError:
        return False


def _ciphers(scope: Scope, rows: Sequence[Memory], *, writing: bool = False) -> dict[int, SpaceCipher]:
    spaces = Space.objects.within(scope).filter(pk__in={row.space_id for row in rows}).order_by("pk")
    if writing:
        # Locked, so that the space is not sealed between this read and the write.
        spaces = spaces.select_for_update(no_key=True)
    return {space.pk: open_space(scope.tenant, space.ref, writing=writing) for space in spaces}


def _open(scope: Scope, row: Memory, cipher: SpaceCipher, *, now: datetime) -> Plaintext | None:
    """The text, or None if it fails decryption: that row gets no vector and does not block the others."""
    try:
        return open_text(row, cipher)
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
        return None
