"""Find the memories near a candidate: near duplicates, similar ones, and the last one of its session."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from apps.crypto.services import DecryptError
from apps.ingest import queries
from apps.ingest.candidates import MemoryCandidate
from apps.ingest.memory_state import outlasts
from apps.ingest.snapshot import SpaceSnapshot
from apps.memories import integrity
from apps.memories.integrity import VECTOR
from apps.memories.nearest import nearest
from apps.memories.sealing import open_embedding

NEAREST = 4  # number of nearest memories that are fetched
SIMILAR = 0.90  # lowest cosine of a similar memory; farther ones are not fetched


def near_duplicate(snapshot: SpaceSnapshot, candidate: MemoryCandidate, *, threshold: float) -> int | None:
    """The id of a memory with nearly the same vector and all words of the candidate; None if there is none.

    It must have the same speaker, expire no earlier and, if its type accumulates, be of the same time.
    """
    if candidate.vector is None:
        return None
    end = snapshot.end_of(candidate)
    for known, other, vector in snapshot.vectors:
        if (
            float(candidate.vector @ vector) >= threshold
            and set(candidate.terms) <= set(other.terms)
            and candidate.actor == other.actor
            and candidate.from_assistant == other.from_assistant
            and known.is_whole
            and snapshot.is_of_one_time(candidate, known)
            and outlasts(known.expires_at, end)
        ):
            return known.id
    return _near_row(snapshot, candidate, threshold=threshold)


def _near_row(snapshot: SpaceSnapshot, candidate: MemoryCandidate, *, threshold: float) -> int | None:
    assert candidate.vector is not None  # noqa: S101  (the caller looked)
    found = _near_rows(snapshot, candidate)
    if not found or found[0][1] < threshold:
        return None
    known = snapshot.by_id.get(found[0][0])
    row = snapshot.row(found[0][0])
    if (
        row is not None
        and (known is None or known.is_whole)
        and row.actor_token == (snapshot.cipher.actor_token(candidate.actor) if candidate.actor else None)
        and row.from_assistant == candidate.from_assistant
        and snapshot.is_of_one_time(candidate, row)
        and outlasts(row.expires_at, snapshot.end_of(candidate))
        and set(candidate.terms) <= set(snapshot.words(row))
    ):
        return row.pk
    return None


def nearest_to(snapshot: SpaceSnapshot, candidate: MemoryCandidate) -> list[tuple[int, float]]:
    """The nearest memories, stored or earlier in this batch: (id, cosine), nearest first."""
    if candidate.vector is None or candidate.memory_id is None:
        return []
    earlier = [(known, vector) for known, _, vector in snapshot.vectors if known.id < candidate.memory_id]
    cosines = np.stack([vector for _, vector in earlier]) @ candidate.vector if earlier else ()
    mine = [(known.id, float(cosine)) for (known, _), cosine in zip(earlier, cosines, strict=True)]
    return sorted([*mine, *_near_rows(snapshot, candidate)], key=lambda one: (-one[1], one[0]))


def last_of_sessions(
    snapshot: SpaceSnapshot, candidates: Sequence[MemoryCandidate]
) -> dict[str, tuple[int, datetime, NDArray[np.float32]]]:
    """Session to its last stored memory, for the candidates' sessions: (id, when it was said, vector)."""
    sessions = dict.fromkeys(one.proposal.session_id for one in candidates if one.proposal.session_id)
    tokens = {snapshot.cipher.session_token(name): name for name in sessions if name}
    found: dict[str, tuple[int, datetime, NDArray[np.float32]]] = {}
    for token, memory_id, said_at, blob in queries.last_of_sessions(
        snapshot.scope, snapshot.space.pk, list(tokens), snapshot.embedder, now=snapshot.now
    ):
        try:
            found[tokens[token]] = memory_id, said_at, open_embedding(memory_id, bytes(blob), snapshot.cipher)
        except DecryptError as error:
            integrity.note(snapshot.scope, error, memory_id, space_id=snapshot.space.pk, table=VECTOR, now=snapshot.now)
    return found


def _near_rows(snapshot: SpaceSnapshot, candidate: MemoryCandidate) -> list[tuple[int, float]]:
    """The nearest stored memories; queried once per candidate, and not again if nothing changed since."""
    if candidate.vector is None or not snapshot.cipher.is_searchable:
        return []
    if candidate.near_as_of == snapshot.space.txid:
        return list(candidate.near[:NEAREST])
    if id(candidate) not in snapshot.near_rows:
        snapshot.near_rows[id(candidate)] = nearest(
            snapshot.scope,
            snapshot.ref,
            candidate.vector,
            snapshot.cipher,
            limit=NEAREST,
            now=snapshot.now,
            embedder=snapshot.embedder,
            least=SIMILAR,
        )
    return snapshot.near_rows[id(candidate)]
