"""Rows that fail their seal: recorded in the audit, and kept in a list until they open again (``release``).

A reader has a snapshot in which nothing may be written, and an answer that waits for nothing.  So it says ``note``, and
what was noted is written together, at most a second later, in a transaction of its own.  Who is writing anyway says
``quarantine``.  The list and the audit hold ids, codes and counts: never what was read, and no caller is shown why.
"""

import logging
import os
import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import connections

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.locks import lock
from apps.core.scoping import tenant_transaction
from apps.crypto.encrypted_tables import Broken as Broken
from apps.crypto.services import DecryptError
from apps.memories.models import QuarantinedRow
from apps.projects.scope import Scope

logger = logging.getLogger(__name__)

MEMORY: Final = "memory"
VECTOR: Final = "vector"  # by the memory's id
END_USER: Final = "end_user"
TRANSITION: Final = "transition"
FEEDBACK: Final = "feedback"

LOCK: Final = "integrity"  # of a tenant: held while the list is changed
EVERY_SECONDS = 1.0


_lock = threading.Lock()
_waiting: dict[int, tuple[Scope, dict[tuple[str, int], Broken]]] = {}
_timer: threading.Timer | None = None


def note(
    scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str = MEMORY, now: datetime
) -> None:
    """Remember that this row did not open.  Written within EVERY_SECONDS, even if the caller's transaction rolls back.

    A crash before that loses it, until the row is read again.
    """
    global _timer
    broken = Broken(table=table, record_id=record_id, space_id=space_id, reason=error.reason, seen_at=now)
    with _lock:
        _, rows = _waiting.setdefault(scope.tenant_id, (scope, {}))
        rows[broken.name] = _merged(rows.get(broken.name), broken)
        if _timer is None:
            _timer = threading.Timer(EVERY_SECONDS, _flush_in_background)
            _timer.daemon = True
            _timer.start()


def flush() -> None:
    """Write what was noted, now.  What cannot be written of one tenant is lost until it is read again."""
    for scope, rows in _take():
        try:
            with tenant_transaction(scope):
                quarantine(scope, rows.values())
        except Exception as error:  # noqa: BLE001  (no caller could catch it, and the next reading notes it again)
            logger.warning("broken seals were not noted", extra={"error": type(error).__name__})


def forget_all() -> None:
    """Drop what was noted and is not written."""
    _take()


def quarantine(scope: Scope, rows: Iterable[Broken]) -> None:
    """List these rows and record each in the audit, at most once in a minute of the clock.

    Inside the caller's tenant transaction, before it records anything else: everybody takes these locks in this order.
    """
    found = sorted(rows, key=lambda row: row.name)
    lock(LOCK, scope.tenant_id)
    listed = QuarantinedRow.objects.within(scope).filter(record_id__in={row.record_id for row in found})
    known = {(row.table, row.record_id): row for row in listed}
    told = [row for row in found if row.name not in known or _is_due(known[row.name].last_seen_at, row.seen_at)]
    again = [_seen_again(known[row.name], row) for row in found if row.name in known]
    QuarantinedRow.objects.within(scope).bulk_update(again, ["times", "reason", "last_seen_at"])
    QuarantinedRow.objects.bulk_create(scope, (_listed(row) for row in found if row.name not in known))
    for row in told:
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.INTEGRITY_FAILED,
            target=f"{row.table}:{row.record_id}",
            outcome="failed",
            reason=row.reason,
            count=row.times,
            now=row.seen_at,
        )
    if told:
        logger.error("rows failed their seals", extra={"action": "integrity", "count": len(told)})


def _listed(row: Broken) -> QuarantinedRow:
    return QuarantinedRow(
        table=row.table,
        record_id=row.record_id,
        space_id=row.space_id,
        reason=row.reason,
        times=row.times,
        created_at=row.seen_at,
        last_seen_at=row.seen_at,
    )


def _seen_again(known: QuarantinedRow, row: Broken) -> QuarantinedRow:
    known.times += row.times
    known.reason = row.reason
    known.last_seen_at = max(known.last_seen_at, row.seen_at)
    return known


def _is_due(before: datetime, now: datetime) -> bool:
    """Whether a minute of the clock has begun since.  No process needs to know when another told the audit."""
    return now > before and now.replace(second=0, microsecond=0) != before.replace(second=0, microsecond=0)


def _merged(before: Broken | None, row: Broken) -> Broken:
    if before is None:
        return row
    return Broken(
        table=row.table,
        record_id=row.record_id,
        space_id=row.space_id,
        reason=row.reason,
        seen_at=max(before.seen_at, row.seen_at),
        times=before.times + row.times,
    )


def _take() -> list[tuple[Scope, dict[tuple[str, int], Broken]]]:
    global _timer
    with _lock:
        taken = list(_waiting.values())
        _waiting.clear()
        if _timer is not None:
            _timer.cancel()
            _timer = None
    return taken


def _start_anew() -> None:
    """In a forked child: the timer runs in the parent only, and the lock may be held by a thread that is not here."""
    global _lock, _timer
    _lock, _timer = threading.Lock(), None
    _waiting.clear()


def _flush_in_background() -> None:
    try:
        flush()
    finally:
        connections.close_all()


os.register_at_fork(after_in_child=_start_anew)
