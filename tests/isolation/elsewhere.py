"""Asks of a statement whether rows that are elsewhere are to it as rows that are not there.

Elsewhere is another tenant, space, environment or owner.  Just before a statement runs, some rows of a table that it
names are moved there, the statement is tried, and all of it is taken back; then the same with these rows deleted.  So
with the rows of all its tables at once.  At last every row of them gets a twin elsewhere, with the same id.  If the
statement answers and changes the same, it is walled: it needs no row-level security, no key and no constraint for it.
The role of the connection must be one that row-level security does not hold, and one that may alter the tables.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import errors

from tests.isolation.filters import ROOT, WALLS

APPS: Final = str(ROOT / "apps")
# Which rows are moved, or deleted: every one, and a half and its other half, twice.
CHOICES: Final = ("true", *(f"hashtext(ctid::text || '{salt}') & 1 = {bit}" for salt in "ab" for bit in (0, 1)))
_MOVED: Final = {
    "int4": "{0} + 1000000",
    "int8": "{0} + 1000000",
    "uuid": "md5({0}::text)::uuid",
    "varchar": "case {0} when 'production' then 'staging' else 'production' end",
}
_TABLES: Final = """
select attrelid::regclass::text, array_agg(attname::text), array_agg(typname::text),
    (select coalesce(json_object_agg(indexrelid::regclass, (select json_agg(attname) from pg_attribute
        where attrelid = indrelid and attnum = any(indkey))), '{}') from pg_index
     where indrelid = a.attrelid and indisunique)
from pg_attribute a join pg_class c on c.oid = attrelid join pg_type t on t.oid = atttypid
where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped and attgenerated = ''
group by attrelid
"""

MALFORMED: Final = (
    errors.AmbiguousColumn,
    errors.DatatypeMismatch,
    errors.SyntaxError,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
    errors.UndefinedTable,
)

# Where a statement came from: file and line of each of our own functions on the way to it, the outermost first.
Origin = tuple[tuple[str, int], ...]
Breach = tuple[Origin, str, str]  # where from; table and column, or tables and wall


@dataclass(frozen=True, slots=True)
class Table:
    """walls: by column, its type.  uniques: by name of the index, its columns."""

    name: str
    columns: list[str]
    walls: dict[str, str]
    uniques: dict[str, list[str]]

    def gone(self, chosen: str) -> str:
        return f"delete from {self.name} where {chosen}"  # noqa: S608

    def moved(self, column: str, chosen: str) -> str:
        return f"update {self.name} set {column} = {self._elsewhere(column)} where {chosen}"  # noqa: S608

    def loose(self, column: str) -> str:
        """Nothing keeps two rows apart that differ in this column alone."""
        names = [name for name, columns in self.uniques.items() if column not in columns]
        return "; ".join(
            ["set constraints all immediate"]
            + [f"alter table {self.name} drop constraint if exists {name} cascade" for name in names]
            + [f"drop index if exists {name}" for name in names]
        )

    def with_twins(self, column: str) -> str:
        names = [f'"{one}"' for one in self.columns]
        copied = ", ".join(self._elsewhere(column) if name == f'"{column}"' else name for name in names)
        into = f"{self.name} ({', '.join(names)}) overriding system value"
        return f"{self.loose(column)}; insert into {into} select {copied} from {self.name}"  # noqa: S608

    def _elsewhere(self, column: str) -> str:
        return _MOVED[self.walls[column]].format(column)


class Watch:
    """An execute wrapper of Django's.

    heard: the texts of all statements since ``listen``.  breaches: where one was not walled, and by what.  malformed:
    what PostgreSQL said of a statement that it does not understand.
    """

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self.breaches: set[Breach] = set()
        self.malformed = ""
        self._kinds: frozenset[str] = frozenset()
        self._is_asked: Callable[[str, Origin], bool] = lambda text, origin: False
        self._tables: dict[str, list[Table]] = {}

    def listen(
        self,
        kinds: Sequence[str] = (),
        *,
        asked: Callable[[str, Origin], bool] = lambda text, origin: True,
    ) -> None:
        """Start again.  kinds: of the walls that are tried, values of WALLS.  asked: of which statements."""
        self.heard, self.breaches, self.malformed = set(), set(), ""
        self._kinds, self._is_asked = frozenset(kinds), asked

    def __call__(self, execute: Callable[..., Any], text: Any, params: Any, many: bool, context: Any) -> Any:
        connection = context["connection"].connection
        said = text if isinstance(text, str) else text.as_string(connection)
        self.heard.add(said)
        if self._kinds and said.split(None, 1)[0].lower() in ("select", "with", "insert", "update", "delete"):
            origin = _origin()
            if self._is_asked(said, origin):
                for table, column in self._try(connection, said, text, params, many):
                    self.breaches.add((origin, table, column))
        return execute(text, params, many, context)

    def _try(
        self, connection: psycopg.Connection[Any], said: str, text: Any, params: Any, many: bool
    ) -> Iterator[tuple[str, str]]:
        def after(change: str) -> Any:
            try:
                return _outcome(connection, change, text, params, many)
            except MALFORMED as error:
                self.malformed = str(error)
                return None

        words = set(re.findall(r"\w+", said))
        mine = [table for table in self._of(connection) if table.name in words]
        for kind in self._kinds:
            walls = [(table, column) for table in mine for column in table.walls if _wall(table.name, column) == kind]
            for table, column in walls:
                if any(after(table.moved(column, one)) != after(table.gone(one)) for one in CHOICES):
                    yield table.name, column
            moved, gone, twins, loose = (
                "; ".join(changes)
                for changes in (
                    [table.moved(column, "true") for table, column in walls],
                    [table.gone("true") for table, _ in walls],
                    [table.with_twins(column) for table, column in walls],
                    [table.loose(column) for table, column in walls],
                )
            )
            if walls and (after(moved) != after(gone) or after(twins) != after(loose)):
                yield ", ".join(sorted(table.name for table, _ in walls)), kind

    def _of(self, connection: psycopg.Connection[Any]) -> list[Table]:
        """Those with a column that shows whose a row is."""
        database = connection.info.dbname
        if database not in self._tables:
            self._tables[database] = [
                Table(name, columns, walls, uniques)
                for name, columns, types, uniques in connection.cursor().execute(_TABLES).fetchall()
                if (walls := {one: kind for one, kind in zip(columns, types, strict=True) if _wall(name, one)})
            ]
        return self._tables[database]


def _wall(table: str, column: str) -> str | None:
    if table == "tenants_tenant":
        return "tenant" if column in ("id", "uid") else None
    return WALLS.get(column)


def _outcome(connection: psycopg.Connection[Any], change: str, text: Any, params: Any, many: bool) -> Any:
    """What the statement answers after the change, none of which remains.  Of rows in any order, and how many."""
    is_inside = connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
    begin, back = "savepoint elsewhere", "rollback to elsewhere; release elsewhere"
    connection.cursor().execute(begin if is_inside else "begin")
    try:
        cursor = connection.cursor()
        cursor.execute("set local session_replication_role = replica")
        cursor.execute(change.encode())
        cursor.execute("set local session_replication_role = origin")
        if many:
            cursor.executemany(text, params)
            return cursor.rowcount
        cursor.execute(text, params)
        is_insert = str(text).lstrip().lower().startswith("insert")  # new rows have new ids
        rows = sorted(map(repr, cursor.fetchall())) if cursor.description and not is_insert else []
        return cursor.rowcount, rows
    except MALFORMED:
        raise
    except psycopg.Error as error:
        return type(error).__name__
    finally:
        connection.cursor().execute(back if is_inside else "rollback")


def _origin() -> Origin:
    frames = []
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(APPS):
            frames.append((str(Path(frame.f_code.co_filename).relative_to(ROOT)), frame.f_lineno))
        frame = frame.f_back
    return tuple(reversed(frames))
