"""Open the memories of an answer with all their fields."""

from collections.abc import Sequence

from apps.crypto.services import DecryptError
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.opened import OpenedMemory
from apps.memories.rows import recallable_rows
from apps.memories.sealing import open_memory
from apps.memories.validity import AsOf, put_intervals
from apps.recall.options import Options
from apps.recall.query_context import SearchedSpace
from apps.recall.search import moment_of


def open_hits(space: SearchedSpace, ids: Sequence[int], options: Options) -> dict[int, OpenedMemory]:
    """The memories by id, without those of which a field fails to decrypt.  Call inside the snapshot."""
    scope = space.scope
    memories: dict[int, OpenedMemory] = {}
    moment, lifetimes = moment_of(options.filters, now=options.now), lifetimes_of(scope, [space.ref.id])
    rows = recallable_rows(scope.in_spaces(space.ref), ids, moment, now=options.now)
    if isinstance(moment, AsOf):
        put_intervals(scope, rows, moment)
    for row in rows:
        try:
            memories[row.pk] = open_memory(row, space.cipher, space.ref, lifetimes, moment=moment)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=space.ref.id, now=options.now)
    return memories
