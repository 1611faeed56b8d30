"""Replay of the erasure ledger, after a restore of the data and after an interrupted shredding.

A restored database again contains data that was erased after the backup.  It cannot be decrypted, because its salts
are destroyed, except single memories in spaces that still exist.  So the replay runs before any request is served.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, When

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.erasure import hard_delete, ledger
from apps.erasure.models import ErasedKind, Erasure, ErasureEntry, TargetKind
from apps.erasure.shredding import finish_space, finish_tenant, plan_tenant
from apps.history.models import HistoryTurn
from apps.memories.models import Memory
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import scope_in
from apps.tenants.models import Tenant


@dataclass(slots=True, kw_only=True)
class ReplayedErasures:
    """Counts of a replay.

    entries: all ledger entries.  tenants, spaces: found again and deleted.  memories: deleted in total.
    """

    entries: int = 0
    tenants: int = 0
    spaces: int = 0
    memories: int = 0


def resume(*, now: datetime) -> ReplayedErasures:
    """Erase everything in the ledger that still exists.  A second run finds nothing."""
    entries = ledger.entries()
    done = ReplayedErasures(entries=len(entries))
    by_tenant: dict[UUID, list[ErasureEntry]] = defaultdict(list)
    for entry in entries:
        by_tenant[entry.tenant_uid].append(entry)
    of_sessions = Erasure.objects.filter(kind=TargetKind.SESSION).values_list("tenant_uid", flat=True).distinct()
    for tenant in Tenant.objects.filter(uid__in={*by_tenant, *of_sessions}).order_by("pk"):
        _resume_tenant(tenant, by_tenant[tenant.uid], done, now=now)
    return done


def _resume_tenant(tenant: Tenant, entries: Sequence[ErasureEntry], done: ReplayedErasures, *, now: datetime) -> None:
    scope = scope_in(tenant)
    if any(entry.kind == ErasedKind.TENANT for entry in entries):
        if plan_tenant(tenant, most=1).rows:
            done.memories += finish_tenant(scope, now=now).memories
            done.tenants += 1
        return
    erased = [entry.target_uid for entry in entries if entry.kind == ErasedKind.SPACE and entry.target_uid]
    with tenant_transaction(scope):
        left = list(Space.objects.within(scope).filter(uid__in=erased).order_by("pk").values_list("uid", flat=True))
    for uid in left:
        done.memories += finish_space(scope, uid, now=now).memories
        done.spaces += 1
    _erase_turns(scope, now=now)
    done.memories += _erase_memories(scope, [one for one in entries if one.kind == ErasedKind.MEMORY], now=now)


def _erase_turns(scope: Scope, *, now: datetime) -> None:
    """Erase the turns of erased sessions again.  A turn that was stored after the erasure is another turn."""
    sessions = Erasure.objects.filter(tenant_uid=scope.tenant.uid, kind=TargetKind.SESSION)
    erased_at = {turn_id: one.requested_at for one in sessions for turn_id in one.target["turn_ids"]}
    with tenant_transaction(scope):
        rows = HistoryTurn.objects.within(scope).filter(pk__in=list(erased_at)).order_by("pk")
        there = [pk for pk, created_at in rows.values_list("pk", "created_at") if created_at <= erased_at[pk]]
    hard_delete.erase_turns(scope, there, now=now)


def _erase_memories(scope: Scope, entries: Sequence[ErasureEntry], *, now: datetime) -> int:
    """Erase these entries' memories again.  Ids are reused, so a row newer than ``erased_at`` is another memory."""
    erased_at = {entry.target_id: entry.erased_at for entry in entries if entry.target_id is not None}
    erasures = Erasure.objects.in_bulk({entry.erasure_uid for entry in entries if entry.erasure_uid})
    with_sources = {
        entry.target_id
        for entry in entries
        if entry.erasure_uid in erasures and erasures[entry.erasure_uid].with_sources
    }
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(pk__in=list(erased_at)).order_by("pk")
        # A copy has the time of what it is a copy of, and is as old as its branch.
        made = Case(When(copied_from=None, then=F("created_at")), default=F("space__created_at"))
        there = [pk for pk, made_at in rows.values_list("pk", made) if made_at <= erased_at[pk]]
    count = hard_delete.erase(scope, [one for one in there if one in with_sources], with_sources=True, now=now)
    count += hard_delete.erase(scope, [one for one in there if one not in with_sources], with_sources=False, now=now)
    if count:
        with tenant_transaction(scope):
            record(scope, actor=scope.principal.label, action=AuditAction.MEMORY_ERASE_AGAIN, count=count, now=now)
    return count
