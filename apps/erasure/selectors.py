"""Queries for a tenant's erasures and their receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.erasure import receipt_log
from apps.erasure.models import Erasure, ErasureState, TargetKind
from apps.erasure.receipt_log import DATA_BACKUPS_LAST, ReceiptFile, erasure_id
from apps.erasure.targets import ErasureTargetNotFound
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An erasure as its tenant may see it.

    id: ``ers_`` and 32 hex digits.  backups_expire_at: when the last backup with the data expires.
    """

    id: str
    kind: TargetKind
    state: ErasureState
    environment: str
    counts: Mapping[str, int]
    target: Mapping[str, Any]
    requested_at: datetime
    deleted_at: datetime | None
    purged_at: datetime | None
    backups_expire_at: datetime | None
    finished_at: datetime | None
    receipts: Sequence[ReceiptFile] = ()


def list_erasures(scope: Scope, *, limit: int = 100) -> list[Erased]:
    """Return the tenant's erasures, newest first, without their receipts."""
    rows = Erasure.objects.filter(tenant_uid=scope.tenant.uid).order_by("-requested_at", "uid")
    return [_erased(row) for row in rows[:limit]]


def get_erasure(scope: Scope, public_id: str) -> Erased:
    """Return one erasure of the tenant, with its receipts.  Raises ErasureTargetNotFound."""
    uid = receipt_log.uid_of(public_id, "ers_")
    row = Erasure.objects.filter(tenant_uid=scope.tenant.uid, uid=uid).first() if uid else None
    if row is None:
        raise ErasureTargetNotFound
    return _erased(row, receipt_log.receipts_of_erasure(scope, row.uid))


def _erased(row: Erasure, receipts: Sequence[ReceiptFile] = ()) -> Erased:
    return Erased(
        id=erasure_id(row.uid),
        kind=TargetKind(row.kind),
        state=ErasureState(row.state),
        environment=row.environment,
        counts=row.counts,
        target=row.target,
        requested_at=row.requested_at,
        deleted_at=row.deleted_at,
        purged_at=row.purged_at,
        backups_expire_at=row.deleted_at + DATA_BACKUPS_LAST if row.deleted_at else None,
        finished_at=row.finished_at,
        receipts=receipts,
    )
