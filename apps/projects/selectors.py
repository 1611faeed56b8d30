"""Queries of projects, and the scope of a user or command inside one tenant."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

from apps.core.errors import NotFound
from apps.core.scoping import tenant_transaction
from apps.projects.models import Project, Review, Space
from apps.projects.scope import SYSTEM, Principal, Scope
from apps.projects.system import system_scope
from apps.tenants.models import Tenant


class ProjectNotFound(NotFound):
    """There is no such project."""

    code = "PROJECT_NOT_FOUND"


class SpaceNotFound(NotFound):
    """The tenant has no such space."""

    code = "SPACE_NOT_FOUND"


def scope_in(tenant: Tenant, *, principal: Principal = SYSTEM) -> Scope:
    """Scope of this user or command inside one tenant.  It has no space, so it can read no memory."""
    return replace(system_scope(tenant), principal=principal)


def find_project(scope: Scope, public_id: str) -> Project | None:
    """The tenant's project with this public id; None if it does not exist or belongs to another tenant."""
    with tenant_transaction(scope):
        return Project.objects.within(scope).filter(public_id=public_id).first()


def get_project(scope: Scope, public_id: str) -> Project:
    """Like ``find_project``, but raises ProjectNotFound."""
    project = find_project(scope, public_id)
    if project is None:
        raise ProjectNotFound
    return project


def project_name(scope: Scope) -> str | None:
    """The public id of the scope's project; None for a scope of every project."""
    if scope.project_id is None:
        return None
    with tenant_transaction(scope):
        return Project.objects.within(scope).filter(pk=scope.project_id).values_list("public_id", flat=True).first()


def is_archived(scope: Scope, project_id: int) -> bool:
    """Whether the tenant's project with this row id is read-only."""
    with tenant_transaction(scope):
        return Project.objects.within(scope).filter(pk=project_id).exclude(archived_at=None).exists()


def default_project(scope: Scope) -> Project:
    """The tenant's default project.  Raises ProjectNotFound for a tenant that was not provisioned completely."""
    with tenant_transaction(scope):
        project = Project.objects.within(scope).filter(is_default=True).first()
    if project is None:
        raise ProjectNotFound
    return project


def review_policy(scope: Scope) -> Review:
    """Which memories of the scope's project wait for review.  Inside the tenant's transaction."""
    if scope.project_id is None:
        return Review.BY_DOOR
    policy = Project.objects.within(scope).filter(pk=scope.project_id).values_list("review", flat=True).first()
    return Review(policy or Review.BY_DOOR)


def list_projects(scope: Scope) -> list[Project]:
    with tenant_transaction(scope):
        return list(Project.objects.within(scope).order_by("-is_default", "name", "id"))


def branches_of(scope: Scope, space_uids: Sequence[uuid.UUID]) -> list[Space]:
    """The branches of these spaces, also those whose time is over, oldest first.  Inside the tenant's transaction."""
    return list(Space.objects.within(scope).filter(origin_uid__in=space_uids).order_by("pk"))


def branch_ids(scope: Scope, space_id: int) -> list[int]:
    """As ``branches_of``, by the id of one space."""
    uids = list(Space.objects.within(scope).filter(pk=space_id).values_list("uid", flat=True))
    return [one.pk for one in branches_of(scope, uids)]
