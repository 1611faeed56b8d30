"""Slot decisions: duplicate, revived, superseding, disputed or created (seed-systems 3.4), for now or an earlier time.

A statement about an earlier time is inserted into the slot's history and replaces nothing newer: it held until the next
one began.  A less trusted statement replaces no more trusted one (docs/adr/0012).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.imported import ImportedMemory
from apps.ingest.memory_state import MemoryState, SlotHolder, SlotPosition, outlasts
from apps.ingest.orders import is_own_style_wish, may_be_own_style_wish
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps.review_gate import review_reason
from apps.memories.trust import Trust
from apps.tenants.models import Changes, Instructions
from text.extraction.reasons import Reason


def supersede(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> None:
    """Decide what an undecided candidate does to its slots, and add it to the snapshot if it is stored."""
    if not candidate.is_wanted:
        return
    kept = candidate.proposal.kept
    if kept is not None:
        _take_in(candidate, kept, snapshot)
        return
    if candidate.type == "instruction" and _is_preference(candidate, snapshot):
        become_preference(candidate)
    place = (
        snapshot.place(candidate.slot, snapshot.said_at(candidate)) if candidate.slot is not None else SlotPosition()
    )
    if candidate.slot is not None and _meets_itself(candidate, place, snapshot):
        return
    if _repeats_a_part(candidate, snapshot):
        return
    displaced = [*place.displaced, *_displaced_by_parts(candidate, snapshot)]
    if must_wait(candidate, displaced, snapshot):
        return
    known = snapshot.add(candidate)
    candidate.decision, candidate.memory_id = "created", known.id
    if place.after is not None:
        _put_before(candidate, known, place, snapshot)
    elif place.others and _is_disputed(candidate, snapshot):
        known.validity = "disputed"
        for other in place.others:
            other.validity = "disputed"
        candidate.against = [other.id for other in place.others]
    else:
        for older in _displace(place, by=known.id, at=known.said_at, snapshot=snapshot):
            candidate.decision, candidate.replaces_id = "superseding", older.id
    _place_parts(candidate, known, snapshot)
    _end_if_over(known, snapshot)
    if candidate.constraint_slot is not None:
        limit = snapshot.holder(candidate.constraint_slot)
        if limit is not None and limit.value_mac != candidate.value_mac:
            candidate.conflicts = [limit.id]


def hold_no_slot(candidate: MemoryCandidate) -> None:
    """Make it a memory that replaces none, and that none with its key replaces."""
    candidate.key, candidate.value, candidate.slot, candidate.value_mac = None, None, None, None
    candidate.constraint_slot, candidate.parts = None, ()


def become_preference(instruction: MemoryCandidate) -> None:
    """Make an instruction a preference without slots, which changes no memory."""
    hold_no_slot(instruction)
    instruction.type, instruction.changes, instruction.closed = "preference", (), ()


def close(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> None:
    """Close the claims that the candidate ends, whether it was stored or matched a memory."""
    if candidate.memory_id is not None:
        for slot, value in candidate.closed:
            _close(slot, value, candidate, by=candidate.memory_id, snapshot=snapshot)


def _close(slot: bytes, value: bytes | None, candidate: MemoryCandidate, *, by: int, snapshot: SpaceSnapshot) -> None:
    at = snapshot.said_at(candidate)
    there = snapshot.place(slot, at).here
    if there is None or there.holder.id == by:
        return
    known, stretch = there.holder, there.stretch
    if value not in (None, known.value_mac):
        return
    if snapshot.trust(candidate) < known.trust:
        candidate.against = [*candidate.against, known.id]
    elif known.is_current and stretch is known.periods.latest:
        known.close(by=by, at=at, now=snapshot.now)
        candidate.replaces_id = candidate.replaces_id or known.id
        if candidate.decision == "created":
            candidate.decision = "superseding"
    else:
        known.periods.change(stretch, end=at, now=snapshot.now)


def extend_validity(candidate: MemoryCandidate, known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """Extend a matching memory's validity by the times that the candidate gives: an earlier start, or an end."""
    at, until = snapshot.said_at(candidate), snapshot.until(candidate)
    if candidate.slot is None or candidate.slot != known.slot:
        return
    place = snapshot.place(candidate.slot, at)
    if until is not None and place.here is not None and place.here.holder is known:
        end = place.here.stretch.end
        if snapshot.trust(candidate) >= known.trust and (end is None or until < end):
            known.periods.change(place.here.stretch, end=until, now=snapshot.now)
            _end_if_over(known, snapshot)
    if place.after is None or (place.here is not None and place.here.holder is known):
        return
    if place.here is not None and snapshot.trust(candidate) < place.here.holder.trust:
        return
    if place.here is not None:
        place.here.holder.periods.change(place.here.stretch, end=at, now=snapshot.now)
    if known.periods.add(at, place.after.stretch.start, now=snapshot.now):
        known.superseded_by = place.after.holder.id


def _end_if_over(known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """Mark a memory whose validity has ended as superseded, although nothing replaced it."""
    end = known.periods.latest.end
    if known.is_current and end is not None and end <= snapshot.now:
        known.validity, known.reason = "superseded", "ended"


def _take_in(candidate: MemoryCandidate, kept: ImportedMemory, snapshot: SpaceSnapshot) -> None:
    """Add an imported memory as it was.  Newer memories here stay, and more trusted ones."""
    place = (
        snapshot.place(candidate.slot, snapshot.said_at(candidate)) if candidate.slot is not None else SlotPosition()
    )
    if kept.is_current and must_wait(candidate, place.displaced, snapshot):
        return
    known = snapshot.add(candidate)
    candidate.decision, candidate.memory_id = "created", known.id
    if not kept.is_current:
        known.validity, known.reason = "superseded", "newer"
        # Without a known end, its validity interval is empty.
        known.periods.latest.end = max(kept.valid_to or known.said_at, known.said_at)
        return
    known.periods.latest.end = kept.valid_to
    if place.after is not None:
        _put_before(candidate, known, place, snapshot)
        return
    for older in _displace(place, by=known.id, at=known.said_at, snapshot=snapshot):
        candidate.decision, candidate.replaces_id = "superseding", older.id


def _meets_itself(candidate: MemoryCandidate, place: SlotPosition, snapshot: SpaceSnapshot) -> bool:
    """Whether a row that holds or held the slot has the same value and says all of the candidate: then that row stands
    for it, and the candidate is decided."""
    assert candidate.slot is not None  # noqa: S101  (the caller looked)
    there = [known for known in snapshot.in_slot(candidate.slot) if known.value_mac == candidate.value_mac]
    if any(not isinstance(one, MemoryState) and one.is_current for one in there):
        return _repeats(candidate, [one.memory for one in there if one.is_current], snapshot)
    if place.here is not None and _said_part(candidate, place.here.holder, snapshot):
        candidate.refuse("merged", Reason.SAME_VALUE, place.here.holder.id)
        return True
    rows = [known for known in there if isinstance(known, MemoryState)]
    held = next((one for one in rows if place.here is not None and place.here.holder is one), None)
    standing = held if place.after is not None and held else next((one for one in rows if one.is_current), None)
    if standing is not None:
        if not candidate.proposal.deduplicate:
            return False
        if snapshot.says_nothing_new(candidate, standing):
            extend_validity(candidate, standing, snapshot)
            snapshot.count_repetition(candidate, standing)
            candidate.refuse("merged", Reason.SAME_VALUE, standing.id)
            return True
    for earlier in reversed(rows):
        # Rows with the same value but different words replaced each other: revive the one that has these words.
        if earlier is standing or not snapshot.says_nothing_new(candidate, earlier):
            continue
        if place.after is not None or held is earlier:
            if held is None:
                extend_validity(candidate, earlier, snapshot)
            snapshot.count_repetition(candidate, earlier)
            candidate.refuse("merged", Reason.SAME_VALUE, earlier.id)
        elif not must_wait(candidate, place.displaced, snapshot):
            _revive(candidate, earlier, place, snapshot)
        return True
    return False


def _said_part(candidate: MemoryCandidate, held: SlotHolder, snapshot: SpaceSnapshot) -> bool:
    """Whether the holder is a claim of a memory with the same value, and the candidate adds no words to that memory."""
    return (
        not isinstance(held, MemoryState)
        and held.value_mac == candidate.value_mac
        and candidate.proposal.deduplicate
        and set(candidate.terms) <= set(snapshot.terms_said(held.memory))
    )


def _repeats(candidate: MemoryCandidate, memories: Iterable[MemoryState], snapshot: SpaceSnapshot) -> bool:
    """Whether one of these memories says all that the candidate says: then it is counted as a repetition."""
    if not candidate.proposal.deduplicate:
        return False
    for known in memories:
        if snapshot.says_nothing_new(candidate, known):
            snapshot.count_repetition(candidate, known)
            candidate.refuse("merged", Reason.SAME_VALUE, known.id)
            return True
    return False


def _repeats_a_part(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether a current memory says all of a candidate with several claims: then it is counted as a repetition."""
    same = [
        known.memory
        for part in candidate.parts
        for known in snapshot.in_slot(part.slot)
        if known.is_current and known.value_mac == part.value_mac
    ]
    return _repeats(candidate, {id(known): known for known in same}.values(), snapshot)


def _displaced_by_parts(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> list[SlotHolder]:
    at = snapshot.said_at(candidate)
    return [
        known
        for part in candidate.parts
        for known in snapshot.place(part.slot, at).displaced
        if known.value_mac != part.value_mac
    ]


def _place_parts(candidate: MemoryCandidate, known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """Put each of the memory's claims into its slot: it ends the current holder, or is itself ended by a later one.

    Of two claims for one slot, the last one in the text holds.
    """
    for number, part in enumerate(known.parts):
        after = [one for one in known.parts[number + 1 :] if one.slot == part.slot]
        if any(one.value_mac != part.value_mac for one in after):
            part.close(by=known.id, at=known.said_at, now=snapshot.now)
            continue
        place = snapshot.place(part.slot, known.said_at)
        if place.after is not None and place.after.holder.id != known.id:
            part.close(by=place.after.holder.id, at=place.after.stretch.start, now=snapshot.now)
            continue
        there = [one for one in place.displaced if one.id != known.id and one.is_current]
        others = [one for one in there if one.value_mac != part.value_mac]
        if others and _is_disputed(candidate, snapshot):
            for other in others:
                other.memory.outdated_by = known.id
            candidate.against = [*candidate.against, *(other.id for other in others)]
            others = []
        same = [one for one in there if one.value_mac == part.value_mac and _says_all_of(candidate, one, snapshot)]
        for older in (*others, *same):
            older.close(by=known.id, at=known.said_at, now=snapshot.now)
            candidate.decision, candidate.replaces_id = "superseding", candidate.replaces_id or older.id


def _says_all_of(candidate: MemoryCandidate, older: SlotHolder, snapshot: SpaceSnapshot) -> bool:
    """Whether the candidate says all of a single-claim memory, so that it can replace it."""
    return (
        isinstance(older, MemoryState)
        and candidate.proposal.deduplicate
        and snapshot.trust(candidate) >= older.trust
        and outlasts(snapshot.end_of(candidate), older.expires_at)
        and set(snapshot.terms_of(older)) <= set(candidate.terms)
    )


def _revive(candidate: MemoryCandidate, earlier: MemoryState, place: SlotPosition, snapshot: SpaceSnapshot) -> None:
    at = snapshot.said_at(candidate)
    for older in _displace(place, by=earlier.id, at=at, snapshot=snapshot, reason="revive"):
        if older.value_mac != candidate.value_mac:
            candidate.replaces_id = older.id
    snapshot.count_repetition(candidate, earlier)
    earlier.validity, earlier.superseded_by, earlier.reason = "current", None, ""
    earlier.periods.begin(at, now=snapshot.now)
    candidate.refuse("revived", Reason.SAME_VALUE, earlier.id)


def _put_before(candidate: MemoryCandidate, known: MemoryState, place: SlotPosition, snapshot: SpaceSnapshot) -> None:
    """Insert the memory into the slot's history, between the holder at that time and the next one."""
    assert place.after is not None  # noqa: S101  (the caller looked)
    at, end = known.said_at, place.after.stretch.start
    known.validity, known.reason, known.superseded_by = "superseded", "newer", place.after.holder.id
    until = snapshot.until(candidate)
    known.periods.latest.end = end if until is None else min(until, end)
    candidate.reason = "earlier"
    if place.here is not None:
        _cut(place, by=known.id, at=at, snapshot=snapshot)


def _displace(
    place: SlotPosition, *, by: int, at: datetime, snapshot: SpaceSnapshot, reason: str = "newer"
) -> Iterator[SlotHolder]:
    """End the holder at that time and the current ones; yield those that were current."""
    for older in place.displaced:
        if older.is_current:
            older.close(by=by, at=at, now=snapshot.now, reason=reason)
            yield older
    if place.here is not None and place.here.stretch.holds_at(at):
        _cut(place, by=by, at=at, snapshot=snapshot)


def _cut(place: SlotPosition, *, by: int, at: datetime, snapshot: SpaceSnapshot) -> None:
    """End the interval of the holder at that time; if it was its latest, the new row becomes its successor.

    Such a holder may be current although another one began later: both say the same value.
    """
    assert place.here is not None  # noqa: S101  (the callers looked)
    older, stretch = place.here.holder, place.here.stretch
    is_latest = stretch is older.periods.latest
    if older.is_current and is_latest:
        older.close(by=by, at=at, now=snapshot.now)
        return
    older.periods.change(stretch, end=at, now=snapshot.now)
    if is_latest:
        older.superseded_by = by


def is_less_trusted(candidate: MemoryCandidate, displaced: Iterable[SlotHolder], snapshot: SpaceSnapshot) -> bool:
    """Whether the candidate is trusted less than one of those that it would replace."""
    return any(snapshot.trust(candidate) < known.trust for known in displaced)


def must_wait(candidate: MemoryCandidate, displaced: Iterable[SlotHolder], snapshot: SpaceSnapshot) -> bool:
    """Whether the candidate must be reviewed first, because it lacks the trust to take effect; marks it as pending."""
    if is_less_trusted(candidate, displaced, snapshot):
        candidate.refuse("pending", Reason.LESS_TRUSTED)
    elif candidate.type == "instruction" and not _may_order(candidate, snapshot):
        candidate.refuse("pending", Reason.INSTRUCTION)
    elif reason := review_reason(candidate, snapshot):
        candidate.refuse("pending", reason)
    return not candidate.is_wanted


def _may_order(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether an instruction takes effect without review: trusted, explicitly requested, or allowed by policy."""
    proposal = candidate.proposal
    if snapshot.trust(candidate) >= Trust.STATED:
        return True
    if not proposal.is_imported and (proposal.is_explicit or proposal.source_kind != "auto"):
        return True
    # An instruction extracted by a model always waits: planted orders are written for models.  In an import an explicit
    # request does not count, because no one has checked each record.
    if candidate.extractor == "model":
        return False
    policy = snapshot.policy.instructions
    return policy == Instructions.KEEP or (policy == Instructions.STYLE and is_own_style_wish(candidate))


def _is_preference(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether an instruction that may not take effect is remembered as a preference instead of waiting for review."""
    return (
        snapshot.policy.instructions == Instructions.STYLE
        and candidate.extractor != "model"
        and not _may_order(candidate, snapshot)
        and may_be_own_style_wish(candidate)
    )


def _is_disputed(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether a conflict is left open for a decision; orders and limits are never disputed."""
    return candidate.kind.group == "claim" and snapshot.policy.changes == Changes.DISPUTE
