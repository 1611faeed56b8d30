"""Writing and reading the erasure ledger."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apps.erasure.models import ErasedKind, ErasureEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a ledger reaches: the highest entry's number, 0 for none, and how many entries there are."""

    last_id: int
    entries: int


def note_space(tenant_uid: uuid.UUID, space_uid: uuid.UUID, *, actor: str, request_id: str, now: datetime) -> None:
    """Say that this space is erased.  Saying it again changes nothing."""
    _note(ErasedKind.SPACE, tenant_uid, space_uid, actor, request_id, now)


def note_tenant(tenant_uid: uuid.UUID, *, actor: str, request_id: str, now: datetime) -> None:
    """Say that this tenant is erased.  Saying it again changes nothing."""
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
    """Say that these memories are erased, as they are now."""
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
    """The memories that an erasure is of, ascending."""
    mine = ErasureEntry.objects.filter(tenant_uid=tenant_uid, erasure_uid=erasure_uid, kind=ErasedKind.MEMORY)
    return [one for one in mine.order_by("target_id").values_list("target_id", flat=True) if one is not None]


def names(kind: ErasedKind, target: uuid.UUID) -> bool:
    """Whether this space or tenant is erased."""
    return ErasureEntry.objects.filter(kind=kind, target_uid=target).exists()


def entries() -> list[ErasureEntry]:
    """All of them, oldest first."""
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
