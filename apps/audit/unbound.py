"""Filters out rows whose hash is not valid (``apps.core.bound``), and records them in the audit log."""

import logging
import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypeVar

from django.db import DatabaseError, transaction

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.bound import BoundModel
from apps.core.clock import database_time
from apps.core.scoping import InTenant

logger = logging.getLogger(__name__)

Row = TypeVar("Row", bound=BoundModel)
MOST_KEPT: Final = 10_000  # reported rows per process: a table of forged rows must not fill its memory

_told: set[tuple[str, int, bytes]] = set()
_lock = threading.Lock()


def only_bound(rows: Iterable[Row], scope: InTenant | None = None) -> list[Row]:
    """Return the rows with a valid hash.  Each process reports every other row once, in the audit log and its own log.

    scope: the tenant whose audit log is used, inside its transaction; None for the deployment's.  Raises the keyring's
    errors when it is unavailable.
    """
    kept = []
    for row in rows:
        if row.is_bound():
            kept.append(row)
        else:
            _tell(row, scope, now=database_time())
    return kept


def _tell(row: BoundModel, scope: InTenant | None, *, now: datetime) -> None:
    name = row.bound_as, row.pk, bytes(row.row_mac or b"")
    with _lock:
        if name in _told or len(_told) >= MOST_KEPT:
            return
        _told.add(name)
    target = f"{row.bound_as}:{row.pk}"
    logger.error("a row is not what the service wrote", extra={"action": "integrity", "key_id": row.pk})
    try:
        with transaction.atomic():
            record(
                scope, actor="system:0", action=AuditAction.INTEGRITY_FAILED, target=target, outcome="failed",
                reason="row_mac", now=now,
            )  # fmt: skip
    except DatabaseError:
        # A snapshot transaction is read-only: the next reader outside of one reports the row.
        with _lock:
            _told.discard(name)


def forget_all() -> None:
    """Forget which rows this process has reported."""
    with _lock:
        _told.clear()
