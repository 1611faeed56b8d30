"""The outbox's other end: taking work out, doing it inside its tenant, and crossing it off, in one transaction."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from apps.adapters.errors import AdapterError
from apps.adapters.registry import get_embedder
from apps.audit.models import OutboxEvent
from apps.audit.services import enqueue
from apps.core.scoping import tenant_transaction
from apps.history.states import embed_items
from apps.memories.embedding import embed_memories
from apps.memories.models import Memory
from apps.memories.release import release
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope
from apps.summaries.services import tend_clusters, tend_summaries

logger = logging.getLogger(__name__)

BATCH = 20
WEBHOOKS = "webhook."  # kinds whose other end is ``apps.webhooks``; of every other this is the one
FIRST_RETRY = timedelta(seconds=5)
LAST_RETRY = timedelta(minutes=15)


def drain(*, now: datetime) -> int:
    """Do one batch of due work; how many pieces were taken.

    The rows stay locked while the work is done and go in the same transaction that it commits in: a worker killed in
    the middle leaves everything as it was, and two workers never take the same piece.
    """
    with transaction.atomic():
        due = list(
            OutboxEvent.objects.select_for_update(skip_locked=True)
            .filter(run_after__lte=now)
            .exclude(kind__startswith=WEBHOOKS)
            .order_by("run_after", "pk")[:BATCH]
        )
        groups: dict[tuple[int, str], list[OutboxEvent]] = {}
        for event in due:
            groups.setdefault((event.tenant_id, event.kind), []).append(event)
        # By tenant: what their work locks, workers that take several tenants at once lock in one order.
        for (tenant_id, kind), events in sorted(groups.items(), key=lambda group: group[0]):
            _do(tenant_id, kind, events, now=now)
        return len(due)


def _do(tenant_id: int, kind: str, events: list[OutboxEvent], *, now: datetime) -> None:
    scope = find_system_scope(tenant_id)
    try:
        if scope is not None:
            with tenant_transaction(scope):
                KINDS[kind](scope, [event.subject_id for event in events], now)
    except Exception as error:  # noqa: BLE001  (whatever it is: one piece must not hold up what stands behind it)
        is_down = isinstance(error, AdapterError) and not error.permanent  # the outside failed, not the work
        if is_down or len(events) == 1:
            _put_back(events, error, now=now)
            return
        # In the order in which everybody locks memories.
        for event in sorted(events, key=lambda event: event.subject_id):
            _do(tenant_id, kind, [event], now=now)
    else:
        OutboxEvent.objects.filter(pk__in=[event.pk for event in events]).delete()


def _put_back(events: list[OutboxEvent], error: Exception, *, now: datetime) -> None:
    """To be tried again, later each time."""
    reason = type(error).__name__
    if isinstance(error, AdapterError):
        reason = "permanent" if error.permanent else "temporary"
    for event in events:
        event.attempts += 1
        event.run_after = now + min(LAST_RETRY, FIRST_RETRY * 2 ** min(event.attempts, 10))
        event.error = reason[:64]
    OutboxEvent.objects.bulk_update(events, ["attempts", "run_after", "error"])
    extra = {"kind": events[0].kind, "count": len(events), "error": type(error).__name__}
    logger.warning("work put back", extra=extra)


def _embed(scope: Scope, memory_ids: list[int], now: datetime) -> None:
    embed_memories(scope, memory_ids, get_embedder(), now=now)


def _embed_state(scope: Scope, state_ids: list[int], now: datetime) -> None:
    embed_items(scope, state_ids, get_embedder(), now=now)


def _refresh(scope: Scope, space_ids: list[int], now: datetime) -> None:
    """Ask for every memory of the spaces to be embedded again; the embedding itself follows in batches."""
    ids = Memory.objects.within_tenant(scope).live(now).filter(space_id__in=space_ids).values_list("pk", flat=True)
    enqueue(scope, "embed", list(ids), now=now)


def _look_again(scope: Scope, row_ids: list[int], now: datetime) -> None:
    release(scope, row_ids, now=now)


def _summarize(scope: Scope, cluster_ids: list[int], now: datetime) -> None:
    tend_clusters(scope, cluster_ids, now=now)


def _resummarize(scope: Scope, summary_ids: list[int], now: datetime) -> None:
    tend_summaries(scope, summary_ids, now=now)


KINDS: dict[str, Callable[[Scope, list[int], datetime], None]] = {
    "embed": _embed,
    "embed_state": _embed_state,
    "look_again": _look_again,
    "refresh": _refresh,
    "resummarize": _resummarize,
    "summarize": _summarize,
}
