"""Changes of existing memories: refresh, expiry, access counts and renewal."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory, MemoryVector
from apps.memories.soft_delete import GRACE
from apps.outbox.services import enqueue
from apps.projects.scope import Scope

RENEWED_AFTER = timedelta(hours=1)  # the least time between two renewals by recall


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRequest:
    """job_id: the same while the same work is queued.  memories: how many will be embedded again."""

    job_id: str
    memories: int


def request_refresh(scope: Scope, *, now: datetime) -> RefreshRequest:
    """Embed every memory of the scope's spaces again, in the background; once, however often it is requested."""
    with tenant_transaction(scope):
        count = Memory.objects.within(scope).live(now).count()
        if scope.spaces and count:
            enqueue(scope, "refresh", [space.id for space in scope.spaces], now=now)
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.MEMORY_REFRESH,
            target=",".join(f"space:{space.id}" for space in scope.spaces),
            count=count,
            now=now,
        )
    job = "refresh_" + "_".join(str(space.id) for space in scope.spaces) if scope.spaces else "refresh_none"
    return RefreshRequest(job_id=job, memories=count)


def expire(scope: Scope, *, now: datetime, ids: Collection[int] | None = None, limit: int = 1000) -> int:
    """Soft-delete expired memories, oldest first; returns how many.  Recall has hidden them since they expired.

    ids: only these; waits for other locks on them.
    """
    with tenant_transaction(scope):
        due = Memory.objects.within_tenant(scope).expired_at(now).filter(legal_hold=False)
        if ids is not None:
            due = due.filter(pk__in=ids)
        due = due.order_by("expires_at", "pk").select_for_update(no_key=True, skip_locked=ids is None)
        ids = list(due.values_list("pk", flat=True)[:limit])
        if ids:
            Memory.objects.within_tenant(scope).filter(pk__in=ids).update(
                retention_status="soft_deleted",
                deletion_method="retention_policy",
                deleted_at=now,
                hard_delete_at=now + GRACE,
                updated_at=now,
            )
            MemoryVector.objects.within(scope).filter(memory_id__in=ids).update(live=False)
            _note(scope, ids, "soft_deleted", now=now)
            record(scope, actor="system:0", action=AuditAction.MEMORY_EXPIRE, count=len(ids), now=now)
        return len(ids)


def count_accesses(scope: Scope, counts: dict[int, int], *, now: datetime) -> None:
    """Add to the access counts of recalled memories, and renew them (``apps.memories.lifetimes``).

    They are renewed at most once in RENEWED_AFTER, so that not every recall writes the row's indexes.  In id order, so
    that two calls cannot deadlock.
    """
    ids = sorted(counts)
    with tenant_transaction(scope):
        execute(
            # Locked first: an update with a join locks rows in the order of its plan.
            "with seen as ("
            "select memory.id, t.times from unnest(%s::bigint[], %s::bigint[]) t(id, times) "
            "join memories_memory memory on memory.tenant_id = %s and memory.id = t.id "
            "order by memory.id for no key update of memory) "
            "update memories_memory memory set access_count = access_count + seen.times, last_accessed_at = %s, "
            "last_used_at = case when greatest(memory.created_at, memory.last_used_at) > %s then memory.last_used_at "
            "else %s end from seen where memory.tenant_id = %s and memory.id = seen.id",
            [
                ids, [counts[memory_id] for memory_id in ids], scope.tenant_id,
                now, now - RENEWED_AFTER, now, scope.tenant_id,
            ],
        )  # fmt: skip


def renew(scope: Scope, memory_ids: Collection[int], *, now: datetime) -> None:
    """Renew memories that were stated again: they are as fresh as if they were new.

    In the caller's transaction, which may hold other locks: locked rows are skipped, so that there are no deadlocks.
    """
    execute(
        "update memories_memory memory set last_used_at = %s from ("
        "select tenant_id, id from memories_memory where tenant_id = %s and id = any(%s) "
        "order by id for no key update skip locked) known "
        "where (memory.tenant_id, memory.id) = (known.tenant_id, known.id)",
        [now, scope.tenant_id, list(memory_ids)],
    )


def _note(scope: Scope, ids: list[int], event: str, *, now: datetime) -> None:
    execute(
        "insert into memories_memorytransition "
        "(tenant_id, memory_id, space_id, txid, event, actor, changed_fields, created_at) "
        "select tenant_id, id, space_id, changed_txid, %s, %s, '{}', %s from memories_memory "
        "where tenant_id = %s and id = any(%s)",
        [event, scope.principal.label, now, scope.tenant_id, ids],
    )
