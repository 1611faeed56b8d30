"""Under the lock: what the candidates were found to change of what was said before, where that is as it was."""

from collections.abc import Iterable, Sequence

from apps.ingest.candidates import MADE, Candidate, FoundChange
from apps.ingest.changes import Effect, may_end, says_nothing
from apps.ingest.known import Known
from apps.ingest.shelf import Shelf
from apps.memories.models import Memory
from apps.memories.sealing import open_parts, open_said
from apps.tenants.models import Changes
from text.marking import marked


def change(candidate: Candidate, shelf: Shelf) -> None:
    """End, or mark as possibly outdated, what a candidate that was stored makes untrue."""
    if candidate.decision not in MADE or candidate.memory_id is None:
        return
    if not shelf.by_id[candidate.memory_id].is_current:  # known of an earlier time: it ends nothing of today
        return
    for found in candidate.changes:
        if found.effect is Effect.REPEATS:
            continue
        for known in shelf.changed_by(found):
            is_later = known.id != candidate.memory_id and known.said_at <= shelf.said_at(candidate)
            # What a slot has told already that this candidate ends, is told.
            is_told = any(one.by == candidate.memory_id for one in known.ended)
            if known.is_current and is_later and not is_told:
                _apply(candidate, found, known, shelf)


def _apply(candidate: Candidate, found: FoundChange, known: Known, shelf: Shelf) -> None:
    """What its type may not end, what is trusted more, and what the tenant wants to decide by itself is only marked."""
    assert candidate.memory_id is not None  # noqa: S101  (the caller looked)
    is_more_trusted = shelf.trust(candidate) < known.trust
    if (
        found.effect is Effect.OUTDATES
        or is_more_trusted
        or not may_end(known.type, by=candidate.type)
        or shelf.policy.changes == Changes.DISPUTE
    ):
        _mark(candidate, known, is_doubted=not is_more_trusted)
        return
    at = shelf.said_at(candidate)
    if known.slot is None:
        shelf.read_parts(known)
    if len(known.parts_in(found.words)) > 1:  # one thing changes at a time: it is not sure which
        _mark(candidate, known)
        return
    if found.words and known.slot is None:
        known.end_words(found.words, by=candidate.memory_id, at=at, now=shelf.now)
    else:  # what holds a slot says one thing, so that to end a word of it is to end it
        known.close(by=candidate.memory_id, at=at, now=shelf.now)
    candidate.decision, candidate.replaces_id = "superseding", known.id


def _mark(candidate: Candidate, known: Known, *, is_doubted: bool = True) -> None:
    """Leave a decision to make between the two, and say that the older may be outdated."""
    candidate.against = [*candidate.against, known.id]
    if is_doubted:
        known.outdated_by = candidate.memory_id


def close_what_says_nothing(candidates: Sequence[Candidate], shelf: Shelf) -> None:
    """Supersede what has lost so many words that the rest says nothing: "I live in …"."""
    emptied = [known for known in shelf.by_id.values() if known.ended and known.is_current]
    if not emptied:
        return
    new = {one.memory_id: one.text.reveal() for one in candidates if one.memory_id is not None and one.decision in MADE}
    for known in emptied:
        said, over = (new[known.id], []) if known.is_new else _said(known, shelf)
        ended = [(one.start, one.end) for one in known.ended]
        if says_nothing(marked(said, [*over, *ended])):
            last = known.ended[-1]
            known.close(by=last.by, at=last.at, now=shelf.now)


def _said(known: Known, shelf: Shelf) -> tuple[str, Iterable[tuple[int, int]]]:
    """What it said, and which words of that were over before."""
    row = Memory.objects.within_tenant(shelf.scope).get(pk=known.id)
    over = [(part.start, part.end) for part in open_parts(row, shelf.cipher)]
    return open_said(row, shelf.cipher).reveal(), over
