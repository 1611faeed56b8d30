"""What an attacker with the database at hand does to rows, as its superuser; and what the product noticed of it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
from django.db import connections

from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.memories import integrity
from apps.memories.models import QuarantinedRow
from apps.projects.scope import Scope

# Every sealed column of a memory, and that of its vector.
SEALED = ("text_ct", "label_ct", "tags_ct", "metadata_ct", "handles_ct")


@contextmanager
def superuser(superuser_url: str) -> Iterator[Any]:
    name = connections["default"].settings_dict["NAME"]
    url = f"{superuser_url.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(url, autocommit=True) as one, one.cursor() as cursor:
        yield cursor


def read(cursor: Any, memory_id: int, column: str) -> Any:
    cursor.execute(f"select {column} from {_table(column)} where {_key(column)} = %s", [memory_id])  # noqa: S608
    (value,) = cursor.fetchone()
    return value


def vectors_of(cursor: Any, memory_ids: Iterable[int]) -> int:
    """How many vectors these memories have."""
    cursor.execute("select count(*) from memories_memoryvector where memory_id = any(%s)", [list(memory_ids)])
    (count,) = cursor.fetchone()
    return int(count)


def write(cursor: Any, memory_id: int, column: str, value: Any) -> None:
    cursor.execute(f"update {_table(column)} set {column} = %s where {_key(column)} = %s", [value, memory_id])  # noqa: S608
    assert cursor.rowcount == 1


@contextmanager
def changed(cursor: Any, memory_id: int, column: str, value: Any) -> Iterator[None]:
    """Afterwards the column is as it was."""
    before = read(cursor, memory_id, column)
    write(cursor, memory_id, column, value)
    try:
        yield
    finally:
        write(cursor, memory_id, column, before)


def _table(column: str) -> str:
    return "memories_memoryvector" if column == "embedding_ct" else "memories_memory"


def _key(column: str) -> str:
    return "memory_id" if column == "embedding_ct" else "id"


def listed(scope: Scope) -> list[tuple[str, int, str, int]]:
    """(table, record, reason, times) of every row in quarantine.  Writes what is still waiting to be noted."""
    integrity.flush()
    with tenant_transaction(scope):
        rows = QuarantinedRow.objects.within(scope).order_by("table", "record_id")
        return list(rows.values_list("table", "record_id", "reason", "times"))


def told(scope: Scope, *, action: str = "integrity.failed", at: datetime | None = None) -> list[tuple[str, str]]:
    """(target, reason) of every such audit row, oldest first; of one moment alone if it is given."""
    integrity.flush()
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, action=action).order_by("pk")
        if at is not None:
            rows = rows.filter(created_at=at)
        return list(rows.values_list("target", "reason"))
