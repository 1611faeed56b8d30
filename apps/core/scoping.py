"""Whose data: the shut manager, and the transaction that tells PostgreSQL which tenant is asking.

Two walls.  The first: ``objects`` reads nothing until ``within(scope)`` has been said, and creates rows of a scope's
tenant only.  The second: row-level security shows no row of a tenant table unless the transaction has named that tenant
(see ``tenant_transaction``).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, Self, TypeVar

from django.db import connections, models, transaction

from apps.core.models import BaseModel

Row = TypeVar("Row", bound="ScopedModel")


class InTenant(Protocol):
    """Anything that says which tenant it belongs to; in practice ``apps.projects.scope.Scope``."""

    @property
    def tenant_id(self) -> int: ...


class ScopeRequired(Exception):
    """A query on tenant data did not say whose."""


class WrongTenant(Exception):
    """A row that was to be created belongs to another tenant than the scope."""


class ScopedQuerySet(models.QuerySet[Row]):
    """Chainable filters; ``within`` is where every one begins."""

    def within(self, scope: InTenant) -> Self:
        return self.filter(tenant_id=scope.tenant_id)


class ScopedManager(models.Manager[Row]):
    """Refuses everything that names no scope: ``within(scope)`` reads and changes, three methods create."""

    def get_queryset(self) -> NoReturn:
        raise ScopeRequired(f"{self.model.__name__}.objects needs .within(scope)")

    def within(self, scope: InTenant) -> ScopedQuerySet[Row]:
        return ScopedQuerySet[Row](self.model, using=self._db).within(scope)

    def create(self, scope: InTenant, /, **fields: Any) -> Any:  # type: ignore[override]
        """A new row of the scope's tenant.  Raises WrongTenant."""
        # Any: of what returns a row mypy's plugin for Django takes the scope for the row's first field.
        (row,) = self._owned(scope, [self.model(**fields)])
        row.save(force_insert=True, using=self._db)
        return row

    def bulk_create(  # type: ignore[override]
        self, scope: InTenant, rows: Iterable[Row], /, *, ignore_conflicts: bool = False
    ) -> list[Row]:
        """Save new rows of the scope's tenant in one statement; the rows.  Raises WrongTenant, and then saves none."""
        owned = self._owned(scope, rows)
        return self._unfiltered().bulk_create(owned, ignore_conflicts=ignore_conflicts)

    def update_or_create(  # type: ignore[override]
        self, scope: InTenant, /, *, defaults: Mapping[str, Any], create_defaults: Mapping[str, Any], **lookup: Any
    ) -> tuple[Row, bool]:
        """The row of the scope's tenant that was found and changed, or is new, and whether it is.  Raises WrongTenant
        where a field names a tenant."""
        if not {"tenant", "tenant_id"}.isdisjoint({*defaults, *create_defaults, *lookup}):
            raise WrongTenant(self.model.__name__)
        return self._unfiltered().update_or_create(
            tenant_id=scope.tenant_id, defaults=defaults, create_defaults=create_defaults, **lookup
        )

    def _unfiltered(self) -> models.QuerySet[Row]:
        return models.QuerySet(self.model, using=self._db)

    def _owned(self, scope: InTenant, rows: Iterable[Row]) -> list[Row]:
        """The rows, with the scope's tenant where they name none.  Raises WrongTenant where they name another."""
        owned = list(rows)
        for row in owned:
            if row.tenant_id is None:
                row.tenant_id = scope.tenant_id
            if row.tenant_id != scope.tenant_id:
                raise WrongTenant(self.model.__name__)
        return owned


class ScopedModel(BaseModel):
    """A row that belongs to one tenant, and leaves with it."""

    # No index of its own: every index of a tenant table begins with the tenant, and a bare one misleads the planner.
    tenant = models.ForeignKey("tenants.Tenant", models.CASCADE, related_name="+", db_index=False)
    everyone = models.Manager()  # for Django's own machinery; a guard test lists who else may use it

    class Meta:
        abstract = True
        default_manager_name = "everyone"

    def _do_update(self, base_qs: Any, *arguments: Any) -> Any:
        """What ``save`` does to a row that exists.  Django names the row by its id alone; here the tenant goes with it,
        as in every other statement."""
        mine = base_qs.filter(tenant_id=self.tenant_id)
        return super()._do_update(mine, *arguments)


@contextmanager
def tenant_transaction(
    scope: InTenant, *, using: str = "default", snapshot: bool = False, is_planned: bool = False
) -> Iterator[None]:
    """A transaction in which row-level security shows this tenant's rows and no others.

    snapshot: all its statements see the same moment, and none may write; inside another transaction, that one's rules.
    is_planned: what is prepared is planned once for all values, as it is in a snapshot.

    The setting is local to the transaction: it can never outlive it on a pooled connection.  Inside a transaction of
    another tenant it is put back on the way out, so that nesting cannot widen what the outer one sees.
    """
    is_nested = connections[using].in_atomic_block
    mine = str(scope.tenant_id)
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        if not is_nested:
            # BEGIN, the level and the tenant travel together: a third of the waiting of a short transaction.
            with connections[using].connection.pipeline():
                if snapshot:
                    cursor.execute("set transaction isolation level repeatable read, read only")
                if snapshot or is_planned:
                    # Planning takes longer than running.
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
