"""Create and change organizations and tenants.  Each change writes an audit row in its transaction."""

import re
import secrets
from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import TextChoices

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.tenants.models import (
    BreakGlass,
    Changes,
    Egress,
    Instructions,
    KeyDeletes,
    Organization,
    Profile,
    SecondFactor,
    SessionSummaries,
    Tenant,
)

# The name is the tenant's id on the wire, in paths and in "tenant:end user": no slash, no colon, no whitespace.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}\.)+[a-z0-9-]{2,63}", re.ASCII)


class TenantNameRefused(Invalid):
    """A tenant's name is 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit."""


class OrganizationNameRefused(Invalid):
    """An organization's name is 1 to 100 characters."""


class DomainRefused(Invalid):
    """A domain is a host name, such as example.com."""


class TenantExists(Conflict):
    """There is a tenant of this name already; choose another."""


class TenantAlreadyClosed(Conflict):
    """This tenant is closed already."""


class TenantAlreadySuspended(Conflict):
    """This tenant is suspended already."""


class TenantNotSuspended(Conflict):
    """This tenant is not suspended."""


class UnknownPolicy(Invalid):
    """key_deletes is deny or retire, new_spaces searchable or sealed, changes replace or dispute, instructions review
    or keep, session_summaries off or on, ai_extract and ai_rerank allow, self_hosted_only or deny, break_glass deny,
    notify or ask, require_second_factor no or yes."""


def open_organization(name: str, *, domain: str = "", now: datetime) -> Organization:
    """Create an organization.  Raises OrganizationNameRefused, DomainRefused."""
    name, domain = name.strip(), domain.strip().lower()
    if not 1 <= len(name) <= 100:
        raise OrganizationNameRefused
    if domain and (len(domain) > 253 or not _DOMAIN.fullmatch(domain)):
        raise DomainRefused
    return Organization.objects.create(name=name, domain=domain, created_at=now)


def name_for_tenant(organization: str) -> str:
    """A tenant name derived from the organization's, with a random part: it does not reveal which names are taken."""
    words = re.sub(r"[^a-z0-9]+", "-", organization.lower()).strip("-")[:40].strip("-")
    return f"{words or 'org'}-{secrets.token_hex(4)}"


def create_tenant(organization: Organization, name: str, *, actor: str, now: datetime) -> Tenant:
    """Create the row only.  A usable tenant also needs keys: see ``apps.apikeys.onboarding.provision_tenant``.

    Raises TenantNameRefused or TenantExists.
    """
    if not _NAME.fullmatch(name):
        raise TenantNameRefused
    try:
        with transaction.atomic():
            (tenant_id,) = reserve_ids(1, sequence="tenants_tenant_id_seq")  # first: the row's MAC includes it
            tenant = Tenant(id=tenant_id, organization=organization, name=name, created_at=now)
            tenant.bind()
            tenant.save(force_insert=True)
    except IntegrityError as error:
        raise TenantExists from error
    with tenant_transaction(tenant):
        record(tenant, actor=actor, action=AuditAction.TENANT_OPEN, target=f"tenant:{tenant.pk}", now=now)
    return tenant


POLICIES: Final[dict[str, type[TextChoices]]] = {
    "key_deletes": KeyDeletes,
    "new_spaces": Profile,
    "changes": Changes,
    "instructions": Instructions,
    "session_summaries": SessionSummaries,
    "ai_extract": Egress,
    "ai_rerank": Egress,
    "break_glass": BreakGlass,
    "require_second_factor": SecondFactor,
}


def set_policy(tenant: Tenant, *, actor: str, now: datetime, **policy: str) -> Tenant:
    """Change policies of the tenant.  Raises UnknownPolicy.

    key_deletes: what API keys may delete: ``deny`` nothing, ``retire`` hide memories for 7 days.  new_spaces: profile
    of new spaces, ``searchable`` or ``sealed``.  changes: whether a new value of a claim replaces the older one, or
    both stay as disputed.  instructions: which extracted instructions wait for review; ``style``: all except a user's
    wishes that are, or may be, about the style of answers.  session_summaries: whether sessions are summarized without
    being asked.  ai_extract: whether a language model may read input.  ai_rerank: whether a cross-encoder may read
    results.  break_glass: whether operators may read a space in an emergency.  require_second_factor: whether a
    password is never sufficient for a confirmation.
    """
    if any(name not in POLICIES or value not in POLICIES[name].values for name, value in policy.items()):
        raise UnknownPolicy
    with tenant_transaction(tenant):
        for name, value in policy.items():
            setattr(tenant, name, value)
        tenant.save(update_fields=list(policy))
        record(
            tenant,
            actor=actor,
            action=AuditAction.TENANT_POLICY,
            target=f"tenant:{tenant.pk}",
            reason=" ".join(f"{name}={value}" for name, value in policy.items()),
            now=now,
        )
    return tenant


def close_tenant(tenant: Tenant, *, actor: str, now: datetime) -> Tenant:
    """Refuse every key of the tenant from now on.  Its data stays until it is erased.  Raises TenantAlreadyClosed."""
    with tenant_transaction(tenant):
        if not Tenant.objects.filter(pk=tenant.pk, closed_at=None).update(closed_at=now, suspended_at=None):
            raise TenantAlreadyClosed
        tenant.closed_at, tenant.suspended_at = now, None
        record(tenant, actor=actor, action=AuditAction.TENANT_CLOSE, target=f"tenant:{tenant.pk}", now=now)
    return tenant


def suspend_tenant(tenant: Tenant, *, actor: str, now: datetime) -> Tenant:
    """Refuse the tenant's keys and users until it is resumed.  Background work continues: retention, key rotation,
    pending webhooks.  Raises TenantAlreadyClosed, TenantAlreadySuspended."""
    with tenant_transaction(tenant):
        there = Tenant.objects.filter(pk=tenant.pk, closed_at=None)
        if not there.filter(suspended_at=None).update(suspended_at=now):
            raise TenantAlreadySuspended if there.exists() else TenantAlreadyClosed
        tenant.suspended_at = now
        record(tenant, actor=actor, action=AuditAction.TENANT_SUSPEND, target=f"tenant:{tenant.pk}", now=now)
    return tenant


def resume_tenant(tenant: Tenant, *, actor: str, now: datetime) -> Tenant:
    """Admit the tenant's keys and users again.  Raises TenantNotSuspended."""
    with tenant_transaction(tenant):
        if not Tenant.objects.filter(pk=tenant.pk).exclude(suspended_at=None).update(suspended_at=None):
            raise TenantNotSuspended
        tenant.suspended_at = None
        record(tenant, actor=actor, action=AuditAction.TENANT_RESUME, target=f"tenant:{tenant.pk}", now=now)
    return tenant
