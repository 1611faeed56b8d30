"""Migration operations for tenant isolation, encrypted tables, and an app's SQL files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import migrations, router
from django.db.migrations.operations.base import Operation

_TENANT = "nullif(current_setting('app.tenant_id', true), '')::bigint"
_REVERSE = "\n-- Reverse\n"


class TableOperation(Operation):
    """SQL on the table of one model that does not change its fields."""

    reversible = True

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def sql(self, table: str) -> list[str]:
        """Return the statements that apply the operation."""
        raise NotImplementedError

    def reverse_sql(self, table: str) -> list[str]:
        """Return the statements that reverse the operation."""
        raise NotImplementedError

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.sql, app_label, schema_editor, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self._run(self.reverse_sql, app_label, schema_editor, to_state)

    def _run(self, statements: Any, app_label: str, schema_editor: Any, state: Any) -> None:
        model = state.apps.get_model(app_label, self.model_name)
        if router.allow_migrate_model(schema_editor.connection.alias, model):  # includes unmanaged models
            for statement in statements(model._meta.db_table):
                schema_editor.execute(statement, params=None)


class EnableTenantIsolation(TableOperation):
    """Force row-level security on the table, and allow references only to rows of the same tenant.

    parents: column to referenced table; a row is deleted with its parent.  optional_parents: the column is set to null
    when its parent is deleted.  space_parents: as ``parents``, and both rows must belong to the same space.
    or_readable: SQL condition under which rows of other tenants may be read (never written).  allow_no_tenant: rows
    without a tenant are visible in a transaction without one.
    """

    def __init__(
        self,
        model_name: str,
        *,
        parents: Mapping[str, str] | None = None,
        optional_parents: Mapping[str, str] | None = None,
        space_parents: Mapping[str, str] | None = None,
        or_readable: str = "",
        allow_no_tenant: bool = False,
    ) -> None:
        super().__init__(model_name)
        self.parents = parents or {}
        self.optional_parents = optional_parents or {}
        self.space_parents = space_parents or {}
        self.or_readable = or_readable
        self.allow_no_tenant = allow_no_tenant

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        arguments = {name: value for name, value in vars(self).items() if name[0] != "_" and value}
        return type(self).__qualname__, [], arguments

    def describe(self) -> str:
        return f"Enable tenant isolation of {self.model_name}"

    def sql(self, table: str) -> list[str]:
        own = f"tenant_id is not distinct from {_TENANT}" if self.allow_no_tenant else f"tenant_id = {_TENANT}"
        readable = f"{own} or {self.or_readable}" if self.or_readable else own
        return [
            f"alter table {table} enable row level security",
            f"alter table {table} force row level security",
            f"create policy tenant on {table} using ({readable}) with check ({own})",
            *(_foreign_key(table, column, parent) for column, parent in self.parents.items()),
            *(
                _foreign_key(table, column, parent, on_delete=f"set null ({column})")
                for column, parent in self.optional_parents.items()
            ),
            *(_foreign_key(table, column, parent, within="space") for column, parent in self.space_parents.items()),
        ]

    def reverse_sql(self, table: str) -> list[str]:
        return [
            *(f"alter table {table} drop constraint {table}_{column}_in_space" for column in self.space_parents),
            *(
                f"alter table {table} drop constraint {table}_{column}_in_tenant"
                for column in [*self.optional_parents, *self.parents]
            ),
            f"drop policy tenant on {table}",
            f"alter table {table} no force row level security",
            f"alter table {table} disable row level security",
        ]


def _foreign_key(table: str, column: str, parent: str, *, within: str = "tenant", on_delete: str = "cascade") -> str:
    scope = "tenant_id, space_id" if within == "space" else "tenant_id"
    return (
        f"alter table {table} add constraint {table}_{column}_in_{within} foreign key ({scope}, {column}) "
        f"references {parent} ({scope}, id) on delete {on_delete} deferrable initially deferred"
    )


class RequireActiveKeyVersion(TableOperation):
    """Reject rows whose ``key_version`` is not the tenant's active one (``apps/crypto/sql/key_versions.sql``)."""

    def describe(self) -> str:
        return f"Require the active key version in {self.model_name}"

    def sql(self, table: str) -> list[str]:
        return [
            f"create trigger guard_key_version before insert or update of key_version on {table} "
            "for each row execute function crypto_guard_key_version()"
        ]

    def reverse_sql(self, table: str) -> list[str]:
        return [f"drop trigger guard_key_version on {table}"]


def run_sql_file(app_label: str, name: str, *, database: str = "default") -> migrations.RunSQL:
    """Run ``sql/<name>.sql`` of the app.

    The file's first line describes what it creates.  The SQL to reverse it follows a line ``-- Reverse``.
    """
    text = (Path(apps.get_app_config(app_label).path) / "sql" / f"{name}.sql").read_text()
    forward, _, reverse = text.partition(_REVERSE)
    return migrations.RunSQL(forward, reverse or None, hints={"database": database})
