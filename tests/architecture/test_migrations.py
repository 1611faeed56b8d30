"""Migrations: none is missing, each app's are one line, and no tenant's table stands a release without its wall."""

import io
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections, migrations
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from apps.core.migration_operations import EnableTenantIsolation
from tests.architecture import walls

Key = tuple[str, str]
OUR_APPS = (
    "accounts", "apikeys", "audit", "breakglass", "connectors", "crypto", "edges", "entities", "erasure", "history",
    "ingest", "key_management", "memories", "memory_types", "outbox", "policies", "projects", "recall",
    "retention", "sources", "summaries", "tenants", "transfers", "webhooks",
)  # fmt: skip
_CREATED = re.compile(r"create (?:unlogged )?table (\w+) \(([^;]*)", re.IGNORECASE)


def ours() -> dict[Key, migrations.Migration]:
    loader = MigrationLoader(None)
    return {key: one for key, one in loader.disk_migrations.items() if one.__module__.startswith("apps.")}


def forks(parents: dict[Key, Iterable[Key]]) -> list[str]:
    """Places where an app's history is not one line.  parents: of each migration, those of its own app."""
    found = []
    for app in sorted({app for app, _ in parents}):
        chain = {key: [one for one in of if one[0] == app] for key, of in parents.items() if key[0] == app}
        starts = [name for (_, name), of in chain.items() if not of]
        if len(starts) != 1:
            found.append(f"{app} begins {len(starts)} times")
        children = Counter(parent for of in chain.values() for parent in of)
        found += [f"{app}.{name} is followed by {count}" for (_, name), count in children.items() if count > 1]
        found += [f"{app}.{name} merges {len(of)}" for (_, name), of in chain.items() if len(of) > 1]
    return found


def unwalled(of_one_app: Iterable[migrations.Migration]) -> set[str]:
    """Tables with a tenant that these migrations make and do not isolate.  Of one app, in order, of one release."""
    made: set[str] = set()
    tables: dict[str, str] = {}  # by the lower-case name of the model
    for migration in of_one_app:
        for operation in migration.operations:
            if isinstance(operation, migrations.CreateModel):
                table = operation.options.get("db_table", f"{migration.app_label}_{operation.name_lower}")
                tables[operation.name_lower] = table
                if {name for name, _ in operation.fields} & {"tenant", "tenant_id"} and operation.options.get(
                    "managed", True
                ):
                    made.add(table)
            elif isinstance(operation, migrations.RunSQL):
                made |= {table for table, columns in _CREATED.findall(str(operation.sql)) if "tenant_id" in columns}
            elif isinstance(operation, EnableTenantIsolation):
                made.discard(tables.get(operation.model_name.lower(), ""))
    return made - walls.OPEN_TABLES.keys()


@pytest.mark.django_db(databases="__all__")
def test_none_is_missing() -> None:
    output = io.StringIO()

    call_command("makemigrations", *OUR_APPS, check=True, dry_run=True, stdout=output)

    assert "No changes detected" in output.getvalue()


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_all_of_them_were_applied_and_what_they_make_is_there(alias: str) -> None:
    connection: Any = connections[alias]
    executor = MigrationExecutor(connection)
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))

    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    home = {
        model._meta.db_table: getattr(model, "database", "default")
        for model in executor.loader.project_state().apps.get_models()
    }
    assert {table for table, database in home.items() if database == alias} - there == set()
    assert {table for table, database in home.items() if database != alias} & there == set()


def test_the_history_of_every_app_is_one_line() -> None:
    assert forks({key: one.dependencies for key, one in ours().items()}) == []


def test_every_app_with_tables_is_looked_at() -> None:
    assert {app for app, _ in ours()} == set(OUR_APPS)


@pytest.mark.parametrize("app", OUR_APPS)
def test_a_tenants_table_gets_its_wall_in_the_release_that_makes_it(app: str) -> None:
    """Nothing is released yet, so all of an app's migrations ship together.  With a release, begin after its leaf."""
    mine = [one for key, one in sorted(ours().items()) if key[0] == app]

    assert unwalled(mine) == set()
