"""Resolve a conflict of two memories by a user's decision: the winner supersedes the loser, as at a write."""

from datetime import datetime

from apps.core.errors import Conflict
from apps.crypto.services import open_space
from apps.memories.models import Validity
from apps.memories.sealing import open_parts
from apps.memories.superseding import RESOLVED, ConstraintStays, lock_both, supersede
from apps.projects.scope import Scope


class WinnerSuperseded(Conflict):
    """The winning memory was itself replaced by a third one; decide between those two first."""

    code = "WINNER_SUPERSEDED"


def resolve_in_favour_of(scope: Scope, winner_id: int, loser_id: int, *, now: datetime) -> bool:
    """Make the winner supersede the loser; returns whether anything changed.  Both exist, in the scope's one space.

    If the winner had already ended a part of the loser, nothing changes and the rest of the loser holds.  Raises
    WinnerSuperseded, ConstraintStays.  In the transaction that holds the space's lock.
    """
    winner, loser = lock_both(scope, winner_id, loser_id)
    cipher = open_space(scope.tenant, scope.space, writing=True)
    if loser.superseded_by_id == winner_id or any(part.by == winner_id for part in open_parts(loser, cipher)):
        return False
    if winner.validity == Validity.SUPERSEDED and winner.superseded_by_id != loser_id:
        raise WinnerSuperseded
    if loser.type == "constraint":
        raise ConstraintStays
    supersede(scope, winner, loser, cipher, reason=RESOLVED, now=now)
    return True
