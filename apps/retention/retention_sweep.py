"""Retention sweep: archives, soft-deletes and purges memories that are due, in batches.

Each tenant has one run at a time, protected by a lease.  If its worker dies, another one continues the run.  All state
between batches is in the memories' own rows, so the next run makes up for an interrupted or missed one.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.clock import database_time
from apps.core.errors import Conflict
from apps.core.locks import lock
from apps.core.queries import execute, fetch_all
from apps.core.scoping import tenant_transaction
from apps.erasure import legal_holds
from apps.erasure.hard_delete import delete_rows, lock_copies, note_steps
from apps.memories.lifetimes import ARCHIVE_DAYS, PURGED, Rule, archive_days, rules_of
from apps.memories.models import MemoryVector
from apps.memories.soft_delete import GRACE
from apps.policies.retention import all_policies
from apps.projects.scope import Scope
from apps.retention.models import RetentionRun
from apps.retention.notices import announce

LEASE: Final = timedelta(minutes=2)  # longer than any batch
WARM_AFTER: Final = timedelta(days=30)  # without being recalled
COLD_AFTER: Final = timedelta(days=30 + 180)
METHOD: Final = "retention_policy"
# Memories of a confirmed erasure, which is carried out apart, with a receipt (``apps.retention.erasure_requests``).
_OF_ERASURE: Final = """exists (select from retention_forgetrequest asked
    where asked.tenant_id = memory.tenant_id and asked.space_id = memory.space_id and asked.erases
      and asked.state = 'confirmed' and asked.erased_at is null and memory.id = any(asked.erase_ids))"""


class RunUnderway(Conflict):
    """A sweep of this tenant is running already; one at a time."""

    code = "RETENTION_UNDER_WAY"


class SweepLeaseLost(Exception):
    """The lease was lost, and another worker has gone on."""


@dataclass(slots=True, kw_only=True)
class Swept:
    """Number of memories by step.  is_done: no due memory is left."""

    archived: int = 0
    deleted: int = 0
    purged: int = 0
    is_done: bool = False

    @property
    def total(self) -> int:
        return self.archived + self.deleted + self.purged


Told = Callable[[Swept], None]


def sweep(
    scope: Scope, *, now: datetime, seconds: float | None = None, pause: float = 0.0, told: Told | None = None
) -> Swept:
    """Apply the due step to every memory of the tenant that is due.

    seconds: stop after this time; the next call continues.  pause: pause after each batch, as a multiple of the
    batch's duration.  told: called with the progress.  Raises RunUnderway.
    """
    done, ends = Swept(), None if seconds is None else time.monotonic() + seconds
    run = _begin(scope, now=now)
    legal_holds.mark(scope)
    with tenant_transaction(scope):
        policies = all_policies(scope)
    if not run.times_resumed:
        announce(scope, policies, now=now)
    archive = archive_days(policies)
    for rule in rules_of(policies):
        while True:
            began = time.monotonic()
            if ends is not None and began > ends:
                _let_go(scope, run)
                return done
            count = _batch(scope, run, rule, archive, done, now=now)
            if told is not None and count:
                told(done)
            if count < settings.RETENTION_BATCH:
                break
            time.sleep(pause * (time.monotonic() - began))
    _finish(scope, run, now=now)
    done.is_done = True
    return done


def tier(scope: Scope, *, now: datetime) -> int:
    """Set each memory's tier by its last recall: hot for 30 days, then warm for 180, then cold; return how many moved.

    The tier is only a label for filters; it hides nothing.
    """
    moved = 0
    while count := _tier_batch(scope, now=now):
        moved += count
    return moved


# -- one run at a time -------------------------------------------------------------------------------------------------


def _begin(scope: Scope, *, now: datetime) -> RetentionRun:
    with tenant_transaction(scope):
        lock("retention run", scope.tenant_id)
        run = RetentionRun.objects.within(scope).filter(finished_at=None).first()
        if run is None:
            run = RetentionRun(tenant_id=scope.tenant_id, created_at=now)
        elif run.leased_until > database_time():
            raise RunUnderway
        else:
            run.times_resumed += 1
        run.token, run.leased_until = uuid.uuid4(), database_time() + LEASE
        run.save()
    return run


def _let_go(scope: Scope, run: RetentionRun) -> None:
    with tenant_transaction(scope):
        mine = RetentionRun.objects.within(scope).filter(pk=run.pk, token=run.token)
        mine.update(leased_until=database_time())


def _finish(scope: Scope, run: RetentionRun, *, now: datetime) -> None:
    with tenant_transaction(scope):
        RetentionRun.objects.within(scope).filter(pk=run.pk, token=run.token).update(finished_at=now)


def _keep(scope: Scope, run: RetentionRun, column: str, count: int) -> None:
    """Add to the run's count and extend its lease, in the same transaction as the change.  Raises SweepLeaseLost."""
    mine = RetentionRun.objects.within(scope).select_for_update().filter(pk=run.pk, token=run.token).first()
    if mine is None:
        raise SweepLeaseLost
    setattr(mine, column, getattr(mine, column) + count)
    mine.leased_until = database_time() + LEASE
    mine.save(update_fields=[column, "leased_until"])


# -- a batch -----------------------------------------------------------------------------------------------------------


def _batch(scope: Scope, run: RetentionRun, rule: Rule, archive: int, done: Swept, *, now: datetime) -> int:
    """Process the next batch of memories that are due under this rule, and return its size."""
    with tenant_transaction(scope):
        due = _due(scope, rule, archive, now=now)
        to_archive = [memory_id for memory_id, days, is_active in due if not rule.outcome and days > 0 and is_active]
        waits = [memory_id for memory_id, days, is_active in due if not rule.outcome and days > 0 and not is_active]
        taken = {*to_archive, *waits}
        rest = [memory_id for memory_id, _, _ in due if memory_id not in taken]
        if to_archive or waits:
            _archive(scope, to_archive, waits, now=now)
            _note(scope, run, rule, AuditAction.RETENTION_ARCHIVED, "archived", len(to_archive), now=now)
            done.archived += len(to_archive)
        if rest and rule.outcome == PURGED:
            rest = sorted({*rest, *lock_copies(scope, rest)})
            delete_rows(scope, rest, now=now)
            _note(scope, run, rule, AuditAction.RETENTION_PURGED, "purged", len(rest), now=now)
            done.purged += len(rest)
        elif rest:
            _delete(scope, rest, now=now)
            _note(scope, run, rule, AuditAction.RETENTION_SOFT_DELETED, "deleted", len(rest), now=now)
            done.deleted += len(rest)
    return len(due)


def _due(scope: Scope, rule: Rule, archive: int, *, now: datetime) -> list[tuple[int, int, bool]]:
    """Lock the next due memories; return for each its id, its days in the archive, and whether it is active."""
    until = now - rule.lasts
    parameters = rule.parameters(scope.tenant_id, now=now, until=until, archive=archive, most=settings.RETENTION_BATCH)
    return fetch_all(
        f"select memory.id, {ARCHIVE_DAYS}, memory.retention_status = 'active' from memories_memory memory "  # noqa: S608  (fixed texts of ours)
        f"where {rule.where()} and not memory.legal_hold and not {_OF_ERASURE} "
        # A locked memory is being changed or recalled; the next run processes it.
        # In the order of the rule's index, so that a batch does not read rows of earlier batches again.
        f"order by {rule.order} limit %(most)s for update of memory skip locked",
        parameters,
    )


def _archive(scope: Scope, ids: Sequence[int], waits: Sequence[int], *, now: datetime) -> None:
    """Archive memories.  waits: already archived ones, for example imported; their time in the archive starts now."""
    _update(scope, [*ids, *waits], "retention_status = 'archived', archive_at = %(now)s", now=now)
    _leave(scope, ids, "archived", now=now)


def _delete(scope: Scope, ids: Sequence[int], *, now: datetime) -> None:
    _update(
        scope,
        ids,
        "retention_status = 'soft_deleted', deletion_method = %(method)s, deleted_at = %(now)s, "
        "hard_delete_at = %(gone)s",
        now=now,
    )
    _leave(scope, ids, "soft_deleted", now=now)


def _update(scope: Scope, ids: Sequence[int], what: str, *, now: datetime) -> None:
    execute(
        f"update memories_memory set {what}, updated_at = %(now)s "  # noqa: S608  (fixed texts of ours)
        "where tenant_id = %(tenant)s and id = any(%(ids)s)",
        {"tenant": scope.tenant_id, "ids": list(ids), "now": now, "gone": now + GRACE, "method": METHOD},
    )


def _leave(scope: Scope, ids: Sequence[int], event: str, *, now: datetime) -> None:
    MemoryVector.objects.within(scope).filter(memory_id__in=ids).update(live=False)
    note_steps(scope, ids, event, now=now)


def _note(
    scope: Scope, run: RetentionRun, rule: Rule, action: AuditAction, column: str, count: int, *, now: datetime
) -> None:
    _keep(scope, run, column, count)
    if count:
        record(
            scope,
            actor=scope.principal.label,
            action=action,
            target=f"run:{run.pk}",
            reason=str(rule)[:64],
            count=count,
            now=now,
        )


def _tier_batch(scope: Scope, *, now: datetime) -> int:
    touched = "greatest(created_at, last_accessed_at)"
    parameters: dict[str, Any] = {
        "tenant": scope.tenant_id, "warm": now - WARM_AFTER, "cold": now - COLD_AFTER, "most": settings.RETENTION_BATCH,
    }  # fmt: skip
    with tenant_transaction(scope):
        return execute(
            f"with due as (select id, case when {touched} <= %(cold)s then 'cold' when {touched} <= %(warm)s "  # noqa: S608  (fixed texts of ours)
            "then 'warm' else 'hot' end as fits from memories_memory where tenant_id = %(tenant)s "
            "and retention_status in ('active', 'archived') and ("
            f"({touched} <= %(cold)s and tier <> 'cold') "
            f"or ({touched} <= %(warm)s and {touched} > %(cold)s and tier = 'hot') "
            # A memory created with a lower tier keeps it until it is recalled.
            "or (last_accessed_at > %(warm)s and tier <> 'hot')) "
            "order by id limit %(most)s for no key update skip locked) "
            "update memories_memory memory set tier = due.fits from due "
            "where memory.tenant_id = %(tenant)s and memory.id = due.id and memory.tier <> due.fits",
            parameters,
        )
