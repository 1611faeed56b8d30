"""Rows that do not say what the service wrote there (``apps.core.bound``): left out, and noted in the audit trail."""

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
MOST_KEPT: Final = 10_000  # names of rows that this process reported: a table of forged ones must not fill its memory

_told: set[tuple[str, int, bytes]] = set()
_lock = threading.Lock()


def only_bound(rows: Iterable[Row], scope: InTenant | None = None) -> list[Row]:
    """Those of these rows that say what the service wrote.  Each other is recorded in the audit trail, once by each
    process, and in its log.  Raises what the keyring raises when it is away.

    scope: whose trail; in the tenant's transaction.  None: the deployment's.
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
        # In a snapshot nothing may be written: the next reader outside of one reports it.
        with _lock:
            _told.discard(name)


def forget_all() -> None:
    """Which rows this process reported."""
    with _lock:
        _told.clear()
