"""Legal holds: data under a hold is not deleted, despite policies and requests, until the hold is lifted.

Each memory stores whether it is held (``legal_hold``), so every kind of deletion can filter by it.  Memories created
under an existing hold are marked at the start of each retention run, before anything is permanently deleted.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid, NotFound
from apps.core.locks import lock
from apps.core.queries import execute, fetch_column
from apps.core.scoping import tenant_transaction
from apps.erasure.models import Hold
from apps.memories.models import Memory
from apps.policies.models import Level
from apps.projects.models import Project, Space
from apps.projects.scope import Scope

CASE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}", re.ASCII)
BATCH: Final = 2_000

# Whether ``hold`` covers ``memory``.  A hold on a space covers its branches.  Parameters: branches, and their origins.
_ORIGINS: Final = (
    "select origin_id from unnest(%(branches)s::bigint[], %(origins)s::bigint[]) pair(branch_id, origin_id)"
)
_FOR: Final = f"""(hold.level = 'tenant' or hold.project_id = memory.project_id or hold.space_id = memory.space_id
    or hold.memory_id = memory.id or hold.space_id in ({_ORIGINS} where branch_id = memory.space_id))"""
_MARK: Final = f"""update memories_memory set legal_hold = true where tenant_id = %(tenant)s and id in (
    select memory.id from memories_memory memory where memory.tenant_id = %(tenant)s and not memory.legal_hold
      and exists (select from erasure_hold hold
                   where hold.tenant_id = %(tenant)s and hold.lifted_at is null and {_FOR})
    order by memory.id limit %(most)s for no key update of memory)"""  # noqa: S608  (fixed texts of ours)
# The cases of the holds in force that cover any of these memories or spaces.
_OVER: Final = f"""select hold.case from erasure_hold hold
    where hold.tenant_id = %(tenant)s and hold.lifted_at is null
      and (hold.level = 'tenant' or hold.space_id = any(%(spaces)s)
      or hold.space_id in ({_ORIGINS} where branch_id = any(%(spaces)s)) or exists (
        select from memories_memory memory where memory.tenant_id = hold.tenant_id
          and (memory.id = any(%(memories)s) or memory.space_id = any(%(spaces)s)) and {_FOR}))
    order by hold.id"""  # noqa: S608  (fixed texts of ours)
_LET_GO: Final = f"""update memories_memory memory set legal_hold = false
    where memory.tenant_id = %(tenant)s and memory.legal_hold
      and exists (select from erasure_hold hold
                   where hold.tenant_id = %(tenant)s and hold.id = %(hold)s and {_FOR})
      and not exists (select from erasure_hold hold
                       where hold.tenant_id = %(tenant)s and hold.lifted_at is null and {_FOR})"""  # noqa: S608  (ours)


class CaseRefused(Invalid):
    """A case is 1 to 64 letters, digits, dots, dashes, slashes and underscores: a reference, and no story."""


class HoldNotFound(NotFound):
    """There is no such hold in force."""

    code = "HOLD_NOT_FOUND"


class HeldTargetNotFound(NotFound):
    """The target of the hold does not exist."""

    code = "HELD_TARGET_NOT_FOUND"


def hold(scope: Scope, level: Level, target_id: int, *, case: str, now: datetime) -> Hold:
    """Set a hold on the tenant, a project, a space with its branches, or a memory.  It also covers soft-deleted ones.

    Raises CaseRefused, HeldTargetNotFound.
    """
    if not CASE.fullmatch(case):
        raise CaseRefused
    with tenant_transaction(scope):
        hold_off(scope)
        _check(scope, level, target_id)
        target = {} if level == Level.TENANT else {f"{level}_id": target_id}
        row: Hold = Hold.objects.create(
            scope, level=level, case=case, set_by=scope.principal.label, created_at=now, **target
        )
        _record(scope, AuditAction.RETENTION_HOLD, row, now=now)
    count = mark(scope)
    with tenant_transaction(scope):
        _record(scope, AuditAction.RETENTION_HELD, row, count=count, now=now)
    return row


def lift(scope: Scope, hold_id: int, *, now: datetime) -> int:
    """Lift a hold and return the number of memories that are no longer held.

    The next retention run deletes those that are past their time.  Raises HoldNotFound.
    """
    with tenant_transaction(scope):
        hold_off(scope)
        row = Hold.objects.within(scope).filter(pk=hold_id, lifted_at=None).first()
        if row is None:
            raise HoldNotFound
        row.lifted_at, row.lifted_by = now, scope.principal.label
        row.save(update_fields=["lifted_at", "lifted_by"])
        # One statement: a memory must not be released while a new hold begins to cover it.
        count = execute(_LET_GO, {"tenant": scope.tenant_id, "hold": hold_id} | _branches(scope))
        _record(scope, AuditAction.RETENTION_LIFT, row, count=count, now=now)
    return count


def mark(scope: Scope) -> int:
    """Set ``legal_hold`` on each memory under a hold, and return the number of newly marked memories."""
    count = 0
    while marked := _mark_batch(scope):
        count += marked
    return count


def list_holds(scope: Scope, *, lifted: bool = False) -> list[Hold]:
    """Return the holds in force, oldest first.  lifted: include lifted ones."""
    with tenant_transaction(scope):
        rows = Hold.objects.within(scope).order_by("pk")
        return list(rows if lifted else rows.filter(lifted_at=None))


def are_any(scope: Scope) -> bool:
    """Whether the tenant has a hold in force.  Call it inside the tenant's transaction."""
    return Hold.objects.within(scope).filter(lifted_at=None).exists()


def cases_over(scope: Scope, *, memory_ids: Sequence[int], space_ids: Sequence[int]) -> list[str]:
    """Return the cases of the holds in force that cover any of these memories, or anything in these spaces.

    Call it inside the tenant's transaction.
    """
    asked: dict[str, Any] = {"tenant": scope.tenant_id, "memories": list(memory_ids), "spaces": list(space_ids)}
    return fetch_column(_OVER, asked | _branches(scope))


def hold_off(scope: Scope) -> None:
    """Block setting and lifting holds until the transaction ends."""
    lock("legal holds", scope.tenant_id)


def _branches(scope: Scope) -> dict[str, Any]:
    """Return the ids of the tenant's branches, and of the origin of each."""
    rows = Space.objects.within(scope).exclude(origin_uid=None).values_list("pk", "origin_uid")
    spaces = dict(Space.objects.within(scope).filter(uid__in={uid for _, uid in rows}).values_list("uid", "pk"))
    pairs = [(branch_id, spaces[uid]) for branch_id, uid in rows if uid in spaces]
    return {"branches": [branch_id for branch_id, _ in pairs], "origins": [origin_id for _, origin_id in pairs]}


def _mark_batch(scope: Scope) -> int:
    with tenant_transaction(scope):
        hold_off(scope)
        if not are_any(scope):
            return 0
        return execute(_MARK, {"tenant": scope.tenant_id, "most": BATCH} | _branches(scope))


def _check(scope: Scope, level: Level, target_id: int) -> None:
    if level == Level.TENANT:
        return
    if level == Level.PROJECT:
        is_there = Project.objects.within(scope).filter(pk=target_id).exists()
    elif level == Level.SPACE:
        is_there = Space.objects.within(scope).filter(pk=target_id).exists()
    else:
        is_there = Memory.objects.within_tenant(scope).filter(pk=target_id).exists()
    if not is_there:
        raise HeldTargetNotFound


def _record(scope: Scope, action: AuditAction, row: Hold, *, count: int = 1, now: datetime) -> None:
    record(
        scope,
        actor=scope.principal.label,
        action=action,
        target=f"hold:{row.pk}",
        reason=row.case,
        count=count,
        now=now,
    )
