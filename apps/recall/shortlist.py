"""The shortlist: retrieved memories and their neighbouring turns, opened once, with exact features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.core.prepared_sql import prepared_cursor
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.models.memory import METADATA, TEXT
from apps.memories.nearest import open_embeddings
from apps.memories.sealing import open_text_then
from apps.memories.validity import true_sql
from apps.recall.features import CandidateTurn, Spoken, Statistics, compute_features
from apps.recall.question import Question
from apps.recall.ranking import Features
from apps.recall.search import Search

# Every join is lateral and by id: without statistics, as after a bulk load, the planner would scan the space for each.
# member: retrieved ids.  following: the next turn of each one's session.  before: the previous turn of each.
# Bounds and an order, instead of session_token equality, make the planner use one index.
_POOL = """
with member as (select unnest(%s::bigint[]) as id),
following as (
    select after.id from member
    cross join lateral (
        select * from memories_memory where tenant_id = %s and space_id = %s and id = member.id limit 1
    ) m
    cross join lateral (
        select memory.id from memories_memory memory
        where memory.tenant_id = %s and memory.space_id = %s
          and memory.session_token <= m.session_token and (memory.session_token, memory.id) > (m.session_token, m.id)
          and memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
        order by memory.session_token, memory.id limit 1
    ) after
    where m.session_token is not null
),
pool as (select id from member union select id from following)
select m.id, m.text_ct, before.id, before.text_ct, m.actor_token, m.from_assistant, m.session_token,
    coalesce(m.event_at, m.created_at), m.created_at, m.importance, m.access_count, m.metadata_ct, m.revision, m.type,
    m.confidence, m.last_accessed_at, m.is_summary, m.said_ct, m.parts_ct
from pool
cross join lateral (
    select * from memories_memory where tenant_id = %s and space_id = %s and id = pool.id limit 1
) m
left join lateral (
    select earlier.id, earlier.text_ct from memories_memory earlier
    where earlier.tenant_id = %s and earlier.space_id = %s
      and earlier.session_token >= m.session_token and (earlier.session_token, earlier.id) < (m.session_token, m.id)
      and earlier.retention_status = 'active' and {before}
      and (earlier.expires_at is null or earlier.expires_at > %s)
      and (%s::bigint is null or earlier.project_id is null or earlier.project_id = %s)
    order by earlier.session_token desc, earlier.id desc limit 1
) before on m.session_token is not null
"""


@dataclass(slots=True, kw_only=True)
class OpenedCandidate:
    """One candidate with its features.  text: for reranking and to collapse duplicates."""

    features: Features
    text: Plaintext
    is_summary: bool


def open_shortlist(
    search: Search,
    question: Question,
    ids: Sequence[int],
    *,
    session_token: int | None,
    metadata: Mapping[str, object],
) -> list[OpenedCandidate]:
    """Open each candidate once and compute its exact features.  Undecryptable ones are skipped and reported."""
    cipher, statistics = search.cipher, _statistics(search, question)
    rows = _fetch(search, ids)
    vectors = _vectors(search, {row[0] for row in rows} | {row[2] for row in rows if row[2] is not None})
    spoken: dict[int, Spoken] = {}  # by id: a candidate is often the turn before another
    candidates: list[OpenedCandidate] = []
    for row in rows:
        (memory_id, blob, before_id, before_blob, actor, from_assistant, session, said_at, created_at, importance,
         access_count, metadata_blob, revision, type_, confidence, last_accessed_at, is_summary, said,
         parts) = row  # fmt: skip
        try:
            text = open_text_then(cipher, memory_id, revision, blob, said, parts, search.moment)
            if metadata and not has_metadata(metadata, cipher, memory_id, metadata_blob, revision):
                continue
        except DecryptError as error:
            _note(search, error, memory_id)
            continue
        if memory_id not in spoken:
            spoken[memory_id] = statistics.measure(text, vectors.get(memory_id))
        if before_id is not None and before_id not in spoken:
            spoken[before_id] = _before(search, statistics, before_id, before_blob, vectors.get(before_id))
        turn = CandidateTurn(
            id=memory_id,
            text=text,
            actor=actor,
            from_assistant=from_assistant,
            session=session,
            said_at=said_at,
            created_at=created_at,
            importance=importance,
            access_count=access_count,
            type=type_,
            confidence=confidence,
            last_accessed_at=last_accessed_at,
            is_summary=is_summary,
        )
        before = spoken[before_id] if before_id is not None else None
        features = compute_features(
            turn, spoken[memory_id], before, question, search.vector, statistics, session_token=session_token
        )
        candidates.append(OpenedCandidate(text=text, features=features, is_summary=turn.is_summary))
    return candidates


def has_metadata(
    wanted: Mapping[str, object], cipher: SpaceCipher, memory_id: int, blob: bytes | None, revision: int
) -> bool:
    """Whether a memory's metadata contain each of these values.  Raises DecryptError."""
    if not blob:
        return False
    said = orjson.loads(cipher.open_bytes(METADATA, memory_id, bytes(blob), revision=revision))
    return all(said.get(name) == value for name, value in wanted.items())


def _before(
    search: Search, statistics: Statistics, memory_id: int, blob: bytes, vector: NDArray[np.float32] | None
) -> Spoken:
    """The previous turn.  If it fails to decrypt, it is empty and does not affect the turn after it."""
    try:
        text = search.cipher.open(TEXT, memory_id, blob)
    except DecryptError as error:
        _note(search, error, memory_id)
        return statistics.measure(Plaintext(""), None)
    return statistics.measure(text, vector)


def _vectors(search: Search, ids: set[int]) -> dict[int, NDArray[np.float32]]:
    """Memory id to vector, for memories whose embedding decrypts; the others are scored by words alone."""
    missing = sorted(ids - search.opened.keys())
    found = open_embeddings(
        search.scope, search.space, missing, search.cipher, embedder=search.embedder, now=search.now
    )
    return search.opened | found


def _note(search: Search, error: DecryptError, memory_id: int) -> None:
    integrity.note(search.scope, error, memory_id, space_id=search.space.id, now=search.now)


def _fetch(search: Search, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    mine, project = [search.scope.tenant_id, search.space.id], search.scope.project_id
    before, at = true_sql("earlier", search.moment, now=search.now)
    with prepared_cursor() as cursor:
        cursor.execute(
            _POOL.format(where=search.where, before=before),
            [list(ids), *mine, *mine, search.now, *search.values, *mine, *mine, *at, search.now,
             project, project],
        )  # fmt: skip
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _statistics(search: Search, question: Question) -> Statistics:
    return Statistics(
        frequencies=dict(zip(dict.fromkeys(question.terms), search.frequencies, strict=True)),
        documents=search.documents,
        average_length=search.average_length,
    )
