"""Tables of sealed rows: registered by the apps that own them, and tended by apps above that need not know them.

Two things are tended: keys turn, and rows that fail their seal are put aside (``apps.memories.reencryption`` and
``apps.memories.integrity``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol

from django.db import connection

from apps.core.fields import EncryptedField, encrypted_fields
from apps.crypto.envelope import DecryptError
from apps.crypto.services import SpaceCipher, open_space, open_tenant
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A row that did not open.  table: the registered name.  reason: the code of the DecryptError."""

    table: str
    record_id: int
    space_id: int | None
    reason: str
    seen_at: datetime
    times: int = 1

    @property
    def name(self) -> tuple[str, int]:
        return self.table, self.record_id


class SealedTable(Protocol):
    """A table with sealed rows that carry a ``key_version``; those without a seal may have none."""

    @property
    def name(self) -> str: ...

    @property
    def table(self) -> str: ...

    def reseal(self, scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Broken]:
        """Seal these rows, locked by the caller, under the active version; which of them did not open."""

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Remake the handles of the space's rows (None: of what belongs to no space); how many."""


class BrokenRowReporter(Protocol):
    """Remembers that a row did not open, whatever the outcome of the caller's transaction."""

    def __call__(
        self, scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str, now: datetime
    ) -> None: ...


TABLES: Final[list[SealedTable]] = []
# By a table's name: opens one row of it, if it is there.  Raises DecryptError when it does not open.
OPENERS: Final[dict[str, Callable[[Scope, int], None]]] = {}
_reports: Final[list[BrokenRowReporter]] = []


def register(table: SealedTable) -> None:
    """For an app that seals rows of its own: once, when it is ready."""
    TABLES.append(table)
    if isinstance(table, SealedColumns):
        OPENERS[table.name] = table.open_one


def report_to(report: BrokenRowReporter) -> None:
    """For the app that keeps the list of such rows: once, when it is ready."""
    _reports.append(report)


def report_broken(
    scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str, now: datetime
) -> None:
    """Report that a row did not open; the reader leaves it out and goes on."""
    for report in _reports:
        report(scope, error, record_id, space_id=space_id, table=table, now=now)


def ciphers_of(scope: Scope, space_ids: set[int]) -> dict[int, SpaceCipher]:
    """Under the active version, by the space's id."""
    spaces = Space.objects.within(scope).filter(pk__in=space_ids)
    return {space.pk: open_space(scope.tenant, space.ref) for space in spaces}


def write_columns(table: str, types: dict[str, str], rows: Sequence[Sequence[Any]], scope: Scope) -> None:
    """Set these columns of rows of one table.  types: column to its type, ``id`` first."""
    if not rows:
        return
    names = list(types)
    arrays = ", ".join(f"%s::{'text' if kind.endswith('[]') else kind}[]" for kind in types.values())
    sets = ", ".join(f"{name} = given.{name}::{types[name]}" for name in names[1:])
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"update {table} t set {sets} from unnest({arrays}) given({', '.join(names)}) "  # noqa: S608  (ours)
            "where t.tenant_id = %s and t.id = given.id",
            [*columns, scope.tenant_id],
        )


class SealedColumns:
    """A table of which each sealed column is opened and sealed by itself: most tables are.

    Its columns are the model's EncryptedFields.  Rows are encrypted under the key of their space, or the tenant's where
    they belong to none.
    """

    name: ClassVar[str]
    model: ClassVar[Any]

    @property
    def columns(self) -> dict[str, EncryptedField]:
        return encrypted_fields(self.model)

    @property
    def table(self) -> str:
        return str(self.model._meta.db_table)

    def reseal(self, scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Broken]:
        rows = list(self.model.objects.within(scope).filter(pk__in=list(ids)).order_by("pk"))
        ciphers = self.ciphers(scope, rows)
        broken: list[Broken] = []
        sealed: list[list[Any]] = []
        for row in rows:
            cipher = ciphers[_space_id(row)]
            try:
                opened = self.open_columns(row, cipher)
            except DecryptError as error:
                broken.append(
                    Broken(table=self.name, record_id=row.pk, space_id=_space_id(row), reason=error.reason, seen_at=now)
                )
                continue
            seals = [seal_field(self.columns[column], row, raw, cipher) for column, raw in opened.items()]
            sealed.append([row.pk, cipher.key_version, *seals])
        types = {"id": "bigint", "key_version": "integer"} | dict.fromkeys(self.columns, "bytea")
        write_columns(self.table, types, sealed, scope)
        return broken

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Nothing here is known by a handle; a table with handles says how to remake them."""
        return 0

    def remake(self, scope: Scope, rows: Any, types: Mapping[str, str], handles: Callable[[Any], Sequence[Any]]) -> int:
        """Remake the handles of these rows; how many there were.  types: column to its type.

        handles: of one row, in the order of the columns.  A row of which it raises DecryptError keeps those it has: it
        is in quarantine, or will be when it is next read.
        """
        made = []
        for row in rows.order_by("pk").iterator(1_000):
            try:
                made.append([row.pk, *handles(row)])
            except DecryptError:
                continue
        write_columns(self.table, {"id": "bigint", **types}, made, scope)
        return len(made)

    def open_one(self, scope: Scope, row_id: int) -> None:
        """Raises DecryptError if it does not open."""
        row = self.model.objects.within(scope).filter(pk=row_id).first()
        if row is not None:
            self.open_columns(row, self.ciphers(scope, [row])[_space_id(row)])

    def open_columns(self, row: Any, cipher: SpaceCipher) -> dict[str, bytes | None]:
        """The content of each sealed column, in order."""
        return {column: open_field(field, row, cipher) for column, field in self.columns.items()}

    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """By the id of the row's space; the tenant's under None."""
        found: dict[int | None, SpaceCipher] = {None: open_tenant(scope.tenant)}
        return found | dict(ciphers_of(scope, {one for row in rows if (one := _space_id(row)) is not None}))


def open_field(field: EncryptedField, row: Any, cipher: SpaceCipher) -> bytes | None:
    """The content of the row's column; None for null.  Raises DecryptError."""
    blob = getattr(row, field.attname)
    if blob is None:
        return None
    return cipher.open_bytes(field.context, row.pk, bytes(blob), revision=row.revision if field.is_revised else 0)


def seal_field(field: EncryptedField, row: Any, raw: bytes | None, cipher: SpaceCipher) -> bytes | None:
    """The envelope of ``raw`` for the row's column."""
    if raw is None:
        return None
    return cipher.seal(field.context, row.pk, raw, revision=row.revision if field.is_revised else 0)


def _space_id(row: Any) -> int | None:
    space_id: int | None = getattr(row, "space_id", None)
    return space_id
