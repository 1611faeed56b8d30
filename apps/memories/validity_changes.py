"""Changes of the validity of single memories outside a write, and what it was after an earlier change.

In the transaction that holds the space's lock.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from apps.core.queries import fetch_all
from apps.memories import validity
from apps.memories.models import Memory, MemoryTransition, MemoryVector, Validity
from apps.memories.validity import Periods
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope

WITHDRAWN: Final = "withdrawn"  # ``superseded_reason`` of a memory that its source no longer states
_CHANGED: Final = (
    "validity", "superseded_by", "superseded_at", "superseded_reason", "valid_from", "valid_to", "known_from",
    "changed_txid", "updated_at",
)  # fmt: skip
# Events that change whether a memory holds, and the validity after each.
_AFTER: Final[Mapping[str, str]] = {
    "created": Validity.CURRENT,
    "revived": Validity.CURRENT,
    "settled": Validity.CURRENT,
    "disputed": Validity.DISPUTED,
    "superseded": Validity.SUPERSEDED,
}
VALIDITY_EVENTS: Final = tuple(_AFTER)
_THEN: Final = """
select wanted.id, last.event, last.other_id from unnest(%s::bigint[]) wanted(id) cross join lateral (
    select event, other_id from memories_memorytransition
    where tenant_id = %s and memory_id = wanted.id and txid <= %s and event = any(%s)
    order by id desc limit 1
) last"""


def validity_after(scope: Scope, memory_ids: Sequence[int], txid: int) -> dict[int, tuple[str, int | None]]:
    """Memory id to its validity and its successor after a change, of those that existed then."""
    found = fetch_all(_THEN, [list(memory_ids), scope.tenant_id, txid, list(VALIDITY_EVENTS)], prepared=True)
    return {
        memory_id: (_AFTER[event], other_id if event == "superseded" else None) for memory_id, event, other_id in found
    }


def end_withdrawn(scope: Scope, space: Space, rows: Sequence[Memory], *, now: datetime) -> None:
    """Supersede these live memories as of now, without a successor: their source no longer states them.

    rows: locked.
    """
    if not rows:
        return
    space.txid += 1
    space.save(update_fields=["txid"])
    held = validity.read(scope, rows)
    for row in rows:
        row.validity, row.superseded_by_id = Validity.SUPERSEDED, None
        row.superseded_at, row.superseded_reason = now, WITHDRAWN
        held[row.pk].end_latest(now, now=now)
        save_change(scope, row, held[row.pk], space.txid, "superseded", None, now=now)


def save_change(
    scope: Scope, row: Memory, held: Periods, txid: int, event: str, other_id: int | None, *, now: datetime
) -> None:
    """Save a row whose validity or period changed, and note it in its history.  event: as in the history.

    other_id: the memory that superseded it, if any.
    """
    held.put_into(row)
    validity.write(scope, row.space_id, {row.pk: held}, now=now)
    row.changed_txid, row.updated_at = txid, now
    row.save(update_fields=_CHANGED)
    vectors = MemoryVector.objects.within(scope).filter(memory_id=row.pk)
    vectors.update(live=row.is_live())
    if row.is_live():
        # A refresh skips superseded memories, so the vector may be outdated; embedding it again is harmless.
        enqueue(scope, "embed", [row.pk], now=now)
    MemoryTransition.objects.create(
        scope,
        memory_id=row.pk,
        space_id=row.space_id,
        txid=txid,
        event=event,
        actor=scope.principal.label,
        other_id=other_id,
        created_at=now,
    )
