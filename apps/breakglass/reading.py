"""Reading under a grant: lists the memories of its space, and decrypts single ones after an audit event for each.

As everywhere, the application decrypts memories, under the tenant's row-level security and with the keys of this one
space.  The operators' database role cannot read encrypted columns or keys, with or without a grant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from apps.accounts.services import is_operator
from apps.audit.actions import AuditAction
from apps.breakglass.models import Grant, GrantStatus
from apps.breakglass.services import BreakGlassForbidden, GrantNotFound, denials_noted, locked, note, policy_of
from apps.console.memory_list import MemoryRow, look_at_all
from apps.core.errors import Conflict, Forbidden, LimitReached
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.selectors import MemoryNotFound
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.tenants.models import BreakGlass

MOST_AT_ONCE: Final = 25
MOST: Final = 200  # memories under one grant: enough to find a fault, too few to copy a space


class GrantOver(Conflict):
    """This grant is not open: it is pending, was ended or has expired. Grants cannot be extended."""

    code = "GRANT_NOT_OPEN"


class OperatorGone(Forbidden):
    """The operator who requested this grant, or the one who approved it, is no longer an operator."""

    code = "OPERATOR_GONE"


class TooManyOpened(LimitReached):
    """Two hundred memories are opened under one grant and no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakGlassRecord:
    """Metadata of a memory, without its content."""

    id: int
    type: str
    validity: str
    retention_status: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    records: Sequence[BreakGlassRecord]
    next_before: int | None


def list_records(scope: Scope, grant_id: int, *, limit: int, before: int | None = None, now: datetime) -> Records:
    """List the metadata of the space's memories, newest first.  before: an id; only older ones.  Uses no key.

    Raises as ``open_records`` does.
    """
    with denials_noted(scope, AuditAction.BREAK_GLASS_LIST, f"grant:{grant_id}", now=now), tenant_transaction(scope):
        grant = _open_grant(scope, grant_id, now=now)
        rows = Memory.objects.within(_inside(scope, grant)).existing(now)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        fields = ("id", "type", "validity", "retention_status", "created_at")
        found = [BreakGlassRecord(**row) for row in rows.order_by("-pk").values(*fields)[: limit + 1]]
        note(scope, AuditAction.BREAK_GLASS_LIST, f"space:{grant.space_id}", reason=f"grant:{grant_id}", now=now)
    page = found[:limit]
    return Records(records=page, next_before=page[-1].id if len(found) > limit else None)


def open_records(scope: Scope, grant_id: int, memory_ids: Sequence[int], *, now: datetime) -> list[MemoryRow]:
    """Audit and then decrypt these memories of the grant's space; return them in the order given.

    Raises GrantNotFound for a grant that does not exist or belongs to another tenant or operator; BreakGlassForbidden,
    GrantOver, OperatorGone, TooManyOpened; MemoryNotFound if any memory does not exist.
    """
    ids = list(dict.fromkeys(memory_ids))
    with denials_noted(scope, AuditAction.BREAK_GLASS_OPEN, f"grant:{grant_id}", now=now):
        there = _note_opened(scope, grant_id, ids, now=now)
    return look_at_all(there, ids, now=now)


def _note_opened(scope: Scope, grant_id: int, ids: Sequence[int], *, now: datetime) -> Scope:
    """Record the opened memories in a separate transaction: without a committed audit event nothing is decrypted."""
    with tenant_transaction(scope):
        grant = _open_grant(scope, grant_id, now=now)
        there = _inside(scope, grant)
        if not ids or Memory.objects.within(there).filter(pk__in=ids).existing(now).count() != len(ids):
            raise MemoryNotFound
        opened = list(dict.fromkeys([*grant.opened_ids, *ids]))
        if len(ids) > MOST_AT_ONCE or len(opened) > MOST:
            raise TooManyOpened(retry_after=1)
        for memory_id in ids:
            note(scope, AuditAction.BREAK_GLASS_OPEN, f"memory:{memory_id}", reason=f"grant:{grant_id}", now=now)
        grant.opened_ids = opened
        grant.save(update_fields=["opened_ids"])
    return there


def _open_grant(scope: Scope, grant_id: int, *, now: datetime) -> Grant:
    """Lock and return the caller's grant, if it is open and still permitted.  Call it in the tenant's transaction."""
    grant = locked(scope, grant_id)
    if grant.asked_by != scope.principal.id:
        raise GrantNotFound
    policy = policy_of(scope)
    if policy == BreakGlass.DENY:
        raise BreakGlassForbidden
    if policy == BreakGlass.ASK and grant.allowed_by is None:
        raise BreakGlassForbidden
    if grant.standing(now=now) != GrantStatus.OPEN:
        raise GrantOver
    if not is_operator(grant.asked_by) or not is_operator(grant.approved_by or 0):
        raise OperatorGone
    return grant


def _inside(scope: Scope, grant: Grant) -> Scope:
    """Return the scope, narrowed to the grant's one space."""
    space = Space.objects.within(scope).get(pk=grant.space_id).ref
    return replace(scope, environment=space.environment, spaces=(space,))
