"""Export of all memories that an end user may read of their own, oldest first, in batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Max

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.projects.scope import Scope

BATCH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """reference: see ``reference_of``."""

    memory: OpenedMemory
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportBatch:
    """unreadable: how many failed decryption and were left out.  refer: returns the reference of a memory id."""

    memories: Sequence[Exported]
    refer: Callable[[int], str]
    unreadable: int = 0


def reference_of(memory_id: int, cipher: SpaceCipher) -> str:
    """The reference by which another instance knows the memory: the same in every export.

    It is keyed, so that exports of different users have no reference in common.
    """
    return f"exported:{cipher.identity_mac('export', str(memory_id)).hex()}"


def export_batches(scope: Scope, *, now: datetime) -> Iterator[ExportBatch]:
    """The memories readable by id at the start, in batches: also superseded and archived, not deleted or expired.

    Each batch is a short transaction of its own, so that a slow reader holds no locks.  Memories deleted meanwhile are
    left out; memories added meanwhile are not exported.
    """
    if not scope.spaces:
        return
    newest = _begin(scope, now=now)
    after = 0
    while ids := _ids(scope, after, newest, now=now):
        yield _open(scope, ids, now=now)
        after = ids[-1]


def _begin(scope: Scope, *, now: datetime) -> int:
    """Record the export in the audit trail; returns the highest id to export."""
    with tenant_transaction(scope):
        there = Memory.objects.within(scope).existing(now).aggregate(newest=Max("pk"), count=Count("pk"))
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.MEMORY_EXPORT,
            target=f"space:{scope.space.id}",
            count=there["count"],
            now=now,
        )
    return there["newest"] or 0


def _ids(scope: Scope, after: int, newest: int, *, now: datetime) -> list[int]:
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).existing(now).filter(pk__gt=after, pk__lte=newest).order_by("pk")
        return list(rows.values_list("pk", flat=True)[:BATCH])


def _open(scope: Scope, ids: Sequence[int], *, now: datetime) -> ExportBatch:
    with tenant_transaction(scope):
        rows = list(Memory.objects.within(scope).existing(now).filter(pk__in=ids).order_by("pk").to_open())
        lifetimes = lifetimes_of(scope, [scope.space.id])
    cipher = open_space(scope.tenant, scope.space)
    opened: list[Exported] = []
    for row in rows:
        try:
            memory = open_memory(row, cipher, scope.space, lifetimes)
            opened.append(Exported(memory=memory, reference=reference_of(row.pk, cipher)))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return ExportBatch(
        memories=opened,
        refer=lambda memory_id: reference_of(memory_id, cipher),
        unreadable=len(rows) - len(opened),
    )
