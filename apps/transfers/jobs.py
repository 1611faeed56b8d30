"""Functions shared by imports and exports."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from psycopg.sql import SQL, Identifier

from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Scope
from apps.transfers.models.jobs import TransferJob

KEPT_FOR: Final = timedelta(days=30)  # rows of jobs that have ended


def scope_of(scope: Scope, job: TransferJob) -> Scope:
    """The scope of the caller who asked for the job, in its environment and project."""
    kind, _, number = job.actor.partition(":")
    principal = replace(scope.principal, kind=kind, id=int(number))
    return replace(scope, environment=Environment(job.environment), principal=principal, project_id=job.project_id)


def delete_ended(scope: Scope, kind: type[TransferJob], *, kept_status: str | None = None, now: datetime) -> None:
    """Delete the rows of jobs that ended long ago, except those with ``kept_status``."""
    # Raw SQL, because Django would collect the dependent rows and delete by id only.
    statement = SQL("delete from {} where tenant_id = %s and completed_at < %s and status is distinct from %s")
    with tenant_transaction(scope):
        execute(statement.format(Identifier(kind._meta.db_table)), [scope.tenant_id, now - KEPT_FOR, kept_status])
