"""Apply the detected changes to earlier statements, under the lock, if those are unchanged since the detection."""

from collections.abc import Iterable, Sequence

from apps.ingest.candidates import MADE, FoundChange, MemoryCandidate
from apps.ingest.change_rules import Effect, is_beside, may_end, says_nothing
from apps.ingest.memory_state import MemoryState
from apps.ingest.snapshot import SpaceSnapshot
from apps.memories.models import Memory
from apps.memories.sealing import open_parts, open_said
from apps.tenants.models import Changes
from text.marking import marked


def apply_changes(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> None:
    """End the earlier statements that a stored candidate makes untrue, or mark them as possibly outdated."""
    if candidate.decision not in MADE or candidate.memory_id is None:
        return
    if not snapshot.by_id[candidate.memory_id].is_current:  # it is about an earlier time, so it ends nothing current
        return
    for found in candidate.changes:
        if found.effect is Effect.REPEATS:
            continue
        for known in snapshot.changed_by(found):
            is_later = known.id != candidate.memory_id and known.said_at <= snapshot.said_at(candidate)
            # Skip what this candidate already ended through its slot.
            is_told = any(one.by == candidate.memory_id for one in known.ended)
            beside = _is_beside(candidate, found, known)
            if known.is_current and is_later and not is_told and not beside:
                _apply(candidate, found, known, snapshot)


def _is_beside(candidate: MemoryCandidate, found: FoundChange, known: MemoryState) -> bool:
    return is_beside(found.effect, found.over, many_valued=candidate.many_valued, has_slot=known.slot is not None)


def _apply(candidate: MemoryCandidate, found: FoundChange, known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """End the known memory or its words.

    Only mark it instead if the candidate's type may not end it, it is more trusted, or the tenant's policy is DISPUTE.
    """
    assert candidate.memory_id is not None  # noqa: S101  (the caller looked)
    is_more_trusted = snapshot.trust(candidate) < known.trust
    if (
        found.effect is Effect.OUTDATES
        or is_more_trusted
        or not may_end(known.type, by=candidate.type, over=found.over)
        or snapshot.policy.changes == Changes.DISPUTE
    ):
        _mark(candidate, known, is_doubted=not is_more_trusted)
        return
    at = snapshot.said_at(candidate)
    if known.slot is None:
        snapshot.read_parts(known)
    if len(known.parts_in(found.words)) > 1:  # several claims are affected: it is not certain which one changed
        _mark(candidate, known)
        return
    if found.words and known.slot is None:
        known.end_words(found.words, by=candidate.memory_id, at=at, now=snapshot.now)
    else:  # a memory with a slot is a single claim, so ending any word ends it
        known.close(by=candidate.memory_id, at=at, now=snapshot.now)
    candidate.decision, candidate.replaces_id = "superseding", known.id


def _mark(candidate: MemoryCandidate, known: MemoryState, *, is_doubted: bool = True) -> None:
    """Record a contradiction between the two and, if ``is_doubted``, that the older may be outdated."""
    candidate.against = [*candidate.against, known.id]
    if is_doubted:
        known.outdated_by = candidate.memory_id


def close_what_says_nothing(candidates: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> None:
    """Supersede memories that have lost so many words that the rest says nothing: "I live in …"."""
    emptied = [known for known in snapshot.by_id.values() if known.ended and known.is_current]
    if not emptied:
        return
    new = {one.memory_id: one.text.reveal() for one in candidates if one.memory_id is not None and one.decision in MADE}
    for known in emptied:
        said, over = (new[known.id], []) if known.is_new else _said(known, snapshot)
        ended = [(one.start, one.end) for one in known.ended]
        if says_nothing(marked(said, [*over, *ended])):
            last = known.ended[-1]
            known.close(by=last.by, at=last.at, now=snapshot.now)


def _said(known: MemoryState, snapshot: SpaceSnapshot) -> tuple[str, Iterable[tuple[int, int]]]:
    """Its original text, and the spans of it that had ended before this batch."""
    row = Memory.objects.within_tenant(snapshot.scope).get(pk=known.id)
    over = [(part.start, part.end) for part in open_parts(row, snapshot.cipher)]
    return open_said(row, snapshot.cipher).reveal(), over
