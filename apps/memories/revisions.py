"""The history of memories: written with each change, with encrypted old and new values, and read in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.integrity import TRANSITION
from apps.memories.models import Memory, MemoryTransition
from apps.memories.models.history import DIFF
from apps.memories.selectors import MemoryNotFound, part_with
from apps.projects.models import Space
from apps.projects.scope import SYSTEM, Scope

TRACKED: Final = (
    "tags", "importance", "metadata", "fields", "source", "event_type", "summary", "retention_status", "superseded_by"
)  # fmt: skip
# Names of events in the API, where they differ from those in the rows.
EVENTS: Final = {"revived": "restored", "retyped": "updated", "ended": "updated"}
FIELDS: Final = "fields"
TYPE, TEXT = "extracted_type", "text"  # set by changes of types and by ended parts, never by a caller

Diff = Mapping[str, Mapping[str, Any]]  # field: {"old": …, "new": …}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One change of one memory.  diff: empty if the event says everything."""

    memory_id: int
    event: str
    diff: Diff = field(default_factory=dict)
    other_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """number: 0 for the creation.  actor: None for the system's own work."""

    number: int
    event: str
    changed_fields: Sequence[str]
    diff: Diff
    actor: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """total: the number of all revisions, including the creation."""

    memory_id: int
    total: int
    revisions: Sequence[Revision]


def write(scope: Scope, space: Space, changes: Sequence[FieldChange], cipher: SpaceCipher, *, now: datetime) -> None:
    """Store these changes, in order.  In the transaction that makes them and has set the space's change number."""
    ids = reserve_ids(len(changes), sequence="memories_memorytransition_id_seq")
    MemoryTransition.objects.bulk_create(
        scope,
        (
            MemoryTransition(
                id=row_id,
                memory_id=change.memory_id,
                space_id=space.pk,
                txid=space.txid,
                event=change.event,
                actor=scope.principal.label,
                other_id=change.other_id,
                changed_fields=list(change.diff),
                diff_ct=cipher.seal(DIFF, row_id, orjson.dumps(change.diff)) if change.diff else None,
                key_version=cipher.key_version if change.diff else None,
                created_at=now,
            )
            for row_id, change in zip(ids, changes, strict=True)
        ),
    )


def former_fields(
    scope: Scope, txids: Mapping[int, int | None], cipher: SpaceCipher
) -> dict[int, Mapping[str, Any] | None]:
    """The values of fields that memories had before the change of these numbers, by memory; None if it changed none.

    txids: by memory, all of one space.  A memory whose entry does not decrypt is left out.  Inside the tenant's
    transaction.
    """
    noted = MemoryTransition.objects.within(scope).filter(memory_id__in=txids, txid__in=set(txids.values()))
    found: dict[int, Mapping[str, Any] | None] = {}
    for row in noted.filter(event="retyped").order_by("pk"):
        if row.txid != txids[row.memory_id] or row.diff_ct is None:
            continue
        try:
            diff: Diff = orjson.loads(cipher.open_bytes(DIFF, row.pk, bytes(row.diff_ct)))
        except DecryptError:
            continue
        found[row.memory_id] = diff[FIELDS]["old"] if FIELDS in diff else None
    return found


def get_history(scope: Scope, memory_id: int, *, limit: int, offset: int, now: datetime) -> History:
    """A page of the memory's history, oldest first.  Raises MemoryNotFound, as reading the memory does."""
    scope = part_with(scope, memory_id, now=now)
    with tenant_transaction(scope, snapshot=True):
        memory = Memory.objects.within(scope).existing(now).filter(pk=memory_id).only("created_at").first()
        if memory is None:
            raise MemoryNotFound
        noted = MemoryTransition.objects.within(scope).filter(memory_id=memory_id).order_by("pk")
        changes = noted.exclude(event="created")
        total = 1 + changes.count()
        page = list(changes[max(offset - 1, 0) : max(offset - 1 + limit, 0)])
        replaced = list(changes.filter(event="superseded").values_list("pk", "other_id"))
        created_by = noted.filter(event="created").values_list("actor", flat=True).first()
    cipher = open_space(scope.tenant, scope.space)
    revisions = [_creation(memory, created_by)] if offset == 0 and limit > 0 else []
    for number, row in enumerate(page, start=max(offset, 1)):
        revisions.append(_revision(number, row, _diff(scope, row, replaced, cipher, now=now)))
    return History(memory_id=memory_id, total=total, revisions=revisions)


def _creation(memory: Memory, actor: str | None) -> Revision:
    return Revision(
        number=0, event="created", changed_fields=(), diff={}, actor=_named(actor), created_at=memory.created_at
    )


def _revision(number: int, row: MemoryTransition, diff: Diff) -> Revision:
    return Revision(
        number=number,
        event=EVENTS.get(row.event, row.event),
        changed_fields=[name for name in row.changed_fields if name in (*TRACKED, TYPE, TEXT)] or list(diff),
        diff=diff,
        actor=_named(row.actor),
        created_at=row.created_at,
    )


def _diff(
    scope: Scope,
    row: MemoryTransition,
    replaced: Iterable[tuple[int, int | None]],
    cipher: SpaceCipher,
    *,
    now: datetime,
) -> Diff:
    """The changed fields, decrypted or implied by the event.  Empty if decryption fails."""
    if row.diff_ct is None:
        return _implied(row, replaced)
    try:
        opened: Diff = orjson.loads(cipher.open_bytes(DIFF, row.pk, bytes(row.diff_ct)))
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, table=TRANSITION, now=now)
        return {}
    return {name: opened[name] for name in (*TRACKED, TYPE, TEXT) if name in opened}


def _implied(row: MemoryTransition, replaced: Iterable[tuple[int, int | None]]) -> Diff:
    """The diff of an event that stores no values: states and ids follow from the event."""
    if row.event == "superseded":
        return _states("active", "archived") | {"superseded_by": {"old": None, "new": row.other_id}}
    if row.event == "revived":
        before = [other_id for pk, other_id in replaced if pk < row.pk]
        return _states("archived", "active") | {"superseded_by": {"old": before[-1] if before else None, "new": None}}
    if row.event in ("soft_deleted", "archived"):
        return _states("active", row.event)
    return {}


def _states(old: str, new: str) -> dict[str, dict[str, Any]]:
    return {"retention_status": {"old": old, "new": new}}


def _named(actor: str | None) -> str | None:
    return None if actor == SYSTEM.label else actor
