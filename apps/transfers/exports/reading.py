"""Reads the next part of an export: rows as lines of the file, and the memories and spaces they belong to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Value
from django.db.models.functions import Coalesce, Length

from apps.core.scoping import ScopedQuerySet
from apps.crypto.encrypted_tables import living_ciphers
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.sealing import open_memory
from apps.memories.spaces import shown_name
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Scope, SpaceRef
from apps.tenants.models import EXTERNAL_ID, EndUser
from apps.transfers.exports import formats
from apps.transfers.exports.filters import ExportFilters, matching, says
from apps.transfers.models.exports import ExportJob, Format

BATCH_ROWS: Final = 100  # rows per part ...
BATCH_BYTES: Final = 4 * 1024 * 1024  # ... and encrypted bytes per part, unless a single row is larger


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPart:
    """Some lines.  space: set if all of them belong to one space.  scanned: rows that were read, unreadable ones
    included.

    after_id, section: where the next part begins; is_last: there is no next part.
    """

    lines: Sequence[bytes]
    memory_ids: Sequence[int]
    space_ids: Sequence[int]
    space: SpaceRef | None
    scanned: int
    unreadable: int
    after_id: int
    section: int = 0
    is_last: bool = False


def next_memories(
    scope: Scope, job: ExportJob, filters: ExportFilters, cipher: SpaceCipher, *, now: datetime
) -> ExportPart:
    """The next memories that match the filters.  Inside the tenant's transaction.

    scope: its environment and project are exported.  cipher: the tenant's.  A row that cannot be decrypted is left out
    and counted; rows of a shredded space are left out.
    """
    rows = matching(scope, filters, space_id=job.space_id, asked_at=job.created_at, now=now)
    large = ["text_ct", "metadata_ct", "content_ct", "fields_ct"]
    ids = some_ids(rows.filter(pk__gt=job.after_id, pk__lte=job.newest_id), large)
    if not ids:
        return ExportPart(
            lines=(), memory_ids=(), space_ids=(), space=None, scanned=0, unreadable=0, after_id=job.newest_id,
            is_last=True,
        )  # fmt: skip
    found = list(rows.filter(pk__in=ids).order_by("pk").to_open())
    spaces = Space.objects.within(scope).in_bulk({row.space_id for row in found})
    ciphers, names = living_ciphers(scope, spaces.values()), names_of(scope, list(spaces.values()), cipher)
    lifetimes = lifetimes_of(scope, spaces)
    lines: list[bytes] = []
    written: list[tuple[int, int]] = []
    unreadable = 0
    for row in found:
        own = ciphers.get(row.space_id)
        if own is None:
            continue
        space = spaces[row.space_id].ref
        try:
            memory = open_memory(row, own, space, lifetimes)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
            unreadable += 1
            continue
        if says(memory, filters.q):
            said = formats.row_of(memory, names.get(space.owner_id), kind=space.kind)
            lines.append(formats.csv_row(said) if job.format == Format.CSV else formats.jsonl(said))
            written.append((row.pk, row.space_id))
    return ExportPart(
        lines=lines,
        memory_ids=[memory_id for memory_id, _ in written],
        space_ids=sorted({space_id for _, space_id in written}),
        space=spaces[job.space_id].ref if job.space_id in spaces else None,
        scanned=len(found),
        unreadable=unreadable,
        after_id=ids[-1],
    )


def some_ids(rows: ScopedQuerySet[Any], columns: Iterable[str]) -> list[int]:
    """Ids of the first rows, as many as one part may read.  columns: the ones that may be large."""
    size = sum((Coalesce(Length(column), 0) for column in columns), Value(0))
    ids: list[int] = []
    total = 0
    for row_id, length in rows.order_by("pk").annotate(length=size).values_list("pk", "length")[:BATCH_ROWS]:
        total += length
        if ids and total > BATCH_BYTES:
            break
        ids.append(row_id)
    return ids


def names_of(scope: Scope, spaces: Sequence[Space], cipher: SpaceCipher) -> dict[int, str]:
    """The tenant's own ids of the end users and agents that own these spaces, by our id."""
    owners = {space.owner_id for space in spaces if space.kind in NAMED_KINDS}
    found: dict[int, str] = {}
    for row in EndUser.objects.within(scope).filter(pk__in=owners):
        try:
            found[row.pk] = shown_name(cipher.open(EXTERNAL_ID, row.pk, bytes(row.external_ct)).reveal())
        except DecryptError:
            continue
    return found
