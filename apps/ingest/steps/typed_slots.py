"""Decide a typed memory: created, duplicate, revived or superseding (seed-systems T7), or pending, if extracted."""

from datetime import datetime

from apps.apikeys.permissions import REVIEWS
from apps.core.errors import Conflict
from apps.ingest.candidates import MemoryCandidate
from apps.ingest.memory_state import MemoryState, SlotHolder
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps.dedupe import was_erased
from apps.ingest.steps.supersede import is_less_trusted, must_wait
from apps.memories.superseding import SupersedingForbidden
from text.extraction.reasons import Reason


class ReplacedMeanwhile(Conflict):
    """This memory was changed by several requests at the same time.  Try again."""

    code = "REPLACED_MEANWHILE"


def decide(candidate: MemoryCandidate, snapshot: SpaceSnapshot, *, is_repeated: bool) -> list[MemoryState]:
    """Decide the candidate, and return the memories that it replaces.

    The caller states the memory, so its words do not matter: its id does, and its topic key.  What was extracted waits
    for review where any other extraction would, and is refused if it was erased.
    is_repeated: an earlier memory of this batch has the same id.  Raises ReplacedMeanwhile, SupersedingForbidden.
    """
    known = snapshot.with_public_id(candidate.public_id)
    if known is not None and (is_repeated or known.is_current):
        candidate.refuse("duplicate", Reason.SAME_TEXT, known.id)
        return []
    holders = [one for one in snapshot.in_slot(candidate.slot) if one.is_current] if candidate.slot else []
    labels = candidate.proposal.typed.labels if candidate.proposal.typed else None
    if labels and any(_version(older) != labels.based_on for older in holders):
        raise ReplacedMeanwhile
    if candidate.proposal.is_extracted:
        if was_erased(candidate, snapshot):
            candidate.refuse("discarded_policy", Reason.ERASED)
            return []
        if must_wait(candidate, holders, snapshot):
            return []
    elif REVIEWS not in snapshot.scope.permissions and is_less_trusted(candidate, holders, snapshot):
        raise SupersedingForbidden
    if known is not None:
        known.validity, known.superseded_by, known.reason = "current", None, ""
        known.periods.begin(snapshot.now, now=snapshot.now)
        candidate.refuse("revived", Reason.SAME_VALUE, known.id)
    else:
        known = snapshot.add(candidate)
        candidate.decision, candidate.memory_id = "created", known.id
    for older in holders:
        older.close(by=known.id, at=snapshot.now, now=snapshot.now, reason="newer" if known.is_new else "revive")
        candidate.replaces_id = older.id
    if holders and known.is_new:
        candidate.decision = "superseding"
    return [one for one in holders if isinstance(one, MemoryState)]


def _version(held: SlotHolder) -> tuple[int, datetime] | None:
    return (held.id, held.row.updated_at) if isinstance(held, MemoryState) and held.row else None
