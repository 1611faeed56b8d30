"""Refuse duplicates, with the id of the memory that they match."""

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.change_rules import Effect
from apps.ingest.memory_state import MemoryState
from apps.ingest.neighbours import near_duplicate
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps.supersede import extend_validity, hold_no_slot
from text.extraction.reasons import Reason

NEAR = 0.95  # cosine of MiniLM vectors above which two texts may be duplicates; their words then decide


def replay_client_ref(candidates: list[MemoryCandidate], snapshot: SpaceSnapshot) -> bool:
    """Whether the proposal's client reference stored something before: then it is a replay, whatever its text.

    Its candidates become one duplicate for each memory stored then.  No option disables this.
    """
    proposal = candidates[0].proposal
    ids = snapshot.receipts.get(snapshot.reference(proposal.client_ref)) if proposal.client_ref is not None else None
    if ids is None:
        return False
    again = [
        MemoryCandidate(proposal=proposal, text=proposal.text, type=candidates[0].type, text_mac=candidates[0].text_mac)
        for _ in ids
    ]
    for candidate, memory_id in zip(again, ids, strict=True):
        candidate.refuse("duplicate", Reason.ALREADY_INGESTED, memory_id)
    candidates[:] = again
    return True


def was_erased(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether its text was erased, after it was requested or lately enough to keep extraction from storing it again."""
    erased = [snapshot.erased_at[mac] for mac in candidate.erased_macs if mac in snapshot.erased_at]
    if not erased:
        return False
    proposal = candidate.proposal
    if proposal.asked_at is not None:
        return proposal.asked_at <= max(erased)
    return proposal.source_kind == "auto" and not proposal.is_meant


def dedupe(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> None:
    """Refuse what is already stored: the same words, or nearly the same meaning without a new word.

    ``deduplicate=False`` disables this; what is verbatim stands beside the same words.  An erased text is always
    refused, if it was requested before the erasure or extracted without an explicit request.
    """
    if candidate.is_wanted and was_erased(candidate, snapshot):
        candidate.refuse("discarded_policy", Reason.ERASED)
    if not candidate.is_wanted or not candidate.proposal.deduplicate:
        return
    if candidate.proposal.is_verbatim:
        if snapshot.same_text(candidate):
            hold_no_slot(candidate)
        return
    if (kept := candidate.proposal.kept) is not None:
        by_id = snapshot.with_public_id(candidate.public_id) if candidate.public_id else None
        known = by_id or (None if candidate.proposal.typed else snapshot.same_text(candidate))
        if known is not None and (known is by_id or known.made_at < kept.since):
            candidate.refuse("duplicate", Reason.SAME_TEXT, known.id)
        return
    if candidate.is_listed and (known := snapshot.match_passages(candidate)):
        # Recall's own output was sent back: it is no statement, so it does not count as a repetition.
        candidate.refuse("duplicate", Reason.ECHO, known.id)
    elif known := snapshot.same_text(candidate):
        extend_validity(candidate, known, snapshot)
        snapshot.count_repetition(candidate, known)
        candidate.refuse("duplicate", Reason.SAME_TEXT, known.id)
    elif known := snapshot.said_until_then(candidate):
        candidate.refuse("duplicate", Reason.SAME_TEXT, known.id)  # this does not revive its ended words
    elif known := snapshot.match_passages(candidate):
        candidate.refuse("duplicate", Reason.ECHO, known.id)
    elif candidate.slot is None and (near := near_duplicate(snapshot, candidate, threshold=NEAR)):
        candidate.refuse("discarded_redundant", Reason.NEAR_DUPLICATE, near)
    elif known := _said_before(candidate, snapshot):
        candidate.refuse("discarded_redundant", Reason.NEAR_DUPLICATE, known.id)


def _said_before(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> MemoryState | None:
    """A memory with the same content in other words that can stand for the candidate; None if ``is_meant``."""
    if candidate.slot is not None or candidate.parts or candidate.closed or candidate.proposal.is_meant:
        return None
    same = (known for one in candidate.changes if one.effect is Effect.REPEATS for known in snapshot.changed_by(one))
    return next((known for known in same if snapshot.stands_for(candidate, known)), None)
