"""The chunks of an import job: encrypt, decrypt, split."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Final

from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, open_space
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.transfers.imports.payload import PayloadLine, RecordBatch, unpacked
from apps.transfers.models.imports import PAYLOAD, ImportChunk, ImportJob

AT_ONCE: Final = 16  # chunks per INSERT


def write_chunks(
    scope: Scope, job: ImportJob, numbered: Iterable[tuple[int, RecordBatch]], cipher: SpaceCipher, *, now: datetime
) -> None:
    """Encrypt and insert the chunks, inside the tenant's transaction.

    numbered: batches, each with its number in the file.  cipher: the tenant's, for writing.
    """
    own = _cipher_of(scope, job.space_id, writing=True) if job.space_id is not None else None
    waiting = iter(numbered)
    while some := list(islice(waiting, AT_ONCE)):
        ids = reserve_ids(len(some), sequence="transfers_importchunk_id_seq")
        ImportChunk.objects.bulk_create(
            scope,
            (
                _chunk(job, cipher, own, chunk_id, number, batch, now=now)
                for chunk_id, (number, batch) in zip(ids, some, strict=True)
            ),
        )


def open_chunk(scope: Scope, chunk: ImportChunk, cipher: SpaceCipher) -> list[PayloadLine]:
    """The records of a chunk.  cipher: the tenant's."""
    if chunk.space_id is not None:
        cipher = _cipher_of(scope, chunk.space_id)
    return unpacked(cipher.open_bytes(PAYLOAD, chunk.pk, bytes(chunk.payload_ct)))


def _cipher_of(scope: Scope, space_id: int, *, writing: bool = False) -> SpaceCipher:
    return open_space(scope.tenant, Space.objects.within(scope).get(pk=space_id).ref, writing=writing)


def _chunk(
    job: ImportJob, cipher: SpaceCipher, own: SpaceCipher | None, chunk_id: int, number: int, batch: RecordBatch, *,
    now: datetime,
) -> ImportChunk:  # fmt: skip
    is_own = own is not None and not batch.is_shared
    sealing = own if is_own and own is not None else cipher
    return ImportChunk(
        id=chunk_id,
        tenant_id=job.tenant_id,
        job_id=job.pk,
        space_id=job.space_id if is_own else None,
        number=number,
        first_line=batch.lines[0].number,
        records=len(batch.lines),
        payload_ct=sealing.seal(PAYLOAD, chunk_id, batch.packed()),
        key_version=sealing.key_version,
        created_at=now,
    )
