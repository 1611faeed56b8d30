"""Queries for grants: who, why, until when, and the ids of opened memories.  No content."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.accounts.services import addresses_of
from apps.breakglass.models import Grant
from apps.breakglass.models import GrantStatus as GrantStatus
from apps.breakglass.services import GrantNotFound
from apps.core.scoping import tenant_transaction
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef

ACTIVE: Final = (GrantStatus.WAITS_FOR_OPERATOR, GrantStatus.WAITS_FOR_TENANT, GrantStatus.OPEN)
SHOWN: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A grant for display.  asker, approver, allower: e-mail addresses; empty if there is none or it was deleted."""

    grant: Grant
    standing: GrantStatus
    space: SpaceRef
    asker: str
    approver: str
    allower: str

    @property
    def is_active(self) -> bool:
        return self.standing in ACTIVE

    @property
    def is_open(self) -> bool:
        return self.standing == GrantStatus.OPEN


def get_grant(scope: Scope, grant_id: int, *, now: datetime) -> Seen:
    """Return one grant of the tenant.  Raises GrantNotFound."""
    found = _seen(scope, grant_id=grant_id, now=now)
    if not found:
        raise GrantNotFound
    return found[0]


def list_grants(scope: Scope, *, now: datetime) -> list[Seen]:
    """Return the tenant's newest grants."""
    return _seen(scope, grant_id=None, now=now)


def find_active(scope: Scope, *, now: datetime) -> list[GrantStatus]:
    """Return the statuses of the tenant's waiting and open grants."""
    with tenant_transaction(scope):
        rows = Grant.objects.within(scope).filter(closed_at=None).order_by("-pk")[:SHOWN]
        return [standing for one in rows if (standing := one.standing(now=now)) in ACTIVE]


def _seen(scope: Scope, *, grant_id: int | None, now: datetime) -> list[Seen]:
    with tenant_transaction(scope):
        rows = Grant.objects.within(scope)
        if grant_id is not None:
            rows = rows.filter(pk=grant_id)
        grants = list(rows.order_by("-pk")[:SHOWN])
        spaces = {
            one.pk: one.ref for one in Space.objects.within(scope).filter(pk__in={one.space_id for one in grants})
        }
    people = {who for one in grants for who in (one.asked_by, one.approved_by, one.allowed_by) if who}
    names = addresses_of(people)
    return [
        Seen(
            grant=one,
            standing=one.standing(now=now),
            space=spaces[one.space_id],
            asker=names.get(one.asked_by, ""),
            approver=names.get(one.approved_by or 0, ""),
            allower=names.get(one.allowed_by or 0, ""),
        )
        for one in grants
    ]
