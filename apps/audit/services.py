"""Recording audit events in the caller's transaction, so that change and event are committed together."""

from datetime import datetime
from importlib.metadata import version
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.origin import current
from apps.core.queries import execute
from apps.core.scoping import InTenant

CODE_VERSION: Final = version("memsync")[:32]


def record(
    scope: InTenant | None,
    *,
    actor: str,
    action: AuditAction,
    target: str = "",
    outcome: str = "ok",
    reason: str = "",
    request_id: str = "",
    network: str = "",
    count: int = 1,
    now: datetime,
) -> None:
    """Append one audit row.  Ids, codes and counts only; never content.  scope: None if no tenant is known yet.

    Call it in the tenant's transaction: the row is numbered and chained when that commits.  request_id, network: by
    default those of the current request.
    """
    origin = current()
    execute(
        "select audit_record(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            scope.tenant_id if scope else None,
            now,
            actor,
            action,
            target,
            outcome,
            reason,
            request_id or origin.request_id,
            count,
            network or origin.network,
            CODE_VERSION,
        ],
        prepared=True,
    )
