"""Resolve a conflict of two memories by a user's decision: the winner supersedes the loser, as at a write."""

from datetime import datetime

from apps.core.errors import Conflict
from apps.crypto.services import SpaceCipher, open_space
from apps.memories import end_parts, validity
from apps.memories.models import Memory, MemoryClaim, Validity
from apps.memories.sealing import open_parts
from apps.memories.validity_changes import save_change
from apps.projects.models import Space
from apps.projects.scope import Scope


class WinnerSuperseded(Conflict):
    """The winning memory was itself replaced by a third one; decide between those two first."""

    code = "WINNER_SUPERSEDED"


class ConstraintStays(Conflict):
    """A constraint cannot be overruled; forget it first, or decide in its favour."""

    code = "CONSTRAINT_STAYS"


def resolve_in_favour_of(scope: Scope, winner_id: int, loser_id: int, *, now: datetime) -> bool:
    """Make the winner supersede the loser; returns whether anything changed.  Both exist, in the scope's one space.

    The loser's validity ends where the winner's began; a loser that began later never held.  A winner that the loser
    had superseded takes the loser's place: it becomes current again, or superseded by whatever superseded the loser.
    If the loser had ended a part of the winner, the whole winner holds again.  If the winner had already ended a part
    of the loser, nothing changes and the rest of the loser holds.  Raises WinnerSuperseded, ConstraintStays.  In the
    transaction that holds the space's lock.
    """
    rows = Memory.objects.within(scope).filter(pk__in=(winner_id, loser_id)).order_by("pk")
    locked = {row.pk: row for row in rows.select_for_update(no_key=True)}
    winner, loser = locked[winner_id], locked[loser_id]
    cipher = open_space(scope.tenant, scope.space, writing=True)
    if loser.superseded_by_id == winner_id or any(part.by == winner_id for part in open_parts(loser, cipher)):
        return False
    if winner.validity == Validity.SUPERSEDED and winner.superseded_by_id != loser_id:
        raise WinnerSuperseded
    if loser.type == "constraint":
        raise ConstraintStays
    space = _next(scope)
    txid = space.txid
    _restore(scope, space, winner, loser_id, cipher, now=now)
    held = validity.read(scope, [winner, loser])
    place = loser.validity, loser.superseded_by_id, loser.superseded_at, loser.superseded_reason
    end = loser.valid_to
    loser.validity, loser.superseded_by_id = Validity.SUPERSEDED, winner_id
    loser.superseded_at, loser.superseded_reason = now, "resolved"
    held[loser_id].end_latest(held[winner_id].latest.start, now=now)
    # Save the loser first: the unique constraint on the slot is checked at every statement.
    save_change(scope, loser, held[loser_id], txid, "superseded", winner_id, now=now)
    was = winner.validity
    if was == Validity.SUPERSEDED:
        winner.validity, winner.superseded_by_id, winner.superseded_at, winner.superseded_reason = place
        held[winner_id].change(held[winner_id].latest, end=end, now=now)
    if winner.validity == Validity.DISPUTED and not _is_disputed_still(scope, winner):
        winner.validity = Validity.CURRENT
    if was == Validity.SUPERSEDED or winner.validity != was:
        event = "superseded" if not winner.is_live() else "revived" if was == Validity.SUPERSEDED else "settled"
        save_change(scope, winner, held[winner_id], txid, event, winner.superseded_by_id, now=now)
    return True


def _is_disputed_still(scope: Scope, row: Memory) -> bool:
    """Whether another active row in the same slot is disputed."""
    if row.slot is None:
        return False
    others = Memory.objects.within_tenant(scope).filter(space_id=row.space_id, slot=row.slot).exclude(pk=row.pk)
    return others.filter(retention_status="active", validity=Validity.DISPUTED).exists()


def _restore(scope: Scope, space: Space, winner: Memory, loser_id: int, cipher: SpaceCipher, *, now: datetime) -> None:
    """Undo what the loser did to the winner: restore the parts it ended and clear ``outdated_by``."""
    if end_parts.restore_parts(scope, space, winner, by=loser_id, cipher=cipher, now=now):
        claims = MemoryClaim.objects.within(scope).filter(memory_id=winner.pk, superseded_by_id=loser_id)
        claims.update(validity=Validity.CURRENT, valid_to=None, superseded_by_id=None, known_from=now)
        space.save(update_fields=["term_total"])
    if winner.outdated_by_id == loser_id:
        winner.outdated_by_id = None
        winner.save(update_fields=["outdated_by_id"])


def _next(scope: Scope) -> Space:
    """The space, with its change number incremented."""
    space = Space.objects.within(scope).get(pk=scope.space.id)
    space.txid += 1
    space.save(update_fields=["txid"])
    return space
