"""Registry of tables with encrypted columns.  The apps that own the tables register them.

Other apps maintain all registered tables without importing their models: ``apps.memories.reencryption`` re-encrypts
rows after a key rotation, and ``apps.memories.integrity`` quarantines rows that do not decrypt.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from django.db.models import Model

from apps.core.fields import EncryptedField, encrypted_fields
from apps.core.queries import execute
from apps.crypto.envelope import DecryptError
from apps.crypto.services import SpaceCipher, SpaceShredded, open_space, open_tenant
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A row that did not decrypt.  table: the registered name.  reason: the code of the DecryptError."""

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
    """A table with encrypted rows that store a ``key_version``.  Rows without encrypted values may have none."""

    @property
    def name(self) -> str: ...

    @property
    def table(self) -> str: ...

    def reseal(self, scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Broken]:
        """Re-encrypt these rows under the active key version and return those that did not decrypt.

        The caller has locked the rows.
        """

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Recompute the keyed hashes of the space's rows and return their number.

        space: None for rows that belong to no space.
        """


class BrokenRowReporter(Protocol):
    """Records that a row did not decrypt, even if the caller's transaction is rolled back."""

    def __call__(
        self, scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str, now: datetime
    ) -> None: ...


TABLES: Final[list[SealedTable]] = []
# By table name: decrypts one row, if it exists.  Raises DecryptError when it does not decrypt.
OPENERS: Final[dict[str, Callable[[Scope, int], None]]] = {}
_reports: Final[list[BrokenRowReporter]] = []


def register(table: SealedTable) -> None:
    """Register an app's encrypted table.  The app calls this once, from ``AppConfig.ready``."""
    TABLES.append(table)
    if isinstance(table, SealedColumns):
        OPENERS[table.name] = table.open_one


def report_to(report: BrokenRowReporter) -> None:
    """Register the app that stores the list of broken rows.  It calls this once, from ``AppConfig.ready``."""
    _reports.append(report)


def report_broken(
    scope: Scope, error: DecryptError, record_id: int, *, space_id: int | None, table: str, now: datetime
) -> None:
    """Report that a row did not decrypt.  The caller then skips the row and continues."""
    for report in _reports:
        report(scope, error, record_id, space_id=space_id, table=table, now=now)


def ciphers_of(scope: Scope, space_ids: set[int]) -> dict[int, SpaceCipher]:
    """Return the ciphers of these spaces under the active key version, by space id."""
    spaces = Space.objects.within(scope).filter(pk__in=space_ids)
    return {space.pk: open_space(scope.tenant, space.ref) for space in spaces}


def living_ciphers(scope: Scope, spaces: Iterable[Space]) -> dict[int, SpaceCipher]:
    """Return the ciphers of these spaces by space id, without shredded spaces."""
    found: dict[int, SpaceCipher] = {}
    for space in spaces:
        try:
            found[space.pk] = open_space(scope.tenant, space.ref)
        except SpaceShredded:
            continue
    return found


def write_columns(table: str, types: dict[str, str], rows: Sequence[Sequence[Any]], scope: Scope) -> None:
    """Update these columns for many rows of one table.  types: column name to SQL type, ``id`` first."""
    if not rows:
        return
    names = list(types)
    arrays = ", ".join(f"%s::{'text' if kind.endswith('[]') else kind}[]" for kind in types.values())
    sets = ", ".join(f"{name} = given.{name}::{types[name]}" for name in names[1:])
    columns = [list(column) for column in zip(*rows, strict=True)]
    execute(
        f"update {table} t set {sets} from unnest({arrays}) given({', '.join(names)}) "  # noqa: S608  (ours)
        "where t.tenant_id = %s and t.id = given.id",
        [*columns, scope.tenant_id],
    )


class SealedColumns:
    """A table whose encrypted columns are independent of each other, as in most tables.

    The columns are the model's EncryptedFields.  Rows are encrypted under the key of their space, or under the tenant's
    key if they belong to no space.
    """

    def __init__(self, name: str, model: Any) -> None:
        """name: of the table in the registry and in the quarantine."""
        self.name: Final = name
        self.model: Final = model

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
                opened = open_fields(row, cipher)
            except DecryptError as error:
                broken.append(
                    Broken(table=self.name, record_id=row.pk, space_id=_space_id(row), reason=error.reason, seen_at=now)
                )
                continue
            sealed.append([row.pk, cipher.key_version, *seal_fields(row, opened, cipher)])
        types = {"id": "bigint", "key_version": "integer"} | dict.fromkeys(encrypted_fields(self.model), "bytea")
        write_columns(self.table, types, sealed, scope)
        return broken

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Do nothing: this table has no keyed hashes.  A subclass for a table that has some overrides this method."""
        return 0

    def remake(self, scope: Scope, rows: Any, types: Mapping[str, str], handles: Callable[[Any], Sequence[Any]]) -> int:
        """Recompute the keyed hashes of these rows and return the number of rows written.

        types: column name to SQL type.  handles: returns the new values of one row, in the order of ``types``.  If it
        raises DecryptError, the row is not changed: it is in quarantine, or will be when it is next read.
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
        """Decrypt the row, if it exists, to check it.  Raises DecryptError."""
        row = self.model.objects.within(scope).filter(pk=row_id).first()
        if row is not None:
            open_fields(row, self.ciphers(scope, [row])[_space_id(row)])

    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """Return the ciphers for these rows by space id; the tenant's own cipher is under None."""
        found: dict[int | None, SpaceCipher] = {None: open_tenant(scope.tenant)}
        return found | dict(ciphers_of(scope, {one for row in rows if (one := _space_id(row)) is not None}))


def open_fields(row: Any, cipher: SpaceCipher) -> dict[str, bytes | None]:
    """Decrypt each encrypted column of the row, in model order.  Raises DecryptError."""
    return {column: open_field(field, row, cipher) for column, field in _fields_of(row).items()}


def seal_fields(row: Any, opened: Mapping[str, bytes | None], cipher: SpaceCipher) -> list[bytes | None]:
    """Encrypt what ``open_fields`` returned, in the same order."""
    fields = _fields_of(row)
    return [seal_field(fields[column], row, raw, cipher) for column, raw in opened.items()]


def open_field(field: EncryptedField, row: Any, cipher: SpaceCipher) -> bytes | None:
    """Decrypt one column of the row; None for null.  Raises DecryptError."""
    blob = getattr(row, field.attname)
    if blob is None:
        return None
    return cipher.open_bytes(field.context, row.pk, bytes(blob), revision=row.revision if field.is_revised else 0)


def seal_field(field: EncryptedField, row: Any, raw: bytes | None, cipher: SpaceCipher) -> bytes | None:
    """Encrypt ``raw`` into an envelope for this column of the row; None for None."""
    if raw is None:
        return None
    return cipher.seal(field.context, row.pk, raw, revision=row.revision if field.is_revised else 0)


def _fields_of(row: Any) -> Mapping[str, EncryptedField]:
    model: type[Model] = type(row)
    return encrypted_fields(model)


def _space_id(row: Any) -> int | None:
    space_id: int | None = getattr(row, "space_id", None)
    return space_id
