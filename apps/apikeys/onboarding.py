"""Provisioning of a tenant: its row, its encryption keys, its default project and its first API keys.

This is the lowest app that may import all four.  Spaces are not created here: each is created, with its salt, when its
owner's first memory arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts import enrolment
from apps.accounts.models import User
from apps.accounts.services import PersonExists, add_person, check_address
from apps.apikeys.services import issue
from apps.core.errors import Forbidden, Invalid
from apps.crypto.services import create_tenant_keys
from apps.projects.models import Project
from apps.projects.scope import SYSTEM, Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.projects.services import create_project
from apps.tenants import services as tenants
from apps.tenants.members import give_role
from apps.tenants.models import Organization, Role, Tenant

FIRST_KEY: Final = "first key"


@dataclass(frozen=True, slots=True)
class OpenedTenant:
    """A tenant ready for use.  keys: the text of one key per environment, returned once."""

    tenant: Tenant
    project: Project
    scope: Scope
    keys: Mapping[Environment, str] = field(repr=False)


class SignUpClosed(Forbidden):
    """Sign-up is disabled: ask the operator, who adds users with `memsync people add`."""

    code = "SIGNUP_CLOSED"


class PasswordRefused(Invalid):
    """A password needs at least 12 characters and must not be a common password, your name or your address."""

    code = "PASSWORD_REFUSED"


def provision_tenant(
    organization: Organization,
    name: str,
    *,
    principal: Principal = SYSTEM,
    with_keys: bool = True,
    now: datetime,
) -> OpenedTenant:
    """All or nothing, except that encryption keys of a failed tenant stay in their own database.

    with_keys: also create API keys, for a user who is shown them now.

    Raises TenantNameRefused, TenantExists or KeysUnavailable.
    """
    with transaction.atomic():
        tenant = tenants.create_tenant(organization, name, actor=principal.label, now=now)
        create_tenant_keys(tenant, now=now)
        scope = scope_in(tenant, principal=principal)
        project = create_project(scope, "Default", is_default=True, now=now)
        keys = issue_for_each_environment(scope, name=FIRST_KEY, now=now) if with_keys else {}
    return OpenedTenant(tenant, project, scope, keys)


def issue_for_each_environment(scope: Scope, *, name: str, now: datetime) -> dict[Environment, str]:
    """Texts of three new keys with the default scopes."""
    return {
        environment: issue(scope, name=name, environment=environment, now=now).text
        for environment in (Environment.PRODUCTION, Environment.STAGING, Environment.DEVELOPMENT)
    }


def sign_up(email: str, password: str, *, organization: str, full_name: str = "", now: datetime) -> str:
    """Create a user, an organization and a ready tenant that they own: all or nothing.

    Returns the code with which they add their first passkey or authenticator.  If the address is already known, nothing
    is created and the result looks the same, so that it does not reveal existing accounts; the code is then invalid.

    Raises SignUpClosed, EmailAddressRefused, PasswordRefused, OrganizationNameRefused or KeysUnavailable.
    """
    _check_open()
    check_address(email)
    try:
        validate_password(password, User(email=email, full_name=full_name))
    except ValidationError:
        raise PasswordRefused from None
    try:
        with transaction.atomic():
            person = add_person(email, password, full_name=full_name, now=now)
            found_organization(person.pk, organization, now=now)
            return enrolment.give_code(person, actor=f"account:{person.pk}", now=now)
    except PersonExists:
        return enrolment.new_code()


def found_organization(person_id: int, name: str, *, domain: str = "", now: datetime) -> OpenedTenant:
    """Create another organization with its own tenant, owned by this user.

    Raises SignUpClosed, OrganizationNameRefused, DomainRefused or KeysUnavailable.
    """
    _check_open()
    principal = Principal(kind="account", id=person_id)
    with transaction.atomic():
        organization = tenants.open_organization(name, domain=domain, now=now)
        tenant_name = tenants.name_for_tenant(organization.name)
        opened = provision_tenant(organization, tenant_name, principal=principal, with_keys=False, now=now)
        give_role(opened.tenant, person_id, Role.OWNER, actor=principal.label, now=now)
    return opened


def _check_open() -> None:
    if not settings.SIGNUP:
        raise SignUpClosed
