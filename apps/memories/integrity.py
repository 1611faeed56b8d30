"""Rows that fail decryption: recorded in the audit, and quarantined until they decrypt again (``release``).

A reader has a read-only snapshot and must not wait, so it calls ``note``; noted rows are written together, at most a
second later, in a transaction of their own.  A writer calls ``quarantine`` in its own transaction.  The list and the
audit hold ids, codes and counts, never data, and callers are not shown the reason.
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
VECTOR: Final = "vector"  # listed by the memory's id
END_USER: Final = "end_user"
TRANSITION: Final = "transition"
FEEDBACK: Final = "feedback"

LOCK: Final = "integrity"  # per tenant; held while the list is changed
EVERY_SECONDS = 1.0


_lock = threading.Lock()
_waiting: dict[int, tuple[Scope, dict[tuple[str, int], Broken]]] = {}
_timer: threading.Timer | None = None


def note(
    scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str = MEMORY, now: datetime
) -> None:
    """Note that this row failed decryption.  Written within EVERY_SECONDS, even if the caller's transaction rolls back.

    A crash before that loses the note until the row is read again.
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
    """Write the noted rows now.  If that fails for a tenant, its notes are lost until the rows are read again."""
    for scope, rows in _take():
        try:
            with tenant_transaction(scope):
                quarantine(scope, rows.values())
        except Exception as error:  # noqa: BLE001  (no caller could catch it, and the next reading notes it again)
            logger.warning("broken seals were not noted", extra={"error": type(error).__name__})


def forget_all() -> None:
    """Drop the noted rows that are not written yet."""
    _take()


def quarantine(scope: Scope, rows: Iterable[Broken]) -> None:
    """Quarantine these rows and record each in the audit, at most once per clock minute.

    Inside the caller's tenant transaction, before its other audit records: all code takes these locks in this order.
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
    """Whether a new clock minute has begun since ``before``; this needs no coordination between processes."""
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
    """Reset a forked child: the timer runs only in the parent, and a thread of the parent may hold the lock."""
    global _lock, _timer
    _lock, _timer = threading.Lock(), None
    _waiting.clear()


def _flush_in_background() -> None:
    try:
        flush()
    finally:
        connections.close_all()


os.register_at_fork(after_in_child=_start_anew)
