"""Create, rename and archive projects.  Each change writes an audit row in its transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid
from apps.core.scoping import tenant_transaction
from apps.projects.models import Project, Review
from apps.projects.scope import Scope
from apps.projects.selectors import ProjectNotFound

REVIEWS: Final[Mapping[str, str]] = {one.value: str(one.label) for one in Review}


class ProjectNameRefused(Invalid):
    """A project's name is 1 to 200 characters."""


class DefaultProjectStays(Conflict):
    """The default project cannot be archived: requests that name no project belong to it."""


class UnknownReview(Invalid):
    """review is by_door, off, low_confidence or all."""


def create_project(scope: Scope, name: str, *, is_default: bool = False, now: datetime) -> Project:
    """Create a project.  is_default: only when the tenant is provisioned; the database refuses a second default.
    Raises ProjectNameRefused."""
    name = _checked(name)
    with tenant_transaction(scope):
        project: Project = Project.objects.create(scope, name=name, is_default=is_default, created_at=now)
        _record(scope, AuditAction.PROJECT_CREATE, project, now=now)
    return project


def rename(scope: Scope, public_id: str, name: str, *, now: datetime) -> Project:
    """Raises ProjectNotFound or ProjectNameRefused."""
    name = _checked(name)
    with tenant_transaction(scope):
        project = lock_project(scope, public_id)
        project.name, project.updated_at = name, now
        project.save(update_fields=["name", "updated_at"])
        _record(scope, AuditAction.PROJECT_RENAME, project, now=now)
    return project


def archive(scope: Scope, public_id: str, *, now: datetime) -> Project:
    """Archive a project: its memories can be read, and none can be added.  Idempotent.

    Raises ProjectNotFound or DefaultProjectStays.
    """
    with tenant_transaction(scope):
        project = lock_project(scope, public_id)
        if project.is_default:
            raise DefaultProjectStays
        if project.archived_at is None:
            _set_archived(scope, project, now, AuditAction.PROJECT_ARCHIVE, now=now)
    return project


def unarchive(scope: Scope, public_id: str, *, now: datetime) -> Project:
    """Restore a project, so that memories can be added again.  Idempotent.  Raises ProjectNotFound."""
    with tenant_transaction(scope):
        project = lock_project(scope, public_id)
        if project.archived_at is not None:
            _set_archived(scope, project, None, AuditAction.PROJECT_UNARCHIVE, now=now)
    return project


def lock_project(scope: Scope, public_id: str) -> Project:
    """The project, locked against changes and new memories until this transaction ends.  Raises ProjectNotFound."""
    project = Project.objects.within(scope).select_for_update().filter(public_id=public_id).first()
    if project is None:
        raise ProjectNotFound
    return project


def set_review(scope: Scope, public_id: str, review: str, *, now: datetime) -> Project:
    """Set which memories wait for review; see ``Review``.  Pending candidates stay pending.

    Raises ProjectNotFound or UnknownReview.
    """
    if review not in Review.values:
        raise UnknownReview
    with tenant_transaction(scope):
        project = lock_project(scope, public_id)
        project.review, project.updated_at = review, now
        project.save(update_fields=["review", "updated_at"])
        _record(scope, AuditAction.PROJECT_REVIEW, project, reason=review, now=now)
    return project


def _checked(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise ProjectNameRefused
    return name


def _set_archived(
    scope: Scope, project: Project, archived_at: datetime | None, action: AuditAction, *, now: datetime
) -> None:
    project.archived_at, project.updated_at = archived_at, now
    project.save(update_fields=["archived_at", "updated_at"])
    _record(scope, action, project, now=now)


def _record(scope: Scope, action: AuditAction, project: Project, *, reason: str = "", now: datetime) -> None:
    target = f"project:{project.pk}"
    record(scope, actor=scope.principal.label, action=action, target=target, reason=reason, now=now)
