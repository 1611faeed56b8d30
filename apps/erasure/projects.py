"""Deletion of an empty project.  Its memories must be erased first; they never move to another project."""

from collections import Counter
from datetime import datetime
from typing import Final

from psycopg.sql import SQL, Identifier

from apps.apikeys.services import revoke_pinned
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.queries import fetch_value
from apps.core.scoping import tenant_transaction
from apps.erasure.hard_delete import erase_project, erase_waiting_of_project
from apps.erasure.project_tables import PROJECT_TABLES, ProjectTable
from apps.projects.scope import Scope
from apps.projects.services import lock_project

# What blocks deletion of a project, in addition to open rows in PROJECT_TABLES.
_MEMORIES: Final = ProjectTable(table="memories_memory", kind="memories", is_open="true")
_HOLDS: Final = ProjectTable(table="erasure_hold", kind="legal_holds", is_open="lifted_at is null")


class DefaultProjectRemains(Conflict):
    """The default project cannot be deleted: requests that name no project belong to it."""


class ProjectNotEmpty(Conflict):
    """This project is not empty; `details` lists its contents: erase them in the browser, or archive the project."""

    code = "PROJECT_NOT_EMPTY"


def delete_project(scope: Scope, public_id: str, *, now: datetime) -> None:
    """Delete the project's row, its closed rows and its policy, and revoke the API keys pinned to it.

    A concurrent write either commits first, so that the project is not empty, or is refused.

    Raises ProjectNotFound, DefaultProjectRemains, ProjectNotEmpty.
    """
    with tenant_transaction(scope):
        project = lock_project(scope, public_id)
        if project.is_default:
            raise DefaultProjectRemains
        if left := _left(scope, project.pk):
            raise ProjectNotEmpty(details=[{"kind": kind, "count": count} for kind, count in left.items()])
        revoke_pinned(scope, project.pk, now=now)
        erase_waiting_of_project(scope, public_id)
        erase_project(scope, project.pk)
        target = f"project:{project.pk}"
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.PROJECT_DELETE,
            target=target,
            reason=public_id,
            now=now,
        )


def _left(scope: Scope, project_id: int) -> Counter[str]:
    found: Counter[str] = Counter()
    mine = SQL("select count(*) from {} where tenant_id = {} and project_id = {} and {}")
    for one in (_MEMORIES, *(table for table in PROJECT_TABLES if table.is_open), _HOLDS):
        statement = mine.format(Identifier(one.table), scope.tenant_id, project_id, SQL(one.is_open))
        found[one.kind] = fetch_value(statement)
    return +found
