"""Opening a tenant that can be used: its row, its encryption keys, its default project and its first API keys.

It stands here because this is the lowest app that sees all four: tenants and projects lie below the encryption keys,
and those below API keys.  Spaces are not made here: each is made, with its salt, when its owner's first memory arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.apikeys.services import issue
from apps.crypto.services import create_tenant_keys
from apps.projects.models import Project
from apps.projects.scope import SYSTEM, Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.projects.services import create_project
from apps.tenants import services as tenants
from apps.tenants.models import Organization, Tenant

FIRST_KEY: Final = "first key"


@dataclass(frozen=True, slots=True)
class Opened:
    """A tenant ready for use.  keys: the text of one key per environment, shown now and never again."""

    tenant: Tenant
    project: Project
    scope: Scope
    keys: Mapping[Environment, str] = field(repr=False)


def open_tenant(organization: Organization, name: str, *, principal: Principal = SYSTEM, now: datetime) -> Opened:
    """Everything or nothing, save that encryption keys of a tenant that failed stay behind in their own database.

    Raises TenantNameRefused, TenantExists or KeysUnavailable.
    """
    with transaction.atomic():
        tenant = tenants.open_tenant(organization, name, actor=principal.label, now=now)
        create_tenant_keys(tenant, now=now)
        scope = scope_in(tenant, principal=principal)
        project = create_project(scope, "Default", is_default=True, now=now)
        keys = issue_for_each_environment(scope, name=FIRST_KEY, now=now)
    return Opened(tenant, project, scope, keys)


def issue_for_each_environment(scope: Scope, *, name: str, now: datetime) -> dict[Environment, str]:
    """The texts of three new keys with the default scopes."""
    return {
        environment: issue(scope, name=name, environment=environment, now=now).text
        for environment in (Environment.PRODUCTION, Environment.STAGING, Environment.DEVELOPMENT)
    }
