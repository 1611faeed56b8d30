"""Members of a tenant's organization and their rights.  A role applies to the organization, and so to each of its
tenants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.audit.unbound import only_bound
from apps.core.errors import Conflict, Forbidden, Invalid, Malformed, NotFound
from apps.core.scoping import tenant_transaction
from apps.tenants.grants import GRANTS
from apps.tenants.models import Membership, Organization, Role, SecondFactor, Tenant
from apps.tenants.selectors import TenantNotFound

MAY_READ: Final = frozenset({Role.OWNER, Role.ADMIN, Role.DEVELOPER, Role.ANALYST})
MAY_DELETE: Final = frozenset({Role.OWNER, Role.ADMIN})


class RoleRefused(Invalid):
    """A role is owner, admin, developer, analyst or billing."""


class NotAMember(NotFound):
    """This user has no role in that tenant's organization."""

    code = "NOT_A_MEMBER"


class NoTenant(Malformed):
    """You have no role in any tenant."""

    code = "TENANT_CONTEXT_REQUIRED"


class OwnerRequired(Forbidden):
    """Only an owner can add, change or remove owners."""

    code = "ROLE_TOO_LOW"


class LastOwner(Conflict):
    """An organization needs at least one owner: make another member an owner first."""

    code = "LAST_OWNER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A tenant that a user may work in, and their role there.  since: when they joined its organization."""

    tenant: Tenant
    role: Role
    since: datetime

    @property
    def permissions(self) -> frozenset[str]:
        """API permissions of the user in this tenant."""
        return GRANTS[self.role]

    @property
    def may_read(self) -> bool:
        """Whether the role may read decrypted memories."""
        return self.role in MAY_READ

    @property
    def is_owner(self) -> bool:
        return self.role == Role.OWNER

    @property
    def needs_second_factor(self) -> bool:
        """Whether a password is never sufficient for a confirmation in this tenant."""
        return self.tenant.require_second_factor == SecondFactor.YES

    @property
    def may_delete(self) -> bool:
        """Whether the role may delete and restore memories, and decide on requests to forget."""
        return self.role in MAY_DELETE


def reach_of(user_id: int, *, closed: bool = False) -> list[Reach]:
    """Every tenant in which this user has a role, by name, without suspended ones.  closed: include closed tenants."""
    joined = {one.organization_id: one for one in list_memberships(user_id)}
    tenants = Tenant.objects.filter(organization_id__in=joined, suspended_at=None).select_related("organization")
    if not closed:
        tenants = tenants.filter(closed_at=None)
    mine = only_bound(tenants.order_by("name", "id"))
    return [_reach(tenant, joined[tenant.organization_id]) for tenant in mine]


def get_reach(user_id: int, name: str) -> Reach:
    """Raises TenantNotFound for a tenant that is missing, not this user's, or closed."""
    return reach_in(reach_of(user_id), name)


def reach_in(reaches: Sequence[Reach], name: str) -> Reach:
    """The entry with this tenant name.  Raises TenantNotFound if there is none."""
    found = next((one for one in reaches if one.tenant.name == name), None)
    if found is None:
        raise TenantNotFound
    return found


def choose_reach(user_id: int, name: str | None) -> Reach:
    """The open tenant with this name; without a name, the first tenant of the organization that the user joined first.
    Raises TenantNotFound if it is missing or not this user's, NoTenant if the user has none."""
    if name is not None:
        return get_reach(user_id, name)
    for one in list_memberships(user_id):
        tenants = Tenant.objects.filter(organization_id=one.organization_id, closed_at=None, suspended_at=None)
        for tenant in only_bound(tenants.select_related("organization").order_by("id")):
            return _reach(tenant, one)
    raise NoTenant


def find_reach(user_id: int, name: str | None) -> Reach | None:
    """Like ``choose_reach``, but returns None if no name is given and the user has no tenant."""
    try:
        return choose_reach(user_id, name)
    except NoTenant:
        return None


def list_memberships(user_id: int) -> list[Membership]:
    """The user's active memberships, oldest first."""
    rows = Membership.objects.filter(user_id=user_id, suspended_at=None)
    return only_bound(rows.select_related("organization").order_by("id"))


def list_members(tenant: Tenant) -> list[Membership]:
    """The members, without rows whose MAC is invalid: no one granted these."""
    members = Membership.objects.filter(organization_id=tenant.organization_id).select_related("user")
    return only_bound(members.order_by("user__email", "id"))


def get_member(tenant: Tenant, user_id: int) -> Membership:
    """Raises NotAMember."""
    rows = Membership.objects.filter(organization_id=tenant.organization_id, user_id=user_id)
    there = only_bound(rows.select_related("user"))
    if not there:
        raise NotAMember
    return there[0]


def has_owner(tenant_id: int) -> bool:
    """Whether the tenant's organization has an owner who can sign in."""
    owners = Membership.objects.filter(role=Role.OWNER, suspended_at=None, user__is_active=True)
    return bool(only_bound(owners.filter(organization__tenants__id=tenant_id)))


def give_role(tenant: Tenant, user_id: int, role: str, *, actor: str, now: datetime) -> Membership:
    """Set the user's role in the tenant's organization, replacing an existing one.  Raises RoleRefused, LastOwner."""
    if role not in Role.values:
        raise RoleRefused
    with tenant_transaction(tenant):
        there, action = _locked(tenant, user_id), AuditAction.MEMBER_ROLE
        if there is not None and not there.is_bound():  # a forged role is discarded completely
            there.delete()
            there = None
        if there is None:
            action = AuditAction.MEMBER_ADD
            there = Membership(organization_id=tenant.organization_id, user_id=user_id, role=role, created_at=now)
        elif there.role == Role.OWNER and role != Role.OWNER:
            _check_another_owner(there)
        there.role = role
        there.bind()
        there.save()
        _record(tenant, action, user_id, actor=actor, reason=f"role={role}", now=now)
    return there


def change_member(
    tenant: Tenant,
    user_id: int,
    *,
    by: Role,
    role: str | None = None,
    is_suspended: bool | None = None,
    actor: str,
    now: datetime,
) -> Membership:
    """Change a member's role, or suspend them or end their suspension.

    by: the role of the caller.  Raises NotAMember, RoleRefused, OwnerRequired, LastOwner.
    """
    if role is not None and role not in Role.values:
        raise RoleRefused
    with tenant_transaction(tenant):
        there = _member(tenant, user_id, by=by)
        if not there.is_bound():
            raise NotAMember
        if role == Role.OWNER and by != Role.OWNER:
            raise OwnerRequired
        if there.role == Role.OWNER and (is_suspended or role not in (None, Role.OWNER)):
            _check_another_owner(there)
        if role is not None and role != there.role:
            there.role = role
            there.bind()
            there.save(update_fields=["role", "row_mac"])
            _record(tenant, AuditAction.MEMBER_ROLE, user_id, actor=actor, reason=f"role={role}", now=now)
        if is_suspended is not None and is_suspended != bool(there.suspended_at):
            there.suspended_at = now if is_suspended else None
            there.bind()
            there.save(update_fields=["suspended_at", "row_mac"])
            _record(
                tenant,
                AuditAction.MEMBER_SUSPEND if is_suspended else AuditAction.MEMBER_RESUME,
                user_id,
                actor=actor,
                now=now,
            )
    return there


def take_role(tenant: Tenant, user_id: int, *, by: Role = Role.OWNER, actor: str, now: datetime) -> None:
    """Remove a member.  by: the role of the caller.  Raises NotAMember, OwnerRequired, LastOwner."""
    with tenant_transaction(tenant):
        there = _member(tenant, user_id, by=by)
        if there.role == Role.OWNER and there.is_bound():
            _check_another_owner(there)
        there.delete()
        _record(tenant, AuditAction.MEMBER_REMOVE, user_id, actor=actor, now=now)


def _reach(tenant: Tenant, joined: Membership) -> Reach:
    return Reach(tenant=tenant, role=Role(joined.role), since=joined.created_at)


def _member(tenant: Tenant, user_id: int, *, by: Role) -> Membership:
    there = _locked(tenant, user_id)
    if there is None:
        raise NotAMember
    if there.role == Role.OWNER and by != Role.OWNER:
        raise OwnerRequired
    return there


def _locked(tenant: Tenant, user_id: int) -> Membership | None:
    """Locks the organization first, so that two owners cannot remove each other concurrently."""
    Organization.objects.select_for_update().get(pk=tenant.organization_id)
    rows = Membership.objects.select_related("user")
    return rows.filter(organization_id=tenant.organization_id, user_id=user_id).first()


def _check_another_owner(there: Membership) -> None:
    owners = Membership.objects.filter(organization_id=there.organization_id, role=Role.OWNER, suspended_at=None)
    if not only_bound(owners.exclude(pk=there.pk)):
        raise LastOwner


def _record(tenant: Tenant, action: AuditAction, user_id: int, *, actor: str, reason: str = "", now: datetime) -> None:
    record(tenant, actor=actor, action=action, target=f"account:{user_id}", reason=reason, now=now)
