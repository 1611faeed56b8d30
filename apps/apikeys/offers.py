"""Keys that operators offer to a tenant.

An operator may not see memories, and so is not shown a key that can read them.  If the tenant has an owner, an
operator's request becomes an offer: an owner opens it in the console, reviews the key's permissions, and creates it;
only the owner sees its text.  If the tenant has no owner, an operator is shown keys that cannot read content.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from apps.apikeys.models import KeyOffer
from apps.apikeys.permissions import READS_NO_CONTENT
from apps.apikeys.services import Issued, check_key, issue, rotate, usable_key
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden, NotFound
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Scope
from apps.tenants.members import has_owner

LASTS: Final = timedelta(hours=72)


class OwnerSees(Forbidden):
    """This tenant has no owner to receive a link, and the key could read content. Use `memsync key` on the host."""

    code = "KEY_READS_CONTENT"


class OfferNotFound(NotFound):
    """There is no key offer with this number."""

    code = "KEY_OFFER_NOT_FOUND"


class OfferOver(Conflict):
    """This offer was accepted or declined, or has expired after three days. Ask the operator for another."""

    code = "KEY_OFFER_OVER"


def hand_out(
    scope: Scope,
    *,
    name: str,
    environment: Environment,
    other_environments: Sequence[Environment] = (),
    scopes: Sequence[str],
    project_id: int | None = None,
    days: int,
    now: datetime,
) -> Issued | KeyOffer:
    """The key itself, if the tenant has no owner and the key cannot read content; else an offer to the owners.

    scope: of an operator.  Raises OwnerSees, and what ``issue`` raises.
    """
    expires_at = now + timedelta(days=days)
    with tenant_transaction(scope):
        if has_owner(scope.tenant_id):
            check_key(scope, name=name, scopes=scopes, project_id=project_id, expires_at=expires_at, now=now)
            return _offer(
                scope,
                KeyOffer(
                    name=name.strip(),
                    environment=environment,
                    other_environments=[one for one in dict.fromkeys(other_environments) if one != environment],
                    scopes=list(scopes),
                    project_id=project_id,
                    days=days,
                ),
                now=now,
            )
        _check_blind(scopes)
        return issue(
            scope,
            name=name,
            environment=environment,
            other_environments=other_environments,
            scopes=scopes,
            project_id=project_id,
            expires_at=expires_at,
            now=now,
        )


def hand_out_rotated(scope: Scope, key_id: int, *, grace: timedelta, now: datetime) -> Issued | KeyOffer:
    """Like ``hand_out``, for a key that replaces another.  Raises OwnerSees, and what ``rotate`` raises."""
    with tenant_transaction(scope):
        old = usable_key(scope, key_id, now=now)
        if not has_owner(scope.tenant_id):
            _check_blind(old.scopes)
            return rotate(scope, key_id, grace=grace, now=now)
        offer = KeyOffer(
            name=old.name,
            environment=old.environment,
            other_environments=old.other_environments,
            scopes=old.scopes,
            project_id=old.project_id,
            days=(old.expires_at - old.created_at).days if old.expires_at else 0,
            old_key_id=old.pk,
            grace_hours=int(grace / timedelta(hours=1)),
        )
        return _offer(scope, offer, now=now)


def list_offers(scope: Scope, *, now: datetime) -> list[KeyOffer]:
    """Pending offers, newest first."""
    with tenant_transaction(scope):
        return list(_waiting(scope, now=now).select_related("project").order_by("-pk"))


def get_offer(scope: Scope, offer_id: int, *, now: datetime) -> KeyOffer:
    """Raises OfferNotFound, OfferOver."""
    with tenant_transaction(scope):
        offer = KeyOffer.objects.within(scope).select_related("project").filter(pk=offer_id).first()
        if offer is None:
            raise OfferNotFound
        if not _waiting(scope, now=now).filter(pk=offer_id).exists():
            raise OfferOver
    return offer


def accept(scope: Scope, offer_id: int, *, now: datetime) -> Issued:
    """Create the offered key, once.  scope: of an owner.  Raises OfferNotFound, OfferOver, and what ``issue`` or
    ``rotate`` raises; the offer then stays pending."""
    with tenant_transaction(scope):
        offer = _decide(scope, offer_id, "accepted_at", now=now)
        if offer.old_key_id is not None:
            issued = rotate(scope, offer.old_key_id, grace=timedelta(hours=offer.grace_hours or 0), now=now)
        else:
            issued = issue(
                scope,
                name=offer.name,
                environment=Environment(offer.environment),
                other_environments=[Environment(one) for one in offer.other_environments],
                scopes=offer.scopes,
                project_id=offer.project_id,
                expires_at=now + timedelta(days=offer.days),
                now=now,
            )
        KeyOffer.objects.within(scope).filter(pk=offer_id).update(key_id=issued.key.pk)
        _record(scope, AuditAction.API_KEY_ACCEPT, offer, reason=f"offered by account:{offer.offered_by}", now=now)
    return issued


def decline(scope: Scope, offer_id: int, *, now: datetime) -> None:
    """Raises OfferNotFound, OfferOver."""
    with tenant_transaction(scope):
        offer = _decide(scope, offer_id, "declined_at", now=now)
        _record(scope, AuditAction.API_KEY_DECLINE, offer, reason=f"offered by account:{offer.offered_by}", now=now)


def state_of_offer(offer: KeyOffer, *, now: datetime) -> str:
    """``waiting``, ``accepted``, ``declined`` or ``expired``."""
    if offer.accepted_at is not None:
        return "accepted"
    if offer.declined_at is not None:
        return "declined"
    return "waiting" if offer.expires_at > now else "expired"


def _offer(scope: Scope, offer: KeyOffer, *, now: datetime) -> KeyOffer:
    offer.tenant_id, offer.offered_by = scope.tenant_id, scope.principal.id
    offer.created_at, offer.expires_at = now, now + LASTS
    offer.save(force_insert=True)
    what = f"{','.join(offer.environments)}, {len(offer.scopes)} scopes"
    _record(scope, AuditAction.API_KEY_OFFER, offer, reason=what, now=now)
    return offer


def _decide(scope: Scope, offer_id: int, how: str, *, now: datetime) -> KeyOffer:
    """A single UPDATE, so that of two concurrent decisions one is refused."""
    taken = _waiting(scope, now=now).filter(pk=offer_id).update(**{how: now}, decided_by=scope.principal.id)
    offer = KeyOffer.objects.within(scope).filter(pk=offer_id).first()
    if offer is None:
        raise OfferNotFound
    if not taken:
        raise OfferOver
    return offer


def _waiting(scope: Scope, *, now: datetime) -> QuerySet[KeyOffer]:
    return KeyOffer.objects.within(scope).filter(accepted_at=None, declined_at=None, expires_at__gt=now)


def _check_blind(scopes: Sequence[str]) -> None:
    if not set(scopes) <= READS_NO_CONTENT:
        raise OwnerSees


def _record(scope: Scope, action: AuditAction, offer: KeyOffer, *, reason: str, now: datetime) -> None:
    target = f"key_offer:{offer.pk}"
    record(scope, actor=scope.principal.label, action=action, target=target, reason=reason, now=now)
