"""Create edges of new memories from decisions, vectors and sessions (contract 10.7).

Each edge has a confidence and is marked as automatic.  A sealed space gets only contradictions, which its rows reveal
anyway: replacements and equality of values are not encrypted.  Similarity and common sessions are hidden there.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import Final

from apps.edges.opened import NewEdge
from apps.edges.types import CONFLICT, CONTRADICTION
from apps.ingest.candidates import MADE, STORED, MemoryCandidate
from apps.ingest.memory_state import MemoryState, SlotHolder
from apps.ingest.models import IngestReceipt
from apps.ingest.neighbours import SIMILAR, last_of_sessions, nearest_to
from apps.ingest.snapshot import SpaceSnapshot
from apps.memories.lookup_keys import slot_mac
from apps.memories.models import Memory

SIMILAR_AT_MOST: Final = 3  # edges per memory
CONTINUES: Final = 0.60  # lowest cosine of a memory with the one before it in its session
CONTINUES_WITHIN: Final = timedelta(minutes=30)
SIBLINGS_AT_MOST: Final = 20  # edges per text
SIBLING_CONFIDENCE: Final = 0.5  # low, because statements of one text need not be about one thing


def connect(batch: Sequence[Sequence[MemoryCandidate]], snapshot: SpaceSnapshot) -> list[NewEdge]:
    """The edges of a decided batch, most confident first; of edges with the same name only the first."""
    every = [one for each in batch for one in each if one.decision in STORED and one.memory_id is not None]
    # An imported memory gets only the edges of its import.
    stored = [one for one in every if one.proposal.kept is None]
    found = _kept([one for one in every if one.proposal.kept is not None], snapshot)
    found += [edge for one in stored for edge in _replacing(one, snapshot)]
    found += [edge for one in stored for edge in _opposing(one)]
    if snapshot.cipher.is_searchable:
        new = [one for one in stored if snapshot.by_id[one.memory_id or 0].is_new]
        found += _details(new, snapshot)
        found += [edge for each in batch if each[0].proposal.kept is None for edge in _siblings(each)]
        found += _similar(new, snapshot)
        found += _continuing(new, snapshot)
    by_name: dict[tuple[int, int, str], NewEdge] = {}
    for edge in sorted(found, key=lambda edge: -edge.confidence):
        by_name.setdefault(edge.name, edge)
    return list(by_name.values())


def _kept(moved: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> list[NewEdge]:
    """The edges of imported memories, if both ends exist here."""
    wanted = [edge for one in moved if one.proposal.kept for edge in one.proposal.kept.edges]
    if not wanted:
        return []
    places = _places({ref for edge in wanted for ref in (edge.from_ref, edge.to_ref)}, snapshot)
    places |= {one.proposal.client_ref: one.memory_id for one in moved if one.proposal.client_ref and one.memory_id}
    return [
        NewEdge(
            from_id=places[edge.from_ref],
            to_id=places[edge.to_ref],
            type=edge.type,
            confidence=edge.confidence,
            metadata=edge.metadata,
            is_automatic=edge.is_automatic,
        )
        for edge in wanted
        if edge.from_ref in places and edge.to_ref in places and places[edge.from_ref] != places[edge.to_ref]
    ]


def _places(references: set[str], snapshot: SpaceSnapshot) -> dict[str, int]:
    """Client reference to the memory that it stored, if that still exists."""
    by_mac = {snapshot.reference(reference): reference for reference in references}
    receipts = IngestReceipt.objects.within(snapshot.scope).filter(
        space_id=snapshot.space.pk, client_ref_mac__in=by_mac
    )
    first = {by_mac[bytes(mac)]: ids[0] for mac, ids in receipts.values_list("client_ref_mac", "memory_ids") if ids}
    there = Memory.objects.within_tenant(snapshot.scope).filter(space_id=snapshot.space.pk, pk__in=first.values())
    existing = set(there.values_list("pk", flat=True))
    return {reference: memory_id for reference, memory_id in first.items() if memory_id in existing}


def _edge(from_id: int | None, to_id: int, type_: str, confidence: float) -> NewEdge:
    assert from_id is not None  # noqa: S101  (only what is stored is connected)
    return NewEdge(
        from_id=from_id, to_id=to_id, type=type_, confidence=max(0.0, min(1.0, confidence)), is_automatic=True
    )


def _replacing(one: MemoryCandidate, snapshot: SpaceSnapshot) -> Iterator[NewEdge]:
    """To the row that it replaced: a different value contradicts it; the same value in other words is derived from it,
    and supports it if the source differs."""
    older = snapshot.by_id.get(one.replaces_id or 0)
    if older is None or one.memory_id is None:
        return
    mine = snapshot.by_id[one.memory_id]
    holders: Sequence[SlotHolder] = (mine, *mine.parts)
    if older.slot is None or (older.slot, older.value_mac) not in [(one.slot, one.value_mac) for one in holders]:
        # From the newer row to the older one, even if the older one was revived.
        ends = max(mine.id, older.id), min(mine.id, older.id)
        yield _edge(*ends, CONTRADICTION, one.extractor_confidence)
    elif snapshot.cipher.is_searchable:
        yield _edge(mine.id, older.id, "derived_from", 1.0)
        if mine.source != older.source:
            yield _edge(mine.id, older.id, "supports", one.extractor_confidence)


def _opposing(one: MemoryCandidate) -> Iterator[NewEdge]:
    """To what it contradicts without replacing it: disputed or more trusted memories, and limits."""
    for other in one.against:
        yield _edge(one.memory_id, other, CONTRADICTION, one.extractor_confidence)
    for limit in one.conflicts:
        yield _edge(one.memory_id, limit, CONFLICT, one.extractor_confidence)


def _details(new: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> Iterator[NewEdge]:
    """To the memory for its key's subject: ``user.dog.rex.breed`` is a detail of ``user.dog.rex`` or else of
    ``user.dog.name``."""
    project_id = snapshot.scope.project_id
    subjects = {
        one.memory_id: [slot_mac(snapshot.cipher, "fact", path, project_id=project_id) for path in _subjects(one.key)]
        for one in new
        if one.slot is not None
    }
    holders = snapshot.holders({slot for slots in subjects.values() for slot in slots})
    for one in new:
        held = [holders[slot] for slot in subjects.get(one.memory_id, ()) if slot in holders]
        if subject := next((memory_id for memory_id in held if memory_id != one.memory_id), None):
            yield _edge(one.memory_id, subject, "detail_of", one.extractor_confidence)


def _subjects(key: str | None) -> list[str]:
    """The keys that may hold a key's subjects, nearest first, without the user."""
    beginnings = list(accumulate((key or "").split("."), "{}.{}".format))[1:-1][::-1]
    return [path for beginning in beginnings for path in (beginning, f"{beginning}.name")]


def _siblings(candidates: Sequence[MemoryCandidate]) -> Iterator[NewEdge]:
    """From the later memories of one text to its first."""
    ids = [one.memory_id for one in candidates if one.decision in MADE]
    first, *later = [memory_id for memory_id in ids if memory_id is not None] or [0]
    for memory_id in later[:SIBLINGS_AT_MOST]:
        if memory_id != first:
            yield _edge(memory_id, first, "derived_from", SIBLING_CONFIDENCE)


def _similar(new: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> Iterator[NewEdge]:
    """To similar memories; none for a proposal with ``deduplicate=False``, which disables comparison by meaning."""
    for one in new:
        if not one.proposal.deduplicate:
            continue
        similar = [
            (other, cosine)
            for other, cosine in nearest_to(snapshot, one)
            if cosine >= SIMILAR and _stands(other, snapshot)
        ]
        for other, cosine in similar[:SIMILAR_AT_MOST]:
            yield _edge(one.memory_id, other, "similar", cosine)


def _stands(memory_id: int, snapshot: SpaceSnapshot) -> bool:
    """Whether this batch has left the memory current."""
    known: MemoryState | None = snapshot.by_id.get(memory_id)
    return known is None or known.is_current


def _continuing(new: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> Iterator[NewEdge]:
    """To the previous memory of its session, if it was said shortly before and is similar."""
    before = last_of_sessions(snapshot, new)
    for one in new:
        session = one.proposal.session_id
        if not session or one.vector is None:
            continue
        if session in before:
            other, said_at, vector = before[session]
            cosine = float(one.vector @ vector)
            if (
                cosine >= CONTINUES
                and abs(snapshot.said_at(one) - said_at) <= CONTINUES_WITHIN
                and _stands(other, snapshot)
            ):
                yield _edge(one.memory_id, other, "continuation", cosine)
        before[session] = one.memory_id or 0, snapshot.said_at(one), one.vector
