"""Checkpoints, and rewinding: the memories of a space are again what they were after an earlier change.

Rewinding is a change of its own: what was stored since is superseded, what was replaced since is current again, and
each of these is a transition.  So a rewind is undone by rewinding to the change before it.  What was deleted or has
expired stays so, labels and metadata stay as they are, and a part of a text that ended stays ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q

from apps.apikeys.permissions import REVIEWS
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Malformed, NotFound
from apps.core.prepared_sql import insert
from apps.core.scoping import tenant_transaction
from apps.memories import validity
from apps.memories.models import Memory, MemoryCheckpoint, MemoryTransition, MemoryVector
from apps.memories.models.memory import Validity
from apps.memories.spaces import lock_space
from apps.memories.superseding import SupersedingForbidden, trust_in
from apps.memories.trust import Trust
from apps.memories.typed import OF_CALLER
from apps.memories.validity import Periods
from apps.memories.validity_changes import validity_after
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope

MOST: Final = 1_000  # checkpoints of a space
REWOUND: Final = "rewound"  # the reason of what a rewind ended
_COLUMNS: Final = (
    "validity", "superseded_by", "superseded_at", "superseded_reason", "valid_from", "valid_to", "known_from",
    "changed_txid", "updated_at",
)  # fmt: skip
_EVENT: Final[Mapping[str, str]] = {
    Validity.CURRENT: "revived",
    Validity.DISPUTED: "disputed",
    Validity.SUPERSEDED: "superseded",
}
_ORDER: Final = (Validity.SUPERSEDED, Validity.DISPUTED, Validity.CURRENT)


class CheckpointExists(Conflict):
    """There is a checkpoint with this name."""

    code = "CHECKPOINT_EXISTS"


class CheckpointNameIsNumber(Malformed):
    """A name of digits only means the number of a change: add a letter."""

    code = "CHECKPOINT_NAME_IS_NUMBER"


class TooManyCheckpoints(Conflict):
    """This end user has as many checkpoints as there may be."""

    code = "TOO_MANY_CHECKPOINTS"


class CheckpointNotFound(NotFound):
    """No such checkpoint, or change."""

    code = "CHECKPOINT_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMoment:
    """A checkpoint: its name, the number of the change, and when it was made."""

    name: str
    txid: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """restored: memories that are current again.  ended: those that are not any more.  before, txid: numbers of the
    changes before and of the rewind; rewinding to ``before`` undoes it."""

    restored: Sequence[int]
    ended: Sequence[int]
    before: int
    txid: int


def create_checkpoint(scope: Scope, name: str, *, now: datetime) -> NamedMoment:
    """Name the present state of the scope's one space.

    Raises CheckpointNameIsNumber, CheckpointExists, TooManyCheckpoints.
    """
    if _is_number(name):
        raise CheckpointNameIsNumber
    with tenant_transaction(scope):
        space, _ = lock_space(scope)
        mine = MemoryCheckpoint.objects.within(scope).filter(space_id=space.pk)
        if mine.filter(name=name).exists():
            raise CheckpointExists
        if mine.count() >= MOST:
            raise TooManyCheckpoints
        MemoryCheckpoint.objects.create(
            scope, space_id=space.pk, name=name, txid=space.txid, created_by=scope.principal.label, created_at=now
        )
        _record(scope, AuditAction.MEMORY_CHECKPOINT, 1, now=now)
    return NamedMoment(name=name, txid=space.txid, created_at=now)


def list_checkpoints(scope: Scope) -> list[NamedMoment]:
    """The checkpoints of the scope's one space, newest first; none without a space."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        rows = MemoryCheckpoint.objects.within(scope).filter(space_id=scope.space.id).order_by("-pk")
        return [NamedMoment(name=row.name, txid=row.txid, created_at=row.created_at) for row in rows]


def rewind(scope: Scope, to: str, *, dry_run: bool = False, now: datetime) -> Rewound:
    """Make the memories of the scope's one space hold as they did after a change.

    to: the name of a checkpoint, or the number of the change.  dry_run: only say what would change.
    Raises CheckpointNotFound, and SupersedingForbidden if it would end what only a reviewer may end (docs/adr/0012).
    """
    may_review = REVIEWS in scope.permissions
    with tenant_transaction(scope):
        space, _ = lock_space(scope)
        txid = change_named(scope, space, to)
        done = rewind_locked(scope, space, txid, may_review=may_review, dry_run=dry_run, now=now)
        if done.txid != done.before:
            _record(scope, AuditAction.MEMORY_REWIND, len(done.restored) + len(done.ended), now=now)
    return done


def rewind_locked(
    scope: Scope, space: Space, txid: int, *, may_review: bool, dry_run: bool = False, now: datetime
) -> Rewound:
    """As ``rewind``, to the change with this number, under the lock of the space."""
    before = space.txid
    # Only rows that changed since can differ.  In id order, as in all code that changes memories.
    rows = Memory.objects.within(scope).filter(retention_status="active", changed_txid__gt=txid)
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=now), is_summary=False)
    changed = list(rows.order_by("pk").select_for_update(no_key=True))
    moves = _moves(changed, validity_after(scope, [row.pk for row in changed], txid))
    if not may_review and any(one.ends and trust_in(one.row) > Trust.SAID for one in moves):
        raise SupersedingForbidden
    ended = [one.row.pk for one in moves if one.ends]
    restored = [one.row.pk for one in moves if one.begins]
    if moves and not dry_run:
        space.txid += 1
        space.save(update_fields=["txid"])
        _apply(scope, space, moves, now=now)
    return Rewound(restored=restored, ended=ended, before=before, txid=space.txid)


@dataclass(frozen=True, slots=True)
class _Move:
    """A memory, and the validity and the successor that it had then."""

    row: Memory
    validity: str
    by: int | None

    @property
    def ends(self) -> bool:
        return self.row.validity != Validity.SUPERSEDED and self.validity == Validity.SUPERSEDED

    @property
    def begins(self) -> bool:
        return self.row.validity == Validity.SUPERSEDED and self.validity != Validity.SUPERSEDED


def change_named(scope: Scope, space: Space, to: str) -> int:
    """The number of the change that a checkpoint or a number in digits names.  Raises CheckpointNotFound."""
    if _is_number(to) and len(to) <= 18 and int(to) <= space.txid:
        return int(to)
    named = (
        MemoryCheckpoint.objects.within(scope).filter(space_id=space.pk, name=to).values_list("txid", flat=True).first()
    )
    if named is None:
        raise CheckpointNotFound
    return named


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _moves(rows: Sequence[Memory], then: Mapping[int, tuple[str, int | None]]) -> list[_Move]:
    """What differs.  A memory that was stored since is superseded by nothing, unless something replaced it already."""
    moves: list[_Move] = []
    for row in rows:
        if row.pk in then:
            was, by = then[row.pk]
        elif row.validity == Validity.SUPERSEDED:
            continue
        else:
            was, by = Validity.SUPERSEDED, None
        if (row.validity, row.superseded_by_id) != (was, by):
            moves.append(_Move(row, was, by))
    return moves


def _apply(scope: Scope, space: Space, moves: Sequence[_Move], *, now: datetime) -> None:
    held = validity.read(scope, [one.row for one in moves])
    notes = [
        MemoryTransition(
            tenant_id=scope.tenant_id,
            memory_id=one.row.pk,
            space_id=space.pk,
            txid=space.txid,
            event=_EVENT[one.validity],
            actor=scope.principal.label,
            other_id=one.by,
            created_at=now,
        )
        for one in moves
    ]
    ended, restored = [one.row.pk for one in moves if one.ends], [one.row.pk for one in moves if one.begins]
    for one in moves:
        _change(one, held[one.row.pk], space, now=now)
    validity.write(scope, space.pk, {pk: one for pk, one in held.items() if one.has_changed}, now=now)
    # Ended ones first: the unique index of one current row per slot is checked at every statement.
    for rows in ([one.row for one in moves if one.validity == name] for name in _ORDER):
        Memory.objects.within_tenant(scope).bulk_update(rows, _COLUMNS)
    vectors = MemoryVector.objects.within(scope)
    vectors.filter(memory_id__in=ended).update(live=False)
    vectors.filter(memory_id__in=restored).update(live=True)
    with_ours = vectors.filter(memory_id__in=restored).exclude(embedder__startswith=OF_CALLER)
    if again := sorted(with_ours.values_list("memory_id", flat=True)):
        enqueue(scope, "embed", again, now=now)  # a change of the embedder skips superseded memories
    insert(notes)


def _change(one: _Move, periods: Periods, space: Space, *, now: datetime) -> None:
    row = one.row
    if one.ends:
        periods.end_latest(now, now=now)
        row.superseded_at, row.superseded_reason = now, REWOUND
    if one.begins:
        periods.begin(now, now=now)
        row.superseded_at, row.superseded_reason = None, ""
    row.validity, row.superseded_by_id = one.validity, one.by
    periods.put_into(row)
    row.changed_txid, row.updated_at = space.txid, now


def _record(scope: Scope, action: AuditAction, count: int, *, now: datetime) -> None:
    target = f"space:{scope.space.id}"
    record(scope, actor=scope.principal.label, action=action, target=target, count=count, now=now)
