"""Request background work in the transaction that needs it."""

from datetime import datetime, timedelta

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import execute
from apps.core.scoping import InTenant, tenant_transaction
from apps.outbox.leases import MOST_LOST
from apps.outbox.models import OutboxEvent


def try_again(scope: InTenant, event_id: int, *, actor: str, now: datetime) -> bool:
    """Retry failed work now, with its counters reset.  Return False if it is done or a worker is running it."""
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
    """Request work on each subject, to run after this transaction commits.  Waiting events are not duplicated.

    after: minimum delay.  It does not postpone waiting events, and events that were set aside stay so.

    If a worker already runs an event, the event is counted as requested again and runs once more, because the worker
    may have read the rows before this transaction changed them.  This call waits only for other callers of it.
    """
    execute(
        "insert into outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error) "
        "select %s::bigint, %s::text, subject, %s::timestamptz, %s::timestamptz, 0, '' "
        "from unnest(%s::bigint[]) as subject order by subject "
        "on conflict (tenant_id, kind, subject_id) "
        "do update set asked_again = outbox_outboxevent.asked_again + (outbox_outboxevent.token is not null)::int, "
        "run_after = case when outbox_outboxevent.lost >= %s then outbox_outboxevent.run_after "
        "when outbox_outboxevent.token is not null and outbox_outboxevent.asked_again = 0 then excluded.run_after "
        "else least(outbox_outboxevent.run_after, excluded.run_after) end",
        [scope.tenant_id, kind, now + after, now, subject_ids, MOST_LOST],
        prepared=True,
    )
