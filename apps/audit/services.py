"""Recording what happened, in the caller's transaction, so that neither exists without the other."""

from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.leases import MOST_LOST
from apps.audit.models import OutboxEvent
from apps.audit.origin import current
from apps.core.prepared_sql import prepared_cursor
from apps.core.scoping import InTenant, tenant_transaction

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
    """Append one audit row.  Ids, codes and counts only; never content.  scope None: no tenant is known yet.

    In the tenant's own transaction, which numbers and chains the row as it commits.  request_id and network: those of
    the request being served, unless given.
    """
    origin = current()
    with prepared_cursor() as cursor:
        cursor.execute(
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
        )


def try_again(scope: InTenant, event_id: int, *, actor: str, now: datetime) -> bool:
    """Have work that failed be tried now, as if for the first time.  False where it is done, or a worker is at it."""
    with tenant_transaction(scope):
        mine = OutboxEvent.objects.filter(tenant_id=scope.tenant_id, pk=event_id)
        work = mine.filter(token=None).exclude(error="").select_for_update().first()
        if work is None:
            return False
        work.run_after, work.attempts, work.lost, work.error = now, 0, 0, ""
        work.save(update_fields=["run_after", "attempts", "lost", "error"])
        record(scope, actor=actor, action=AuditAction.OUTBOX_REPLAY, target=f"{work.kind}:{work.subject_id}", now=now)
    return True


def enqueue(
    scope: InTenant, kind: str, subject_ids: list[int], *, now: datetime, after: timedelta = timedelta(0)
) -> None:
    """Ask for work on each subject once this transaction commits.  Work already waiting is not asked for twice.

    after: not before that long from now; work that waits already is not put off, and what was set aside stays there.

    Work that is being done may have read what this transaction changes: it is counted as asked for again, and done once
    more.  It waits for no one but others who ask.
    """
    with prepared_cursor() as cursor:
        cursor.execute(
            "insert into audit_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error) "
            "select %s::bigint, %s::text, subject, %s::timestamptz, %s::timestamptz, 0, '' "
            "from unnest(%s::bigint[]) as subject order by subject "
            "on conflict (tenant_id, kind, subject_id) "
            "do update set asked_again = audit_outboxevent.asked_again + (audit_outboxevent.token is not null)::int, "
            "run_after = case when audit_outboxevent.lost >= %s then audit_outboxevent.run_after "
            "when audit_outboxevent.token is not null and audit_outboxevent.asked_again = 0 then excluded.run_after "
            "else least(audit_outboxevent.run_after, excluded.run_after) end",
            [scope.tenant_id, kind, now + after, now, subject_ids, MOST_LOST],
        )
