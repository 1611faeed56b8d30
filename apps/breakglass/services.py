"""Break-glass grants: request, approve, allow and end them.

scope: the acting user's scope in the tenant.  An operator is the principal ``operator:7``, a member of the tenant
``account:3``.  Each action and each refusal is recorded in the tenant's audit log.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from apps.accounts import second_factors
from apps.accounts.services import is_operator
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.breakglass.models import LASTS as LASTS
from apps.breakglass.models import WAITS, Grant, GrantStatus
from apps.core.errors import Conflict, DomainError, Forbidden, Invalid, NotFound
from apps.core.scoping import tenant_transaction
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import SpaceNotFound
from apps.tenants.models import BreakGlass, Tenant

OPERATOR: Final = "operator"  # the kind of principal
SETTLED: Final = timedelta(days=1)  # minimum age of the second operator's second factor
LEAST_REASON, MOST_REASON = 10, 200
_TICKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._#/-]{0,63}", re.ASCII)
WAITING: Final = (GrantStatus.WAITS_FOR_OPERATOR, GrantStatus.WAITS_FOR_TENANT)


class GrantNotFound(NotFound):
    """There is no such grant."""

    code = "GRANT_NOT_FOUND"


class BreakGlassForbidden(Forbidden):
    """This tenant does not allow operators to read its memories. One of its owners can change this in the console."""

    code = "BREAK_GLASS_DENIED"


class ReasonRefused(Invalid):
    """Say why in 10 to 200 characters, and name a ticket: 1 to 64 letters, digits and ._#/- without blanks."""


class AlreadyAsked(Conflict):
    """You have requested this space already; the grant is pending or open."""

    code = "GRANT_ALREADY_ASKED"


class SecondOperatorRequired(Forbidden):
    """Another operator has to approve: one who did not request it, with a second factor enrolled at least a day ago."""

    code = "SECOND_OPERATOR_REQUIRED"


class GrantDecided(Conflict):
    """This grant needs no decision any more: it was decided, rejected or has expired."""

    code = "GRANT_DECIDED"


def ask(scope: Scope, space_id: int, *, reason: str, ticket: str, now: datetime) -> Grant:
    """Request a grant.  Raises SpaceNotFound, BreakGlassForbidden, ReasonRefused, AlreadyAsked."""
    reason, ticket = " ".join(reason.split()), ticket.strip()
    with denials_noted(scope, AuditAction.BREAK_GLASS_ASK, f"space:{space_id}", now=now), tenant_transaction(scope):
        if policy_of(scope) == BreakGlass.DENY:
            raise BreakGlassForbidden
        if not Space.objects.within(scope).filter(pk=space_id).exists():
            raise SpaceNotFound
        if not LEAST_REASON <= len(reason) <= MOST_REASON or not _TICKET.fullmatch(ticket):
            raise ReasonRefused
        mine = Grant.objects.within(scope).filter(space_id=space_id, asked_by=scope.principal.id, closed_at=None)
        if any(one.standing(now=now) in (*WAITING, GrantStatus.OPEN) for one in mine.filter(waits_until__gt=now)):
            raise AlreadyAsked
        grant: Grant = Grant.objects.create(
            scope,
            space_id=space_id,
            asked_by=scope.principal.id,
            reason=reason,
            ticket=ticket,
            waits_until=now + WAITS,
            created_at=now,
        )
        note(scope, AuditAction.BREAK_GLASS_ASK, f"space:{space_id}", reason=f"{_name(grant)} {ticket}"[:64], now=now)
    return grant


def approve(scope: Scope, grant_id: int, *, now: datetime) -> Grant:
    """Approve a grant as the second operator.

    Raises GrantNotFound, BreakGlassForbidden, SecondOperatorRequired, GrantDecided.
    """
    person = scope.principal.id
    with denials_noted(scope, AuditAction.BREAK_GLASS_APPROVE, f"grant:{grant_id}", now=now), tenant_transaction(scope):
        grant = locked(scope, grant_id)
        if policy_of(scope) == BreakGlass.DENY:
            raise BreakGlassForbidden
        if person in (grant.asked_by, grant.allowed_by) or not is_operator(person):
            raise SecondOperatorRequired
        if not second_factors.has_had_second_factor(person, since=now - SETTLED):
            raise SecondOperatorRequired
        if grant.standing(now=now) != GrantStatus.WAITS_FOR_OPERATOR:
            raise GrantDecided
        grant.approved_by, grant.approved_at = person, now
        _open_if_all_said_yes(scope, grant, now=now)
        note(scope, AuditAction.BREAK_GLASS_APPROVE, f"space:{grant.space_id}", reason=_name(grant), now=now)
    return grant


def allow(scope: Scope, grant_id: int, *, now: datetime) -> Grant:
    """Allow a grant as an owner of the tenant.

    Raises GrantNotFound, BreakGlassForbidden, SecondOperatorRequired, GrantDecided.
    """
    person = scope.principal.id
    with denials_noted(scope, AuditAction.BREAK_GLASS_ALLOW, f"grant:{grant_id}", now=now), tenant_transaction(scope):
        grant = locked(scope, grant_id)
        if policy_of(scope) == BreakGlass.DENY:
            raise BreakGlassForbidden
        if person in (grant.asked_by, grant.approved_by):
            raise SecondOperatorRequired
        if grant.standing(now=now) not in WAITING or grant.allowed_by is not None:
            raise GrantDecided
        grant.allowed_by, grant.allowed_at = person, now
        _open_if_all_said_yes(scope, grant, now=now)
        note(scope, AuditAction.BREAK_GLASS_ALLOW, f"space:{grant.space_id}", reason=_name(grant), now=now)
    return grant


def end(scope: Scope, grant_id: int, *, now: datetime) -> Grant:
    """Refuse a waiting grant or end an open one, permanently.  For any operator, and for the tenant's approvers.

    Raises GrantNotFound, GrantDecided.
    """
    with tenant_transaction(scope):
        grant = locked(scope, grant_id)
        if grant.standing(now=now) not in (*WAITING, GrantStatus.OPEN):
            raise GrantDecided
        grant.closed_by, grant.closed_at = scope.principal.label, now
        grant.save(update_fields=["closed_by", "closed_at"])
        is_opened = grant.opened_at is not None
        action = AuditAction.BREAK_GLASS_END if is_opened else AuditAction.BREAK_GLASS_REFUSE
        note(scope, action, f"space:{grant.space_id}", reason=_name(grant), now=now)
    return grant


def policy_of(scope: Scope) -> BreakGlass:
    """Return the tenant's current break-glass policy."""
    return BreakGlass(Tenant.objects.values_list("break_glass", flat=True).get(pk=scope.tenant_id))


def locked(scope: Scope, grant_id: int) -> Grant:
    """Lock and return the tenant's grant: no one else can use or end it meanwhile.  Raises GrantNotFound."""
    there = Grant.objects.within(scope).select_for_update(no_key=True).filter(pk=grant_id).first()
    if there is None:
        raise GrantNotFound
    return there


def note(scope: Scope, action: AuditAction, target: str, *, reason: str, count: int = 1, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=target, reason=reason, count=count, now=now)


@contextmanager
def denials_noted(scope: Scope, action: AuditAction, target: str, *, now: datetime) -> Iterator[None]:
    """Record a refusal in the block in a separate transaction, because the action's own is rolled back."""
    try:
        yield
    except DomainError as error:
        actor = scope.principal.label
        with tenant_transaction(scope):
            record(scope, actor=actor, action=action, target=target[:128], outcome="denied", reason=error.code, now=now)
        raise


def _open_if_all_said_yes(scope: Scope, grant: Grant, *, now: datetime) -> None:
    if grant.approved_by is not None and (grant.allowed_by is not None or policy_of(scope) == BreakGlass.NOTIFY):
        grant.opened_at, grant.ends_at = now, now + LASTS
    grant.save(update_fields=["approved_by", "approved_at", "allowed_by", "allowed_at", "opened_at", "ends_at"])


def _name(grant: Grant) -> str:
    return f"grant:{grant.pk}"
