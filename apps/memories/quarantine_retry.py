"""Releases quarantined rows that decrypt again, for example after a restore from a backup."""

from collections.abc import Sequence
from datetime import datetime

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.locks import lock
from apps.crypto.encrypted_tables import OPENERS as OPENERS
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories.integrity import LOCK, MEMORY, VECTOR
from apps.memories.lifetimes import Lifetimes
from apps.memories.models import Memory, MemoryVector, QuarantinedRow
from apps.memories.sealing import open_analysis, open_embedding, open_memory
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef


def release(scope: Scope, row_ids: Sequence[int], *, now: datetime) -> int:
    """Retry these quarantined rows and release each that decrypts or no longer exists; returns how many.

    Inside the caller's tenant transaction.
    """
    lock(LOCK, scope.tenant_id)
    released = 0
    for listed in QuarantinedRow.objects.within(scope).filter(pk__in=list(row_ids)).order_by("pk"):
        if not _opens(scope, listed):
            continue
        target = f"{listed.table}:{listed.record_id}"
        QuarantinedRow.objects.within(scope).filter(pk=listed.pk).delete()
        record(scope, actor=scope.principal.label, action=AuditAction.INTEGRITY_RELEASED, target=target, now=now)
        released += 1
    return released


def _opens(scope: Scope, listed: QuarantinedRow) -> bool:
    try:
        OPENERS[listed.table](scope, listed.record_id)
    except DecryptError:
        return False
    return True


def _open_memory(scope: Scope, memory_id: int) -> None:
    row = Memory.objects.within_tenant(scope).filter(pk=memory_id).to_open().first()
    if row is not None:
        cipher, space = _cipher(scope, row.space_id)
        open_memory(row, cipher, space, Lifetimes(()))
        open_analysis(memory_id, row.analysis_ct, cipher)


def _open_vector(scope: Scope, memory_id: int) -> None:
    row = MemoryVector.objects.within(scope).filter(memory_id=memory_id).first()
    if row is not None:
        open_embedding(memory_id, bytes(row.embedding_ct), _cipher(scope, row.space_id)[0])


OPENERS.update(
    {
        MEMORY: _open_memory,
        VECTOR: _open_vector,
    }
)


def _cipher(scope: Scope, space_id: int) -> tuple[SpaceCipher, SpaceRef]:
    space = Space.objects.within(scope).get(pk=space_id).ref
    return open_space(scope.tenant, space), space
