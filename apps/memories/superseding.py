"""One memory supersedes another by a decision: about a conflict, or stated as a relation.

In the transaction that holds the space's lock.
"""

from datetime import datetime
from typing import Final

from apps.core.errors import Conflict, Forbidden
from apps.crypto.services import SpaceCipher, open_space
from apps.memories import end_parts, validity
from apps.memories.models import Memory, MemoryClaim, MemoryPeriod, MemoryTransition, Retention, Validity
from apps.memories.repetitions import set_repetitions
from apps.memories.soft_delete import holder_of_slot, yield_parts
from apps.memories.trust import Trust, trust_of
from apps.memories.validity_changes import save_change, validity_after
from apps.projects.models import Space
from apps.projects.scope import Scope

# Values of ``superseded_reason``.
RESOLVED: Final = "resolved"  # by a decision
STATED: Final = "stated"  # by a relation ``supersedes``
MERGED: Final = "merged"  # by a relation ``same_as``


class NotCurrent(Conflict):
    """Both memories must be current: one of them is archived, or was already superseded by another memory."""

    code = "NOT_CURRENT"


class ConstraintStays(Conflict):
    """A constraint cannot be overruled; forget it first, or decide in its favour."""

    code = "CONSTRAINT_STAYS"


class SummaryFollows(Conflict):
    """A summary changes with its sources: it supersedes no memory, and none supersedes it."""

    code = "SUMMARY_FOLLOWS_SOURCES"


class SupersedingForbidden(Forbidden):
    """This would end a memory that is trusted more: the key needs candidates:review."""

    code = "INSUFFICIENT_SCOPE"


def supersede(scope: Scope, by: Memory, row: Memory, cipher: SpaceCipher, *, reason: str, now: datetime) -> None:
    """Make the first of two locked rows supersede the second.

    Its validity ends where the first one's began; if it began later, it never held.  If it had superseded the first,
    that takes its place: it becomes current again, or superseded by whatever superseded the second.  If it had ended a
    part of the first, the whole holds again.
    """
    space = _next(scope)
    txid = space.txid
    _restore(scope, space, by, row.pk, cipher, now=now)
    held = validity.read(scope, [by, row])
    place = row.validity, row.superseded_by_id, row.superseded_at, row.superseded_reason
    end = row.valid_to
    row.validity, row.superseded_by_id = Validity.SUPERSEDED, by.pk
    row.superseded_at, row.superseded_reason = now, reason
    held[row.pk].end_latest(held[by.pk].latest.start, now=now)
    # Save this one first: the unique constraint on the slot is checked at every statement.
    save_change(scope, row, held[row.pk], txid, "superseded", by.pk, now=now)
    was = by.validity
    if was == Validity.SUPERSEDED:
        by.validity, by.superseded_by_id, by.superseded_at, by.superseded_reason = place
        held[by.pk].change(held[by.pk].latest, end=end, now=now)
    if by.validity == Validity.DISPUTED and not _is_disputed_still(scope, by):
        by.validity = Validity.CURRENT
    if was == Validity.SUPERSEDED or by.validity != was:
        event = "superseded" if not by.is_live() else "revived" if was == Validity.SUPERSEDED else "settled"
        save_change(scope, by, held[by.pk], txid, event, by.superseded_by_id, now=now)


def supersede_as_stated(
    scope: Scope, by_id: int, memory_id: int, *, reason: str, may_review: bool, now: datetime
) -> bool:
    """Make one current memory supersede another because a caller says so; returns whether anything changed.

    reason: STATED or MERGED; a merged memory's repetitions count for the other.  may_review: otherwise no memory is
    ended that is trusted more than the other one, or than what a program says (docs/adr/0012).
    Both exist, in the scope's one space.  Raises NotCurrent, SummaryFollows, ConstraintStays, SupersedingForbidden.
    """
    by, row = lock_both(scope, by_id, memory_id)
    if row.superseded_by_id == by_id:
        return False
    if by.is_summary or row.is_summary:
        raise SummaryFollows
    if not (by.is_live() and row.is_live()):
        raise NotCurrent
    if row.type == "constraint":
        raise ConstraintStays
    if not may_review and trust_in(row) > min(trust_in(by), Trust.SAID):
        raise SupersedingForbidden
    supersede(scope, by, row, open_space(scope.tenant, scope.space, writing=True), reason=reason, now=now)
    if reason == MERGED:
        set_repetitions(by, by.repetition_count + row.repetition_count)
    return True


def undo_stated(scope: Scope, by_id: int, memory_id: int, *, now: datetime) -> bool:
    """Undo ``supersede_as_stated``; returns whether anything changed.

    The memory holds again, as if it had never been superseded.  If another memory has taken its slot meanwhile, it
    remains superseded, by that one.  Nothing changes if it is superseded for another reason by now, or not at all.
    """
    by, row = lock_both(scope, by_id, memory_id)
    if row.superseded_by_id != by_id or row.superseded_reason not in (STATED, MERGED):
        return False
    if row.superseded_reason == MERGED:
        set_repetitions(by, by.repetition_count - row.repetition_count)
    before = validity_after(scope, [by_id, memory_id], _superseded_in(scope, by_id, memory_id) - 1)
    was, _ = before.get(memory_id, (Validity.CURRENT, None))
    space = _next(scope)
    held = validity.read(scope, [by, row])
    held[memory_id].change(held[memory_id].latest, end=_end_before(scope, row), now=now)
    holder = None
    if row.slot is not None and was == Validity.CURRENT and row.retention_status == Retention.ACTIVE:
        holder = holder_of_slot(scope, space, bytes(row.slot), row.pk)
    if holder is not None:
        row.superseded_by_id, row.superseded_at, row.superseded_reason = holder.pk, now, "newer"
        held[memory_id].end_latest(holder.valid_from or holder.created_at, now=now)
        save_change(scope, row, held[memory_id], space.txid, "superseded", holder.pk, now=now)
        return True
    row.validity, row.superseded_by_id, row.superseded_at, row.superseded_reason = was, None, None, ""
    is_disputed = was == Validity.DISPUTED
    save_change(scope, row, held[memory_id], space.txid, "disputed" if is_disputed else "revived", None, now=now)
    if is_disputed and by.validity == Validity.CURRENT and before.get(by_id, ("", None))[0] == was:
        by.validity = Validity.DISPUTED
        save_change(scope, by, held[by_id], space.txid, "disputed", None, now=now)
    yield_parts(scope, row, space, open_space(scope.tenant, scope.space, writing=True), now=now)
    space.save(update_fields=["term_total"])
    return True


def lock_both(scope: Scope, one_id: int, other_id: int) -> tuple[Memory, Memory]:
    """The rows of two memories of the scope's one space, locked in the order of their ids; returned as requested."""
    rows = Memory.objects.within(scope).filter(pk__in=(one_id, other_id)).order_by("pk")
    locked = {row.pk: row for row in rows.select_for_update(no_key=True)}
    return locked[one_id], locked[other_id]


def trust_in(row: Memory) -> Trust:
    return trust_of(source_kind=row.source_kind, source_strength=row.source_strength, pinned=row.pinned)


def _superseded_in(scope: Scope, by_id: int, memory_id: int) -> int:
    """The number of the change in which the one superseded the other."""
    noted = MemoryTransition.objects.within(scope).filter(memory_id=memory_id, event="superseded", other_id=by_id)
    return noted.order_by("-pk").values_list("txid", flat=True)[0]


def _end_before(scope: Scope, row: Memory) -> datetime | None:
    """The end of the row's latest interval as it was believed before the row was superseded."""
    since, corrected_at = row.valid_from or row.created_at, row.known_from or row.created_at
    corrected = MemoryPeriod.objects.within(scope).filter(memory_id=row.pk, valid_from=since, known_to=corrected_at)
    return corrected.order_by("-pk").values_list("valid_to", flat=True).first()


def _is_disputed_still(scope: Scope, row: Memory) -> bool:
    """Whether another active row in the same slot is disputed."""
    if row.slot is None:
        return False
    others = Memory.objects.within_tenant(scope).filter(space_id=row.space_id, slot=row.slot).exclude(pk=row.pk)
    return others.filter(retention_status="active", validity=Validity.DISPUTED).exists()


def _restore(scope: Scope, space: Space, row: Memory, by: int, cipher: SpaceCipher, *, now: datetime) -> None:
    """Undo what memory ``by`` did to the row: restore the parts it ended and clear ``outdated_by``."""
    if end_parts.restore_parts(scope, space, row, by=by, cipher=cipher, now=now):
        claims = MemoryClaim.objects.within(scope).filter(memory_id=row.pk, superseded_by_id=by)
        claims.update(validity=Validity.CURRENT, valid_to=None, superseded_by_id=None, known_from=now)
        space.save(update_fields=["term_total"])
    if row.outdated_by_id == by:
        row.outdated_by_id = None
        row.save(update_fields=["outdated_by_id"])


def _next(scope: Scope) -> Space:
    """The space, with its change number incremented."""
    space = Space.objects.within(scope).get(pk=scope.space.id)
    space.txid += 1
    space.save(update_fields=["txid"])
    return space
