"""Tenant isolation: a manager that requires a scope, and the transaction that sets the tenant in PostgreSQL.

There are two barriers.  ``objects`` refuses queries without ``within(scope)``, and creates rows of the scope's tenant
only.  Row-level security hides all rows of a tenant table unless the transaction has set that tenant (see
``tenant_transaction``).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, Self, TypeVar

from django.db import connections, models, transaction

from apps.core.models import BaseModel
from apps.core.prepared_sql import pipelined, prepared_cursor

Row = TypeVar("Row", bound="ScopedModel")


class InTenant(Protocol):
    """Anything with a tenant id; in practice ``apps.projects.scope.Scope``."""

    @property
    def tenant_id(self) -> int: ...


class InProject(InTenant, Protocol):
    """Anything with a tenant id and, where it is limited to one project, its id."""

    @property
    def project_id(self) -> int | None: ...


class ScopeRequired(Exception):
    """A query on tenant data has no scope."""


class WrongTenant(Exception):
    """A row to be created belongs to another tenant than the scope."""


class ScopedQuerySet(models.QuerySet[Row]):
    """A query set whose queries all begin with ``within``."""

    def within(self, scope: InTenant) -> Self:
        return self.filter(tenant_id=scope.tenant_id)

    def in_project(self, scope: InProject) -> Self:
        """Rows of the scope's project and of no project; all rows for a scope of every project."""
        if scope.project_id is None:
            return self
        return self.filter(models.Q(project_id=scope.project_id) | models.Q(project_id=None))


class ScopedManager(models.Manager[Row]):
    """Refuses queries without a scope: ``within(scope)`` reads and changes rows, three methods create them."""

    def get_queryset(self) -> NoReturn:
        raise ScopeRequired(f"{self.model.__name__}.objects needs .within(scope)")

    def within(self, scope: InTenant) -> ScopedQuerySet[Row]:
        return ScopedQuerySet[Row](self.model, using=self._db).within(scope)

    def create(self, scope: InTenant, /, **fields: Any) -> Any:  # type: ignore[override]
        """Create a row of the scope's tenant.  Raises WrongTenant."""
        # Any, because mypy's Django plugin would take the scope for the row's first field.
        (row,) = self._owned(scope, [self.model(**fields)])
        row.save(force_insert=True, using=self._db)
        return row

    def bulk_create(  # type: ignore[override]
        self, scope: InTenant, rows: Iterable[Row], /, *, ignore_conflicts: bool = False
    ) -> list[Row]:
        """Create rows of the scope's tenant in one statement and return them.  Raises WrongTenant, and saves none."""
        owned = self._owned(scope, rows)
        return self._unfiltered().bulk_create(owned, ignore_conflicts=ignore_conflicts)

    def update_or_create(  # type: ignore[override]
        self, scope: InTenant, /, *, defaults: Mapping[str, Any], create_defaults: Mapping[str, Any], **lookup: Any
    ) -> tuple[Row, bool]:
        """Update or create a row of the scope's tenant.  Return it and whether it is new.

        Raises WrongTenant if any field names a tenant.
        """
        if not {"tenant", "tenant_id"}.isdisjoint({*defaults, *create_defaults, *lookup}):
            raise WrongTenant(self.model.__name__)
        return self._unfiltered().update_or_create(
            tenant_id=scope.tenant_id, defaults=defaults, create_defaults=create_defaults, **lookup
        )

    def _unfiltered(self) -> models.QuerySet[Row]:
        return models.QuerySet(self.model, using=self._db)

    def _owned(self, scope: InTenant, rows: Iterable[Row]) -> list[Row]:
        """Return the rows, with the scope's tenant set where it was missing.  Raises WrongTenant for another tenant."""
        owned = list(rows)
        for row in owned:
            if row.tenant_id is None:
                row.tenant_id = scope.tenant_id
            if row.tenant_id != scope.tenant_id:
                raise WrongTenant(self.model.__name__)
        return owned


class ScopedModel(BaseModel):
    """A row that belongs to one tenant and is deleted with it."""

    # No separate index: every index of a tenant table begins with the tenant, and a bare one misleads the planner.
    tenant = models.ForeignKey("tenants.Tenant", models.CASCADE, related_name="+", db_index=False)
    everyone = models.Manager()  # for Django's own machinery; a guard test lists who else may use it

    class Meta:
        abstract = True
        default_manager_name = "everyone"

    def _do_update(self, base_qs: Any, *arguments: Any) -> Any:
        """Add the tenant to the condition of the update in ``save``, where Django uses only the id."""
        mine = base_qs.filter(tenant_id=self.tenant_id)
        return super()._do_update(mine, *arguments)


@contextmanager
def tenant_transaction(
    scope: InTenant, *, using: str = "default", snapshot: bool = False, is_planned: bool = False
) -> Iterator[None]:
    """Open a transaction in which row-level security shows only this tenant's rows.

    snapshot: repeatable read and read-only; ignored inside another transaction.  is_planned: prepared statements use
    one generic plan for all values, as in a snapshot.

    The tenant setting is local to the transaction, so it cannot outlive it on a pooled connection.  Inside a
    transaction of another tenant, the outer tenant is set again at the end.
    """
    is_nested = connections[using].in_atomic_block
    mine = str(scope.tenant_id)
    with transaction.atomic(using=using), prepared_cursor(using) as cursor:
        if not is_nested:
            # BEGIN, isolation level and tenant are sent together, which saves half of a short transaction's wait.
            with pipelined(using):
                if snapshot:
                    cursor.execute("set transaction isolation level repeatable read, read only")
                if snapshot or is_planned:
                    # Planning takes longer than execution.
                    cursor.execute("set local plan_cache_mode = force_generic_plan")
                cursor.execute("select set_config('app.tenant_id', %s, true)", [mine])
            yield
            return
        cursor.execute("select coalesce(current_setting('app.tenant_id', true), '')")
        (before,) = cursor.fetchone() or ("",)
        if before == mine:
            yield
            return
        cursor.execute("select set_config('app.tenant_id', %s, true)", [mine])
        yield
        cursor.execute("select set_config('app.tenant_id', %s, true)", [before])
