"""Writing and reading the erasure ledger."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apps.erasure.models import ErasedKind, ErasureEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Position of the ledger: the highest entry id (0 if there is none), and the number of entries."""

    last_id: int
    entries: int


def note_space(tenant_uid: uuid.UUID, space_uid: uuid.UUID, *, actor: str, request_id: str, now: datetime) -> None:
    """Record that this space is erased.  Repeating it changes nothing."""
    _note(ErasedKind.SPACE, tenant_uid, space_uid, actor, request_id, now)


def note_tenant(tenant_uid: uuid.UUID, *, actor: str, request_id: str, now: datetime) -> None:
    """Record that this tenant is erased.  Repeating it changes nothing."""
    _note(ErasedKind.TENANT, tenant_uid, tenant_uid, actor, request_id, now)


def note_memories(
    tenant_uid: uuid.UUID,
    memory_ids: Iterable[int],
    *,
    actor: str,
    request_id: str,
    erasure_uid: uuid.UUID,
    now: datetime,
) -> None:
    """Record that these memories, in their current state, are erased."""
    entries_ = [
        ErasureEntry(
            tenant_uid=tenant_uid,
            kind=ErasedKind.MEMORY,
            target_id=memory_id,
            erased_at=now,
            actor=actor,
            request_id=request_id,
            erasure_uid=erasure_uid,
        )
        for memory_id in memory_ids
    ]
    ErasureEntry.objects.bulk_create(entries_, batch_size=1_000)


def memories_of(tenant_uid: uuid.UUID, erasure_uid: uuid.UUID) -> list[int]:
    """Return the ids of an erasure's memories, ascending."""
    mine = ErasureEntry.objects.filter(tenant_uid=tenant_uid, erasure_uid=erasure_uid, kind=ErasedKind.MEMORY)
    return [one for one in mine.order_by("target_id").values_list("target_id", flat=True) if one is not None]


def names(kind: ErasedKind, target: uuid.UUID) -> bool:
    """Whether this space or tenant is erased."""
    return ErasureEntry.objects.filter(kind=kind, target_uid=target).exists()


def entries() -> list[ErasureEntry]:
    """Return all entries, oldest first."""
    return list(ErasureEntry.objects.order_by("id"))


def position() -> Position:
    newest = ErasureEntry.objects.order_by("-id").first()
    return Position(last_id=newest.pk if newest else 0, entries=ErasureEntry.objects.count())


def _note(
    kind: ErasedKind, tenant_uid: uuid.UUID, target: uuid.UUID, actor: str, request_id: str, now: datetime
) -> None:
    entry = ErasureEntry(
        tenant_uid=tenant_uid, kind=kind, target_uid=target, erased_at=now, actor=actor, request_id=request_id
    )
    ErasureEntry.objects.bulk_create([entry], ignore_conflicts=True)
