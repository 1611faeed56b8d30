"""Leases on outbox events: no worker holds a row lock while it works, and no worker waits for another one.

    claim      store token, expiry and connection in one short transaction, and count the attempt
    finish     delete the events by token, in the transaction of the work: both commit, or neither does
    put_back   the work failed: retry with increasing delays
    lose       the work ran out of time; ``reclaim`` finds events whose worker was killed

An event that was requested again while a worker ran it is not deleted, and runs once more.  An event that ended its
worker is claimed alone from then on, so that other events are not affected.  The third time it is set aside: it is then
retried once a day, and when an operator requests it.
"""

import logging
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from apps.core.queries import fetch_all, fetch_column, fetch_value
from apps.outbox.models import OutboxEvent

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=30)  # longer than the hard time limit of tasks that work with leases
MOST_LOST: Final = 3
SET_ASIDE: Final = timedelta(days=1)
FIRST_RETRY: Final = timedelta(seconds=5)
LAST_RETRY: Final = timedelta(minutes=15)
WORKER_LOST, OUT_OF_TIME = "worker_lost", "out_of_time"  # in place of an error
FREE: Final = {"token": None, "leased_until": None, "holder": None, "asked_again": 0}

# Tenants with due work of these kinds.  Skips from tenant to tenant in the index, whatever the number of rows.
_TURNS: Final = """
with recursive turns (kind, tenant_id) as (
    select wanted.kind, first.tenant_id from unnest(%(kinds)s::text[]) wanted (kind) cross join lateral (
        select tenant_id from outbox_outboxevent work where work.kind = wanted.kind order by tenant_id limit 1) first
    union all
    select turns.kind, next.tenant_id from turns cross join lateral (
        select tenant_id from outbox_outboxevent work
        where work.kind = turns.kind and work.tenant_id > turns.tenant_id order by tenant_id limit 1) next
)
select tenant_id, kind from turns where exists (
    select from outbox_outboxevent work
    where work.kind = turns.kind and work.tenant_id = turns.tenant_id and work.run_after <= %(now)s
      and work.token is null)
order by tenant_id, kind
"""
# A killed worker has no connection any more.  A hanging worker keeps it, so its lease must expire.
_LOST: Final = """
select id from outbox_outboxevent work where token is not null and kind = any(%s) and (leased_until <= %s or
    holder is not null and not exists (select from pg_stat_activity server where server.pid = work.holder))
order by id for update skip locked
"""


class LeaseLost(Exception):
    """Another worker has the lease by now, or the event is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease on events of one kind and one tenant.

    subject_ids: ascending.  lost: how many workers the event has ended; if any, it is the only one in the lease.
    reason: why the last worker ended, or the last error.  position: progress of the first event.
    """

    token: uuid.UUID
    tenant_id: int
    kind: str
    subject_ids: Sequence[int]
    lost: int
    reason: str
    position: int


def turns(kinds: Iterable[str], *, now: datetime) -> list[tuple[int, str]]:
    """Return each (tenant id, kind) with due work, in order."""
    return fetch_all(_TURNS, {"kinds": list(kinds), "now": now})


def claim(tenant_id: int, kind: str, *, most: int, now: datetime) -> Lease | None:
    """Lease due events, the longest waiting first; None if no unleased event is due."""
    with transaction.atomic():
        due = OutboxEvent.objects.select_for_update(skip_locked=True).filter(
            kind=kind, tenant_id=tenant_id, run_after__lte=now, token=None
        )
        rows = list(due.order_by("run_after", "pk")[:most])
        if not rows:
            return None
        chosen = rows[:1] if rows[0].lost else [row for row in rows if not row.lost]
        token = uuid.uuid4()
        OutboxEvent.objects.filter(pk__in=[row.pk for row in chosen]).update(
            token=token, leased_until=now + LEASE, holder=_connection(), asked_again=0, attempts=F("attempts") + 1
        )
    first = min(chosen, key=lambda row: row.subject_id)
    return Lease(
        token=token,
        tenant_id=tenant_id,
        kind=kind,
        subject_ids=sorted(row.subject_id for row in chosen),
        lost=first.lost,
        reason=first.error,
        position=first.position,
    )


def finish(lease: Lease, subject_ids: Sequence[int]) -> None:
    """Delete finished events, except those requested again meanwhile.  Call it at the end of the work's transaction.

    Raises LeaseLost if another worker has one of the events: that rolls back the work, and the other worker does it.
    """
    rows = _leased(lease, subject_ids)
    if len(rows) != len(subject_ids):
        raise LeaseLost
    OutboxEvent.objects.filter(pk__in=[row.pk for row in rows if not row.asked_again]).delete()
    again = [row.pk for row in rows if row.asked_again]
    if again:
        OutboxEvent.objects.filter(pk__in=again).update(**FREE, attempts=0, lost=0, position=0, error="")


def move_on(lease: Lease, position: int, *, now: datetime) -> None:
    """Store the progress of a job and requeue it behind other due work.  No error if another worker has the lease."""
    with transaction.atomic():
        for row in _leased(lease, lease.subject_ids):
            # A job that was requested again starts from the beginning.
            at = 0 if row.asked_again else position
            mine = OutboxEvent.objects.filter(pk=row.pk)
            mine.update(**FREE, run_after=now, attempts=0, lost=0, position=at, error="")


def release(lease: Lease) -> None:
    """Return the events as if they had never been leased."""
    with transaction.atomic():
        pks = [row.pk for row in _leased(lease, lease.subject_ids)]
        OutboxEvent.objects.filter(pk__in=pks).update(**FREE, attempts=F("attempts") - 1)


def put_back(lease: Lease, subject_ids: Sequence[int], reason: str, *, now: datetime) -> None:
    """Schedule a retry of failed events with increasing delays.  An event requested again keeps its requested time."""
    with transaction.atomic():
        rows = _leased(lease, subject_ids)
        for row in rows:
            if not row.asked_again:
                row.run_after = now + min(LAST_RETRY, FIRST_RETRY * 2 ** min(row.attempts, 10))
            row.token, row.leased_until, row.holder, row.asked_again = None, None, None, 0
            row.error = reason[:64]
        OutboxEvent.objects.bulk_update(rows, ["run_after", "error", *FREE])
    logger.warning("work put back", extra={"kind": lease.kind, "count": len(rows), "error": reason})


def lose(lease: Lease, *, is_mended: bool = False, now: datetime) -> None:
    """End the lease on events that ran out of time.  is_mended: see ``reclaim``."""
    with transaction.atomic():
        _note_lost(_leased(lease, lease.subject_ids), OUT_OF_TIME, now=now, mended={lease.kind} if is_mended else ())


def reclaim(kinds: Iterable[str], *, mended: Collection[str] = (), now: datetime) -> None:
    """End the leases of workers that were killed or ran out of time, for events of these kinds.

    mended: the kinds that are never set aside, because their handler deals with events that end workers.
    """
    with transaction.atomic():
        pks = fetch_column(_LOST, [list(kinds), now])
        if not pks:
            return
        rows = list(OutboxEvent.objects.filter(pk__in=pks).order_by("pk"))
        late = [row for row in rows if row.leased_until is not None and row.leased_until <= now]
        _note_lost(late, OUT_OF_TIME, now=now, mended=mended)
        _note_lost([row for row in rows if row not in late], WORKER_LOST, now=now, mended=mended)


def _note_lost(rows: Sequence[OutboxEvent], reason: str, *, now: datetime, mended: Collection[str]) -> None:
    for row in rows:
        row.lost += 1
        row.error, row.run_after = reason, now
        row.token, row.leased_until, row.holder, row.asked_again = None, None, None, 0
        if row.lost >= MOST_LOST and row.kind not in mended:
            row.run_after = now + SET_ASIDE
            extra = {"tenant": row.tenant_id, "kind": row.kind, "outbox_id": row.pk, "error": reason}
            logger.error("work set aside", extra=extra)
    OutboxEvent.objects.bulk_update(rows, ["lost", "error", "run_after", *FREE])
    if rows:
        logger.warning("a worker was lost", extra={"kind": rows[0].kind, "count": len(rows), "error": reason})


def _leased(lease: Lease, subject_ids: Sequence[int]) -> list[OutboxEvent]:
    """Lock and return the events still held by this lease, in the lock order of ``enqueue``.  Needs a transaction."""
    mine: QuerySet[OutboxEvent] = OutboxEvent.objects.select_for_update().filter(
        token=lease.token, subject_id__in=list(subject_ids)
    )
    return list(mine.order_by("subject_id"))


def _connection() -> int | None:
    """Return the worker's database process id, to detect its death; None behind a pooler, where it may change."""
    if not settings.DATABASE_PREPARE:
        return None
    return int(fetch_value("select pg_backend_pid()"))
