"""Prepared statements for the hot paths: constant SQL, planned once per connection, with binary results.

With the ORM, Django would build and PostgreSQL would plan each query again, which takes longer than running it.
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
_IDLE: Final = psycopg.pq.TransactionStatus.IDLE


# Values of these fields have a JSON form that PostgreSQL reads.  Django's own preparation takes seven times as long.
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
    """Binds parameters on the server, so that statements can be prepared (see DATABASE_PREPARE); results are binary.

    In a pipeline psycopg waits for the socket at each statement, to read results that may be there.  Here results are
    read when one is asked for, or when the pipeline ends (docs/adr/0060).
    """

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        done = super().execute(query, params, **{"binary": True, **options})
        self._query = _Written(self, query, params)  # type: ignore[assignment]  # read by Django's query log
        return done

    def _execute_gen(self, query: Any, params: Any = None, **options: Any) -> Any:
        if self._conn._pipeline is None:
            yield from super()._execute_gen(query, params, **options)
            return
        yield from self._start_query(query)
        yield from self._maybe_prepare_gen(self._convert_query(query, params), **options)
        self._last_query = query
        yield from self._conn._prepared.maintain_gen(self._conn)
        self._send()

    def _start_query(self, query: Any = None) -> Any:
        """Begin the transaction, if none has begun, without waiting for the answer of BEGIN in a pipeline."""
        connection = self._conn
        if connection._pipeline and not connection.autocommit and self._pgconn.transaction_status == _IDLE:
            yield from connection._exec_command(connection._get_tx_start_command())
            self._send()  # the transaction's status is no longer idle
        yield from super()._start_query(query)

    def _send(self) -> None:
        """Send the pipeline's commands, as far as the socket takes them now."""
        assert self._conn._pipeline is not None  # noqa: S101
        queue = self._conn._pipeline.command_queue
        while queue:
            queue.popleft()()
        self._pgconn.flush()


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement with its values inserted, built only when it is read."""

    cursor: psycopg.Cursor[Any]
    text: str
    values: Any

    @property
    def query(self) -> bytes:
        return psycopg.ClientCursor(self.cursor.connection).mogrify(self.text, self.values).encode()


def prepared_cursor(using: str = DEFAULT_DB_ALIAS) -> CursorWrapper:
    """Return a cursor inside the caller's transaction, for SQL text that is the same in each call.

    In transactions with ``snapshot`` or ``is_planned``, one generic plan serves all values, for small and large spaces.
    So the SQL must allow only one good plan: rows are found by an index's leading columns, and joins are lateral and by
    id (tests/isolation/test_pinned_plans.py).  A parameter whose type does not follow from its context needs a cast.
    """
    database = connections[using]
    assert database.connection is not None, "a transaction has begun"  # noqa: S101
    # Wrapped like Django's own cursors, for its exceptions and its query log.
    wrapped: CursorWrapper = database._prepare_cursor(_Prepared(database.connection))  # type: ignore[attr-defined]
    return wrapped


@contextmanager
def pipelined(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Send the block's statements without waiting for each result: one round trip to the database for all.

    They run in order.  Reading a result inside the block waits for all statements sent so far; after the block, all
    results are available.  Errors are raised as Django's, by the read that waits or at the end of the block.
    """
    database = connections[using]
    with database.wrap_database_errors, database.connection.pipeline():
        yield


class Columns(Generic[Row]):
    """The columns of a model, for use in SQL, and the conversion of result rows to model instances.

    only: attribute names to load, if not all.  but: those not to load.  Fields that are not loaded are deferred.
    """

    def __init__(self, model: type[Row], alias: str, *, only: Sequence[str] = (), but: Sequence[str] = ()) -> None:
        wanted = {*only} or {field.attname for field in model._meta.concrete_fields}
        fields = [field for field in model._meta.concrete_fields if field.attname in wanted.difference(but)]
        self._model: Final = model
        self._names: Final = tuple(field.attname for field in fields)
        self.sql: Final = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self.count: Final = len(fields)

    def row(self, values: Sequence[Any]) -> Row:
        return self._model.from_db("default", self._names, values)


def insert(rows: Iterable[models.Model]) -> None:
    """Insert new rows of one model, like ``bulk_create``, with one SQL text for any number of rows.

    The rows are sent as JSON, which PostgreSQL converts to the column types.  Either all rows have ids or none; in the
    latter case the database assigns them, and they are not read back.
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
    """Return the SQL, (column, attribute) of the fields with plain values, and the fields that prepare their values."""
    fields = [field for field in model._meta.concrete_fields if has_ids or not field.primary_key]
    table = model._meta.db_table
    columns = ", ".join(f'"{field.column}"' for field in fields)
    text = f"insert into {table} ({columns}) select {columns} from json_populate_recordset(null::{table}, %s)"  # noqa: S608
    others = [field for field in fields if not isinstance(field, _PLAIN) or _is_stamped(field)]
    return text, [(field.column, field.attname) for field in fields if field not in others], others


def _is_stamped(field: Any) -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _as_text(value: Any) -> str:
    """Convert a value without a JSON form to text that PostgreSQL reads."""
    if isinstance(value, (bytes, memoryview)):
        return f"\\x{value.hex()}"
    if isinstance(value, np.generic):
        return str(value.item())
    if isinstance(value, Range):
        return f"{value.bounds[0]}{value.lower or ''},{value.upper or ''}{value.bounds[1]}" if value else "empty"
    raise TypeError(type(value).__name__)
