"""Statements that nearly every request runs: written once, planned once a connection, answered in binary.

Django builds a query again each time and PostgreSQL plans it again, which together take longer than running it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

import numpy as np
import orjson
import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.utils import CursorWrapper
from psycopg.types.range import Range

Row = TypeVar("Row", bound=models.Model)


# Of their values JSON has a form that PostgreSQL reads, and Django's own preparation takes seven times as long.
_PLAIN: Final = (
    models.BinaryField,
    models.BooleanField,
    models.CharField,
    models.DateTimeField,
    models.FloatField,
    models.ForeignKey,
    models.IntegerField,
    models.TextField,
    models.UUIDField,
)


class _Prepared(psycopg.Cursor[Any]):
    """Binds on the server, so that the connection may prepare (see DATABASE_PREPARE), and asks for bytes as bytes."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        done = super().execute(query, params, **{"binary": True, **options})
        self._query = _Written(self, query, params)  # type: ignore[assignment]  # what Django's log of statements reads
        return done


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement with its values in it, built only when it is read."""

    cursor: psycopg.Cursor[Any]
    text: str
    values: Any

    @property
    def query(self) -> bytes:
        return psycopg.ClientCursor(self.cursor.connection).mogrify(self.text, self.values).encode()


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """A cursor of the main database, inside the caller's transaction, for texts that do not change from call to call.

    In a snapshot and in an add one plan serves all values, of the smallest space and the largest, so the text must
    leave no choice: rows are found by an index's leading columns, and joins are lateral and by id
    (tests/isolation/test_pinned_plans.py).
    A value that stands alone, with nothing beside it that shows its type, needs a cast.
    """
    main = connections[DEFAULT_DB_ALIAS]
    assert main.connection is not None, "a transaction has begun"  # noqa: S101
    bare = _Prepared(main.connection)
    # Wrapped as Django wraps its own: its errors, its log of statements.
    with main._prepare_cursor(bare) as cursor:  # type: ignore[attr-defined]
        yield cursor


@contextmanager
def pipelined() -> Iterator[None]:
    """Statements in it are sent without waiting for the answers of those before: one trip to the database for all.

    They are done in their order.  A reader of an answer in it waits for all that was sent until then; after it, all
    are there.  An error of any is raised at the end, or by who waits, as Django raises it.
    """
    main = connections[DEFAULT_DB_ALIAS]
    with main.wrap_database_errors, main.connection.pipeline():
        yield


class Columns(Generic[Row]):
    """The columns of a model, to be named in a statement and read back as a row of it.

    only: the names of those fields that are wanted; Django reads any other when it is asked for.
    """

    def __init__(self, model: type[Row], alias: str, *, only: Sequence[str] = ()) -> None:
        fields = [field for field in model._meta.concrete_fields if not only or field.attname in only]
        self._model: Final = model
        self._names: Final = tuple(field.attname for field in fields)
        self.sql: Final = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self.count: Final = len(fields)

    def row(self, values: Sequence[Any]) -> Row:
        return self._model.from_db("default", self._names, values)


def insert(rows: Iterable[models.Model]) -> None:
    """Write new rows of one model, as ``bulk_create`` would, in one statement that is the same for any number of them.

    They travel as JSON, which PostgreSQL reads by the types of the table's columns.  Either all have their ids or none:
    then the database assigns them, and they are not read back.
    """
    given = list(rows)
    if not given:
        return
    text, plain, others = _insertion(type(given[0]), given[0].pk is not None)
    values = [
        {column: getattr(row, name) for column, name in plain}
        | {field.column: field.get_prep_value(field.pre_save(row, True)) for field in others}
        for row in given
    ]
    with prepared_cursor() as cursor:
        cursor.execute(text, [orjson.dumps(values, default=_as_text).decode()])


@cache
def _insertion(model: type[models.Model], has_ids: bool) -> tuple[str, Sequence[tuple[Any, str]], Sequence[Any]]:
    """The statement; column and attribute of the fields whose values go as they are; and the fields that make of it
    what is stored."""
    fields = [field for field in model._meta.concrete_fields if has_ids or not field.primary_key]
    table = model._meta.db_table
    columns = ", ".join(f'"{field.column}"' for field in fields)
    text = f"insert into {table} ({columns}) select {columns} from json_populate_recordset(null::{table}, %s)"  # noqa: S608
    others = [field for field in fields if not isinstance(field, _PLAIN) or _is_stamped(field)]
    return text, [(field.column, field.attname) for field in fields if field not in others], others


def _is_stamped(field: Any) -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _as_text(value: Any) -> str:
    """What JSON has no form for, as PostgreSQL reads it."""
    if isinstance(value, (bytes, memoryview)):
        return f"\\x{value.hex()}"
    if isinstance(value, np.generic):
        return str(value.item())
    if isinstance(value, Range):
        return f"{value.bounds[0]}{value.lower or ''},{value.upper or ''}{value.bounds[1]}" if value else "empty"
    raise TypeError(type(value).__name__)
