"""The shortlist: retrieved memories and their neighbouring turns, decrypted once, with exact features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.queries import fetch_all
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.analyses import ANALYSIS_SQL, open_analyses
from apps.memories.models.memory import METADATA
from apps.memories.nearest import decrypt_embeddings
from apps.memories.validity import AsOf, true_sql
from apps.projects.scope import Scope, SpaceRef
from apps.recall.features import CandidateTurn, Statistics, compute_features
from apps.recall.question import Question
from apps.recall.ranking import Features
from apps.recall.search import Search
from text.analysis import TextAnalysis

_NOTHING: Final = TextAnalysis.of("")

# Every join is lateral and by id: without statistics, as after a bulk load, the planner would scan the space for each.
# member: retrieved ids.  following: the next turn of each one's session.  before: the previous turn of each.
# Bounds and an order, instead of session_token equality, make the planner use one index.
# vector: only of embeddings that are not decrypted yet.
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
select {analysis_of_m}, vector.embedding_ct, before.id, before.analysis_ct, before.embedding_ct,
    m.metadata_ct, m.revision, m.id, m.actor_token, m.from_assistant, m.session_token,
    coalesce(m.event_at, m.created_at), m.created_at, m.importance, m.access_count, m.type, m.confidence,
    m.last_accessed_at, m.is_summary
from pool
cross join lateral (
    select * from memories_memory where tenant_id = %s and space_id = %s and id = pool.id limit 1
) m
left join lateral (
    select embedding_ct from memories_memoryvector sealed
    where sealed.tenant_id = m.tenant_id and sealed.memory_id = m.id
      and m.id not in (select unnest(%s::bigint[])) and (%s::text is null or embedder = %s) limit 1
) vector on true
left join lateral (
    select earlier.id, vector.embedding_ct, {analysis_of_earlier} as analysis_ct
    from (
        select * from memories_memory earlier
        where earlier.tenant_id = %s and earlier.space_id = %s
          and earlier.session_token >= m.session_token and (earlier.session_token, earlier.id) < (m.session_token, m.id)
          and earlier.retention_status = 'active' and {before}
          and (earlier.expires_at is null or earlier.expires_at > %s)
          and (%s::bigint is null or earlier.project_id is null or earlier.project_id = %s)
        order by earlier.session_token desc, earlier.id desc limit 1
    ) earlier
    left join lateral (
        select embedding_ct from memories_memoryvector sealed
        where sealed.tenant_id = earlier.tenant_id and sealed.memory_id = earlier.id
          and earlier.id not in (select unnest(%s::bigint[])) and (%s::text is null or embedder = %s) limit 1
    ) vector on true
) before on m.session_token is not null
"""


class _Row(NamedTuple):
    """A row of ``_POOL``.  analysis, embedding: None if there is none, or it was decrypted before."""

    analysis: bytes | None
    embedding: bytes | None
    before_id: int | None
    before_analysis: bytes | None
    before_embedding: bytes | None
    metadata: bytes | None
    revision: int
    turn: CandidateTurn

    @property
    def id(self) -> int:
        return self.turn.id


@dataclass(slots=True, kw_only=True)
class OpenedCandidate:
    """One candidate with its features.  fingerprint: equal for memories with the same words."""

    features: Features
    fingerprint: bytes
    is_summary: bool


def open_shortlist(
    search: Search,
    question: Question,
    ids: Sequence[int],
    *,
    session_token: int | None,
    metadata: Mapping[str, object],
) -> list[OpenedCandidate]:
    """Decrypt what ranking reads of each candidate, once, and compute its exact features.

    Texts stay sealed: their analyses say all that is needed.  Undecryptable candidates are skipped and reported.
    """
    statistics, rows = _statistics(search, question), _fetch(search, ids)
    analyses, vectors = _analyses(search, rows), _vectors(search, rows)
    spoken = {memory_id: statistics.measure(one, vectors.get(memory_id)) for memory_id, one in analyses.items()}
    unread = statistics.measure(_NOTHING, None)  # a previous turn that fails to decrypt does not affect the next
    candidates: list[OpenedCandidate] = []
    for row in rows:
        if row.id not in spoken or not passes_metadata(
            metadata, search.cipher, row.id, row.metadata, row.revision,
            scope=search.scope, space=search.space, now=search.now,
        ):  # fmt: skip
            continue
        before = spoken.get(row.before_id, unread) if row.before_id is not None else None
        features = compute_features(
            row.turn, spoken[row.id], before, question, search.vector, statistics, session_token=session_token
        )
        candidates.append(
            OpenedCandidate(features=features, fingerprint=analyses[row.id].fingerprint, is_summary=row.turn.is_summary)
        )
    return candidates


def has_metadata(
    wanted: Mapping[str, object], cipher: SpaceCipher, memory_id: int, blob: bytes | None, revision: int
) -> bool:
    """Whether a memory's metadata contain each of these values.  Raises DecryptError."""
    if not blob:
        return False
    said = orjson.loads(cipher.open_bytes(METADATA, memory_id, bytes(blob), revision=revision))
    return all(said.get(name) == value for name, value in wanted.items())


def passes_metadata(
    wanted: Mapping[str, object],
    cipher: SpaceCipher,
    memory_id: int,
    blob: bytes | None,
    revision: int,
    *,
    scope: Scope,
    space: SpaceRef,
    now: datetime,
) -> bool:
    """As ``has_metadata``; true if nothing is wanted.  Metadata that fail decryption are reported, and do not pass."""
    try:
        return not wanted or has_metadata(wanted, cipher, memory_id, blob, revision)
    except DecryptError as error:
        integrity.note(scope, error, memory_id, space_id=space.id, now=now)
        return False


def _analyses(search: Search, rows: Sequence[_Row]) -> dict[int, TextAnalysis]:
    """Memory id to analysis, of the rows and the turns before them, without those that fail decryption."""
    sealed = {row.before_id: row.before_analysis for row in rows if row.before_id is not None}
    sealed |= {row.id: row.analysis for row in rows}
    return open_analyses(search.scope, search.space, sealed, search.cipher, search.moment, now=search.now)


def _vectors(search: Search, rows: Sequence[_Row]) -> dict[int, NDArray[np.float32]]:
    """Memory id to vector, for memories whose embedding decrypts; the others are scored by words alone."""
    blobs = {row.before_id: row.before_embedding for row in rows if row.before_id is not None}
    blobs |= {row.id: row.embedding for row in rows}
    sealed = {memory_id: blob for memory_id, blob in blobs.items() if blob is not None}
    return search.opened | decrypt_embeddings(search.scope, search.space, sealed, search.cipher, now=search.now)


def _fetch(search: Search, ids: Sequence[int]) -> list[_Row]:
    mine, project = [search.scope.tenant_id, search.space.id], search.scope.project_id
    before, at = true_sql("earlier", search.moment, now=search.now)
    is_of_another_time = isinstance(search.moment, AsOf)
    vector: list[Any] = [list(search.opened), search.embedder, search.embedder]
    rows = fetch_all(
        _POOL.format(
            where=search.where,
            before=before,
            analysis_of_m=ANALYSIS_SQL.format(memory="m"),
            analysis_of_earlier=ANALYSIS_SQL.format(memory="earlier"),
        ),
        [list(ids), *mine, *mine, search.now, *search.values, is_of_another_time, *mine, *vector,
         is_of_another_time, *mine, *at, search.now, project, project, *vector],
        prepared=True,
    )  # fmt: skip
    return [_Row._make((*row[:7], CandidateTurn(*row[7:]))) for row in rows]


def _statistics(search: Search, question: Question) -> Statistics:
    return Statistics(
        frequencies=dict(zip(dict.fromkeys(question.terms), search.frequencies, strict=True)),
        documents=search.documents,
        average_length=search.average_length,
    )
