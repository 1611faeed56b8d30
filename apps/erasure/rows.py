"""Deletes all rows of a space or a tenant.  Tables come from the database's catalogue, so no new table is missed.

Rows of a space have its id in the column ``space_id``; rows of a tenant, in ``tenant_id``.
"""

from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import Final

from django.db import OperationalError
from psycopg.errors import DeadlockDetected
from psycopg.sql import SQL, Composed, Identifier

from apps.core.queries import execute, fetch_all, fetch_column, fetch_value
from apps.core.scoping import InTenant, tenant_transaction

BATCH: Final = 5_000  # rows per transaction: locks are short, and a killed command loses at most one batch
TRIES: Final = 5

SPACES: Final = "projects_space"
KEY_STATE: Final = "crypto_tenantkeystate"
KEPT_PREFIX: Final = "audit_"  # the audit log outlives the audited data ...
NOT_KEPT: Final = ("outbox_outboxevent",)  # ... but this table is a work queue


def tables_of_a_space() -> list[str]:
    """Return the tables whose rows belong to a space, referencing tables before referenced ones."""
    return _children_first(_with_columns("tenant_id", "space_id"))


def tables_of_a_tenant() -> list[str]:
    """Return the tables whose rows are deleted with a tenant, referencing tables before referenced ones."""
    every = _with_columns("tenant_id")
    return _children_first(name for name in every if name in NOT_KEPT or not name.startswith(KEPT_PREFIX))


def count(scope: InTenant, table: str, *, space_id: int | None = None, most: int | None = None) -> int:
    """Count the rows of a tenant or space.  Call it inside the tenant's transaction.  most: limit of the count."""
    counted = SQL("select count(*) from (select from {} where {} limit {}) counted")
    return int(fetch_value(counted.format(Identifier(table), _whose(scope, space_id), most)))


def delete_all(scope: InTenant, tables: Iterable[str], *, space_id: int | None = None) -> dict[str, int]:
    """Delete in transactions of at most BATCH rows; return the counts by table.  May be interrupted and repeated."""
    counts: dict[str, int] = {}
    for table in tables:
        while deleted := _delete_batch(scope, table, space_id):
            counts[table] = counts.get(table, 0) + deleted
    return counts


def delete_rest(scope: InTenant, tables: Iterable[str], *, space_id: int | None = None) -> dict[str, int]:
    """Delete the remaining rows in the caller's transaction, and return the counts by table."""
    counts = {table: _delete(scope, table, space_id, limit=None) for table in tables}
    return {table: number for table, number in counts.items() if number}


def _delete_batch(scope: InTenant, table: str, space_id: int | None) -> int:
    for attempt in range(1, TRIES + 1):
        try:
            with tenant_transaction(scope):
                return _delete(scope, table, space_id, limit=BATCH)
        except OperationalError as error:
            # Another process may lock the same rows in id order, for example to count accesses.
            if attempt == TRIES or not isinstance(error.__cause__, DeadlockDetected):
                raise
    raise AssertionError  # the last attempt returns or raises


def _delete(scope: InTenant, table: str, space_id: int | None, *, limit: int | None) -> int:
    chosen = SQL("select ctid from {} where {}").format(Identifier(table), _whose(scope, space_id))
    if limit is not None:
        chosen += SQL(" limit {}").format(limit)
    # Disable triggers that delete unreferenced rows of other tables: these rows would be missing in the counts.
    execute("select set_config('app.deletes_all', 'on', true)")
    return execute(SQL("delete from {} where ctid = any(array({}))").format(Identifier(table), chosen))


def _whose(scope: InTenant, space_id: int | None) -> Composed:
    mine = SQL("tenant_id = {}").format(scope.tenant_id)
    return mine if space_id is None else mine + SQL(" and space_id = {}").format(space_id)


def _with_columns(*columns: str) -> set[str]:
    return set(
        fetch_column(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped "
            "where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = any(%s) "
            "group by c.relname having count(*) = %s",
            [list(columns), len(columns)],
        )
    )


def _children_first(tables: Iterable[str]) -> list[str]:
    wanted = sorted(tables)
    pairs = fetch_all(
        "select near.relname, far.relname from pg_constraint join pg_class near on near.oid = conrelid "
        "join pg_class far on far.oid = confrelid where contype = 'f' and near.oid <> far.oid"
    )
    children = {table: sorted({near for near, far in pairs if far == table and near in wanted}) for table in wanted}
    return list(TopologicalSorter(children).static_order())
