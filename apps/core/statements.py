"""Statements that nearly every request comes by: written once, planned once a connection, answered in binary.

Django builds a query anew each time and PostgreSQL plans it anew, which together take longer than running it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import psycopg
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

Row = TypeVar("Row", bound=models.Model)


class _Prepared(psycopg.Cursor[Any]):
    """Binds on the server, so that the connection may prepare (see DATABASE_PREPARE), and asks for bytes as bytes."""

    is_replanned = False

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        prepare = False if self.is_replanned else None
        done = super().execute(query, params, **{"binary": True, "prepare": prepare, **options})
        self._query = _Written(self, query, params)  # type: ignore[assignment]  # what Django's log of statements reads
        return done


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement with its values in it, made out only when somebody reads it."""

    cursor: psycopg.Cursor[Any]
    text: str
    values: Any

    @property
    def query(self) -> bytes:
        return psycopg.ClientCursor(self.cursor.connection).mogrify(self.text, self.values).encode()


@contextmanager
def prepared_cursor(*, is_replanned: bool = False) -> Iterator[CursorWrapper]:
    """A cursor of the main database, inside the caller's transaction, for texts that do not change from call to call.

    is_replanned: planned at each call, since the best plan depends on the values, as on how much a space holds.
    A value that stands alone, with nothing beside it that tells its type, needs a cast.
    """
    assert connection.connection is not None, "a transaction has begun"  # noqa: S101
    bare = _Prepared(connection.connection)
    bare.is_replanned = is_replanned
    # Wrapped as Django wraps its own: its errors, its log of statements.
    with connection._prepare_cursor(bare) as cursor:  # type: ignore[attr-defined]
        yield cursor


class Columns(Generic[Row]):
    """All columns of a model, to be named in a statement and read back as a row of it."""

    def __init__(self, model: type[Row], alias: str) -> None:
        fields = model._meta.concrete_fields
        self._model: Final = model
        self._names: Final = tuple(field.attname for field in fields)
        self.sql: Final = ", ".join(f"{alias}.{field.column}" for field in fields)
        self.count: Final = len(fields)

    def row(self, values: Sequence[Any]) -> Row:
        return self._model.from_db("default", self._names, values)
