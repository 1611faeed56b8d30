"""Run one SQL statement and return its result.

params: the values of ``%s`` in the statement, or a mapping for ``%(name)s``.  using: the database's alias.  prepared:
with ``prepared_cursor``, which sets conditions for the statement and the caller.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connections
from django.db.backends.utils import CursorWrapper
from psycopg.sql import Composable

from apps.core.prepared_sql import prepared_cursor

Query = str | Composable
Params = Sequence[Any] | Mapping[str, Any] | None
Row = tuple[Any, ...]


def execute(sql: Query, params: Params = None, *, using: str = "default", prepared: bool = False) -> int:
    """Return the number of rows that the statement changed or found; in a block of ``pipelined`` it is not known."""
    with _cursor(using, prepared) as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def fetch_all(sql: Query, params: Params = None, *, using: str = "default", prepared: bool = False) -> list[Row]:
    """Return all rows."""
    with _cursor(using, prepared) as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def fetch_one(sql: Query, params: Params = None, *, using: str = "default", prepared: bool = False) -> Row | None:
    """Return the first row; None if there is none."""
    with _cursor(using, prepared) as cursor:
        cursor.execute(sql, params)
        row: Row | None = cursor.fetchone()
        return row


def fetch_column(sql: Query, params: Params = None, *, using: str = "default", prepared: bool = False) -> list[Any]:
    """Return the first column of all rows."""
    return [row[0] for row in fetch_all(sql, params, using=using, prepared=prepared)]


def fetch_value(
    sql: Query, params: Params = None, *, default: Any = None, using: str = "default", prepared: bool = False
) -> Any:
    """Return the first column of the first row; ``default`` if there is no row."""
    row = fetch_one(sql, params, using=using, prepared=prepared)
    return row[0] if row else default


def _cursor(using: str, prepared: bool) -> CursorWrapper:
    return prepared_cursor(using) if prepared else connections[using].cursor()
