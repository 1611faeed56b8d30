"""The same thing again: refuse it, and say which memory it is."""

from apps.ingest.candidates import Candidate
from apps.ingest.shelf import Shelf

NEAR = 0.95  # cosine of MiniLM vectors above which two texts may be one; the words then decide


def dedupe(candidate: Candidate, shelf: Shelf) -> None:
    """Refuse what is already there, in this order: the caller's own reference, the same words, nearly the same meaning.

    The reference is a hard promise.  The other two are off where the proposal says ``deduplicate=False``.
    """
    if not candidate.is_wanted:
        return
    proposal = candidate.proposal
    if proposal.client_ref is not None:
        ids = shelf.receipts.get(shelf.reference(proposal.client_ref))
        if ids is not None:
            candidate.refuse("duplicate", "already_ingested", ids[0] if ids else None)
            return
    if not proposal.deduplicate:
        return
    if known := shelf.same_text(candidate):
        known.repetitions += 1
        candidate.refuse("duplicate", "same_text", known.id)
    elif candidate.slot is None and (near := shelf.near_duplicate(candidate, threshold=NEAR)):
        candidate.refuse("discarded_redundant", "near_duplicate", near)
