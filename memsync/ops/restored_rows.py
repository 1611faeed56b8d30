"""A mark that blocks all requests during a restore.  After a killed restore it stays until the restore is repeated.

The mark is an empty schema in the main database, outside the schema that a restore replaces.  Every new connection
checks for it, and a restore begins only when there are no older connections, so that requests need no check.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from apps.core.errors import Unavailable
from apps.core.queries import execute

MARK: Final = "memsync_restoring"
_mine = False  # whether this process runs the restore


class RestoreUnderWay(Unavailable):
    """A restore of the databases is under way, or was stopped: run `memsync restore` again; nobody is served before."""

    code = "RESTORE_UNDER_WAY"


@contextmanager
def as_restorer() -> Iterator[None]:
    """Let this process connect in spite of the mark."""
    global _mine
    _mine = True
    try:
        yield
    finally:
        _mine = False


def is_marked() -> bool:
    return _has_mark(connections["default"])


def mark() -> None:
    execute(f"create schema if not exists {MARK}")


def unmark() -> None:
    execute(f"drop schema if exists {MARK}")


def watch() -> None:
    """Check every new connection from now on.  Call it once, when Django is ready."""
    connection_created.connect(_refuse, dispatch_uid=MARK)


def _refuse(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    if _mine or connection.alias == "keyring":
        return
    if _has_mark(connection):
        connection.close()  # otherwise the next statement would succeed
        raise RestoreUnderWay


def _has_mark(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select from pg_namespace where nspname = %s)", [MARK])
        row = cursor.fetchone()
    return bool(row and row[0])
