"""Data for tests, made by the services that make it in production: tests hold only rows that the product can make."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from apps.apikeys import onboarding, services
from apps.apikeys.permissions import DEFAULT
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.services import create_project
from apps.tenants.models import Instructions
from apps.tenants.selectors import find_organization
from apps.tenants.services import open_organization

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_tenant(name: str, *, organization: str | None = None, now: datetime | None = None) -> onboarding.OpenedTenant:
    """A tenant with everything: ``.tenant``, ``.project``, ``.scope`` (of production) and ``.keys`` by environment.

    By the real clock unless told another time, because the server that tests call over HTTP lives by it.  All
    instructions wait, so that tests of the queue have something to wait.
    """
    now = now or datetime.now(UTC)
    owner = find_organization(organization or name) or open_organization(organization or name, now=now)
    opened = onboarding.provision_tenant(owner, name, now=now)
    opened.tenant.instructions = Instructions.REVIEW
    opened.tenant.save(update_fields=["instructions"])
    return opened


def make_project(scope: Scope, name: str, *, now: datetime = NOW) -> str:
    """The public id of a new project."""
    return create_project(scope, name, now=now).public_id


def make_api_key(
    scope: Scope,
    *,
    environment: Environment = Environment.PRODUCTION,
    other_environments: Sequence[Environment] = (),
    scopes: Sequence[str] = DEFAULT,
    name: str = "a test's key",
    project_id: int | None = None,
    expires_in: timedelta = services.DEFAULT_LIFETIME,
    now: datetime | None = None,
) -> services.Issued:
    """``.text`` to call with and ``.key.pk`` to rotate or revoke it.  By the real clock unless told another time."""
    now = now or datetime.now(UTC)
    return services.issue(
        scope,
        name=name,
        environment=environment,
        other_environments=other_environments,
        scopes=scopes,
        project_id=project_id,
        expires_at=now + expires_in,
        now=now,
    )


def make_scope(
    tenant: onboarding.OpenedTenant,
    end_user: str = "alice",
    *,
    environment: Environment = Environment.PRODUCTION,
    project_id: int | None = None,
    now: datetime = NOW,
) -> Scope:
    """The scope of a request for one end user, who is created here if need be."""
    scope = replace(tenant.scope, environment=environment, project_id=project_id, permissions=frozenset(DEFAULT))
    return scope.in_spaces(get_or_create_end_user(scope, end_user, now=now))
