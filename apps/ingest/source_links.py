"""Links from memories to the turns and state items they come from, so that they can be retired with their source."""

from collections.abc import Sequence
from datetime import datetime

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import STORED, Outcome
from apps.ingest.models import DerivedFact, ReviewItem, ReviewState
from apps.memories.models import Memory
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.summaries.storage import SUMMARIZE_SESSION, withdraw
from apps.tenants.models import KeyDeletes, Tenant


def link(scope: Scope, source_id: int, outcome: Outcome, *, now: datetime) -> None:
    """Link a source to the memories created from it or matched, and to its pending candidates.

    Call inside the tenant's transaction.
    """
    DerivedFact.objects.bulk_create(
        scope,
        [
            DerivedFact(
                space_id=scope.space.id,
                source_id=source_id,
                memory_id=made.memory_id,
                is_origin=made.decision in STORED,
                created_at=now,
            )
            for made in outcome.decisions
            if made.memory_id is not None
        ],
        ignore_conflicts=True,
    )
    waiting = ReviewItem.objects.within(scope).filter(space_id=scope.space.id, pk__in=outcome.review_ids)
    if outcome.review_ids:
        waiting.filter(source_id=None).update(source_id=source_id)


def sources_of(scope: Scope, memory_id: int) -> list[int]:
    """The ids of the turns and state items that say what this memory of the scope's space says, in order.

    Inside the tenant's transaction.
    """
    links = DerivedFact.objects.within(scope).filter(space_id=scope.space.id, memory_id=memory_id)
    return list(links.order_by("source_id").values_list("source_id", flat=True))


def unlink(scope: Scope, source_ids: Sequence[int], *, with_facts: bool, now: datetime) -> list[int]:
    """Delete the links of these deleted sources; return the ids of the memories retired with them, ascending.

    with_facts: retire the memories created from these sources, if ``may_retire`` allows it.  A memory that another
    source also says stays, and that source becomes its origin.  Pending candidates of these sources are always deleted,
    and summaries that cover them withdrawn.
    """
    with tenant_transaction(scope):
        withdraw_covering(scope, source_ids, now=now)
        mine = ReviewItem.objects.within(scope).filter(space_id=scope.space.id, source_id__in=list(source_ids))
        mine.filter(state=ReviewState.PENDING).delete()
        mine.filter(undo_until__isnull=False).update(content_ct=None, undo_until=None)
        links = DerivedFact.objects.within(scope).filter(space_id=scope.space.id)
        gone = list(links.filter(source_id__in=list(source_ids)).order_by("memory_id", "pk"))
        links.filter(pk__in=[one.pk for one in gone]).delete()
        made = {one.memory_id for one in gone if one.is_origin}
        left = set(links.filter(memory_id__in=made).values_list("memory_id", flat=True))
        _hand_on(scope, left)
        return retire(scope, made - left, now=now) if with_facts and may_retire(scope) else []


def withdraw_covering(scope: Scope, turn_ids: Sequence[int], *, now: datetime) -> None:
    """Withdraw the summaries that cover these deleted turns, and ask for new ones.  In the transaction of the deletion.

    Whether the turns' other memories stay is another matter: a summary quotes the turns themselves.
    """
    ids = covering(scope, turn_ids)
    if not ids:
        return
    space, cipher = lock_space(scope)
    there = Memory.objects.within(scope).filter(pk__in=ids, retention_status="active").order_by("pk")
    rows = list(there.select_for_update(no_key=True))
    withdraw(scope, space, cipher, rows, now=now)
    DerivedFact.objects.within(scope).filter(space_id=space.pk, memory_id__in=ids).delete()
    enqueue(scope, SUMMARIZE_SESSION, [row.pk for row in rows if row.is_live()], now=now)


def covering(scope: Scope, turn_ids: Sequence[int]) -> list[int]:
    """The ids of the summaries that cover any of these turns.  Inside the tenant's transaction."""
    links = DerivedFact.objects.within(scope).filter(source_id__in=list(turn_ids), memory__is_summary=True)
    return sorted(set(links.values_list("memory_id", flat=True)))


def may_retire(scope: Scope) -> bool:
    """Whether the tenant's policy and the key's permissions let the scope's key retire memories."""
    policy = Tenant.objects.values_list("key_deletes", flat=True).get(pk=scope.tenant_id)
    return policy == KeyDeletes.RETIRE and "memory:delete" in scope.permissions


def retire(scope: Scope, memory_ids: set[int], *, now: datetime) -> list[int]:
    """Soft-delete these memories, except those on legal hold; returns the ids, ascending.

    Inside the tenant's transaction, for a caller who may delete.
    """
    space, cipher = lock_space(scope)
    mine = Memory.objects.within(scope).existing(now).filter(pk__in=memory_ids, legal_hold=False)
    rows = list(mine.order_by("pk").select_for_update(no_key=True))
    soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=now)
    if rows:
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.MEMORY_FORGET,
            target=f"space:{space.pk}",
            reason="derived",
            count=len(rows),
            now=now,
        )
    return [row.pk for row in rows]


def _hand_on(scope: Scope, memory_ids: set[int]) -> None:
    """Make the first remaining source of each memory its origin."""
    execute(
        "update ingest_derivedfact set is_origin = true where tenant_id = %s and id in ("
        "select min(id) from ingest_derivedfact where tenant_id = %s and memory_id = any(%s) group by memory_id)",
        [scope.tenant_id, scope.tenant_id, sorted(memory_ids)],
    )
