"""The slot machine: duplicate, revived, superseding or created (seed-systems 3.4)."""

from datetime import datetime

from apps.ingest.candidates import Candidate
from apps.ingest.shelf import Known, Shelf


def supersede(candidate: Candidate, shelf: Shelf) -> None:
    """Decide what a candidate that is still wanted does to the slot it claims, and place it on the shelf."""
    if not candidate.is_wanted:
        return
    if candidate.slot is not None and _meets_itself(candidate, shelf):
        return
    known = shelf.add(candidate)
    candidate.decision, candidate.memory_id = "created", known.id
    if candidate.slot is not None:
        for older in shelf.in_slot(candidate.slot):
            if older.is_current and older.id != known.id:
                _close(older, by=known.id, at=known.said_at)
                candidate.decision, candidate.replaces_id = "superseding", older.id


def close(candidate: Candidate, shelf: Shelf) -> None:
    """Close the claim that the candidate says is over, whichever row stands for the candidate."""
    if candidate.closed_slot is None or candidate.memory_id is None:
        return
    holder = shelf.holder(candidate.closed_slot)
    if holder and holder.id != candidate.memory_id and candidate.closed_value in (None, holder.value_mac):
        _close(holder, by=candidate.memory_id, at=shelf.said_at(candidate))
        candidate.replaces_id = holder.id
        if candidate.decision == "created":
            candidate.decision = "superseding"


def _meets_itself(candidate: Candidate, shelf: Shelf) -> bool:
    """Whether the slot has, or had, this very value: then the old row stands for it, unless the new one says more."""
    assert candidate.slot is not None  # noqa: S101  (the caller looked)
    holder = shelf.holder(candidate.slot)
    if holder is not None and holder.value_mac == candidate.value_mac:
        if not candidate.proposal.deduplicate or not shelf.says_nothing_new(candidate, holder):
            return False
        shelf.meet(candidate, holder)
        candidate.refuse("merged", "same_value", holder.id)
        return True
    for earlier in reversed(shelf.in_slot(candidate.slot)):
        if earlier.is_current or earlier.value_mac != candidate.value_mac:
            continue
        if not shelf.says_nothing_new(candidate, earlier):
            return False
        if holder is not None:
            _close(holder, by=earlier.id, at=shelf.said_at(candidate), reason="revive")
        shelf.meet(candidate, earlier)
        earlier.is_current, earlier.superseded_by, earlier.reason, earlier.valid_to = True, None, "", None
        candidate.refuse("revived", "same_value", earlier.id)
        candidate.replaces_id = holder.id if holder else None
        return True
    return False


def _close(older: Known, *, by: int, at: datetime, reason: str = "newer") -> None:
    older.is_current, older.superseded_by, older.reason, older.valid_to = False, by, reason, older.valid_to or at
