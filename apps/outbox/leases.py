"""Leases of work in the outbox: no worker holds a row while it works, and none waits for one that does.

    claim      a token, until when, and by which connection, in one short transaction; the attempt is counted
    finish     crossed off by the token, in the transaction of the work: both are there, or neither is
    put_back   it failed: to be tried again, later each time
    lose       it ran out of time; ``reclaim`` finds those whose worker did not live to say so

What was asked for again while a worker was at it is not crossed off, and done once more.  What ends its worker is taken
alone from then on, so that its neighbours go through, and set aside the third time: once among others, twice alone, or
thrice alone.  Set aside is not given up: it is tried once a day, and when an operator asks for it.
"""

import logging
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet

from apps.outbox.models import OutboxEvent

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=30)  # longer than a task may take (CELERY_TASK_TIME_LIMIT of who works by leases)
MOST_LOST: Final = 3
SET_ASIDE: Final = timedelta(days=1)
FIRST_RETRY: Final = timedelta(seconds=5)
LAST_RETRY: Final = timedelta(minutes=15)
WORKER_LOST, OUT_OF_TIME = "worker_lost", "out_of_time"  # in place of an error
FREE: Final = {"token": None, "leased_until": None, "holder": None, "asked_again": 0}

# Which tenants have due work of these kinds.  From one to the next along the index, however many rows lie between.
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
# A worker that was killed has no connection any more; one that hangs has, until its lease runs out.
_LOST: Final = """
select id from outbox_outboxevent work where token is not null and kind = any(%s) and (leased_until <= %s or
    holder is not null and not exists (select from pg_stat_activity server where server.pid = work.holder))
order by id for update skip locked
"""


class LeaseLost(Exception):
    """Another worker has the work by now, or it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Pieces of one kind of one tenant, ascending.  lost: how many workers they have ended; then there is one piece.
    reason: why the last of them ended, or how it failed before.  position: of the first, how far it is."""

    token: uuid.UUID
    tenant_id: int
    kind: str
    subject_ids: Sequence[int]
    lost: int
    reason: str
    position: int


def turns(kinds: Iterable[str], *, now: datetime) -> list[tuple[int, str]]:
    """Every tenant and kind of which work is due, in order."""
    with connection.cursor() as cursor:
        cursor.execute(_TURNS, {"kinds": list(kinds), "now": now})
        return [(tenant_id, kind) for tenant_id, kind in cursor.fetchall()]


def claim(tenant_id: int, kind: str, *, most: int, now: datetime) -> Lease | None:
    """Take due work, those first that wait longest; None where there is none that others have not taken."""
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
    """Cross off what is done, but for what was asked for again meanwhile.  At the end of the transaction of the work.

    Raises LeaseLost where another worker has one: the work is undone with the transaction, as that worker does it.
    """
    rows = _leased(lease, subject_ids)
    if len(rows) != len(subject_ids):
        raise LeaseLost
    OutboxEvent.objects.filter(pk__in=[row.pk for row in rows if not row.asked_again]).delete()
    again = [row.pk for row in rows if row.asked_again]
    if again:
        OutboxEvent.objects.filter(pk__in=again).update(**FREE, attempts=0, lost=0, position=0, error="")


def move_on(lease: Lease, position: int, *, now: datetime) -> None:
    """Part of it is done: the rest is behind what else is due.  No error where another worker has it by now."""
    with transaction.atomic():
        for row in _leased(lease, lease.subject_ids):
            # What was asked for again begins again.
            at = 0 if row.asked_again else position
            mine = OutboxEvent.objects.filter(pk=row.pk)
            mine.update(**FREE, run_after=now, attempts=0, lost=0, position=at, error="")


def release(lease: Lease) -> None:
    """As if it had never been taken."""
    with transaction.atomic():
        pks = [row.pk for row in _leased(lease, lease.subject_ids)]
        OutboxEvent.objects.filter(pk__in=pks).update(**FREE, attempts=F("attempts") - 1)


def put_back(lease: Lease, subject_ids: Sequence[int], reason: str, *, now: datetime) -> None:
    """To be tried again, later each time; what was asked for again meanwhile, when that says."""
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
    """What is left of it took too long.  is_mended: see ``reclaim``."""
    with transaction.atomic():
        _note_lost(_leased(lease, lease.subject_ids), OUT_OF_TIME, now=now, mended={lease.kind} if is_mended else ())


def reclaim(kinds: Iterable[str], *, mended: Collection[str] = (), now: datetime) -> None:
    """End the leases of workers that were killed or took too long at work of these kinds.

    mended: those of them that are not set aside, as their handler deals with what ends workers.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_LOST, [list(kinds), now])
            pks = [pk for (pk,) in cursor.fetchall()]
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
    """Those that are still ours, locked in the order in which they are asked for.  Inside a transaction."""
    mine: QuerySet[OutboxEvent] = OutboxEvent.objects.select_for_update().filter(
        token=lease.token, subject_id__in=list(subject_ids)
    )
    return list(mine.order_by("subject_id"))


def _connection() -> int | None:
    """By which the worker is known to live; behind a pooler it could be another's at any time."""
    if not settings.DATABASE_PREPARE:
        return None
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        row = cursor.fetchone()
    return int(row[0]) if row else None
