"""The shortlist: what the legs found and the turns beside it, opened once and measured exactly."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

from apps.core.plaintext import Plaintext
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import postings
from apps.memories.nearest import parameter
from apps.memories.sealing import METADATA, TEXT
from apps.memories.words import bm25, terms
from apps.recall.question import Question, date_match
from apps.recall.ranking import Features
from apps.recall.search import Search

logger = logging.getLogger(__name__)

# Every join is lateral and by id: without statistics, as after a bulk load, the planner would scan the space for each.
# Members are what the legs found.  Each brings the turn after it, in its session; of every one the turn before is read.
_POOL = """
with member as (select unnest(%s::bigint[]) as id),
following as (
    select after.id from member
    cross join lateral (select * from memories_memory where tenant_id = %s and id = member.id limit 1) m
    cross join lateral (
        select memory.id from memories_memory memory
        where memory.tenant_id = m.tenant_id and memory.space_id = m.space_id
          and memory.session_token = m.session_token and memory.id > m.id
          and memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
        order by memory.id limit 1
    ) after
    where m.session_token is not null
),
pool as (select id from member union select id from following)
select m.id, m.text_ct, before.id, before.text_ct,
    -(vector.embedding <#> %s::halfvec), -(before_vector.embedding <#> %s::halfvec),
    -(vector.embedding <#> before_vector.embedding),
    m.actor_token, m.from_assistant, m.session_token, coalesce(m.event_at, m.created_at), m.created_at, m.importance,
    m.access_count, m.metadata_ct, m.revision
from pool
cross join lateral (select * from memories_memory where tenant_id = %s and id = pool.id limit 1) m
left join lateral (
    select earlier.id, earlier.text_ct from memories_memory earlier
    where earlier.tenant_id = m.tenant_id and earlier.space_id = m.space_id
      and earlier.session_token = m.session_token and earlier.id < m.id
      and earlier.retention_status = 'active' and earlier.validity <> 'superseded'
      and (earlier.expires_at is null or earlier.expires_at > %s)
      and (%s::bigint is null or earlier.project_id is null or earlier.project_id = %s)
    order by earlier.id desc limit 1
) before on m.session_token is not null
left join lateral (
    select embedding from memories_memoryvector where memory_id = m.id and embedder = %s limit 1
) vector on true
left join lateral (
    select embedding from memories_memoryvector where memory_id = before.id and embedder = %s limit 1
) before_vector on true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One candidate, measured.  text: to collapse what says the same."""

    features: Features
    text: Plaintext


def open_shortlist(
    search: Search,
    question: Question,
    ids: Sequence[int],
    cipher: SpaceCipher,
    *,
    session_token: int | None,
    metadata: Mapping[str, object],
) -> list[Opened]:
    """Open each candidate once, and count its words exactly.  One that fails its seal is left out and reported."""
    frequencies = _frequencies(search, question)
    words: dict[int, list[str]] = {}
    candidates: list[Opened] = []
    for row in _fetch(search, ids):
        (memory_id, blob, before_id, before_blob, cosine, before_cosine, similarity, actor, from_assistant, session,
         said_at, created_at, importance, access_count, metadata_blob, revision) = row  # fmt: skip
        try:
            text = cipher.open(TEXT, memory_id, bytes(blob))
            if metadata and not _has(metadata, cipher, memory_id, metadata_blob, revision):
                continue
            words.setdefault(memory_id, terms(text.reveal()))
        except DecryptError:
            report_broken_seal()
            continue
        if before_id is not None and before_id not in words:
            words[before_id] = _words_before(cipher, before_id, bytes(before_blob))
        candidates.append(
            Opened(
                text=text,
                features=Features(
                    id=memory_id,
                    cosine=cosine or 0.0,
                    previous_cosine=before_cosine or 0.0,
                    similarity=similarity or 0.0,
                    has_previous=before_cosine is not None,
                    words=_exact(question, words[memory_id], frequencies, search),
                    previous_words=_exact(question, words[before_id], frequencies, search) if before_id else 0.0,
                    is_actor=actor in question.actors,
                    from_assistant=from_assistant,
                    session=session,
                    in_session=session is not None and session == session_token,
                    date_match=date_match(question.dates, said_at),
                    length=len(words[memory_id]),
                    ends_with_question=text.reveal().rstrip().endswith("?"),
                    created_at=created_at,
                    importance=importance,
                    access_count=access_count,
                ),
            )
        )
    return candidates


def report_broken_seal() -> None:
    logger.error("a memory failed its seal and was left out", extra={"action": "integrity", "count": 1})


def _words_before(cipher: SpaceCipher, memory_id: int, blob: bytes) -> list[str]:
    """The words of the turn before.  One that fails its seal has none, and takes nothing from the turn after it."""
    try:
        return terms(cipher.open(TEXT, memory_id, blob).reveal())
    except DecryptError:
        report_broken_seal()
        return []


def _fetch(search: Search, ids: Sequence[int]) -> Iterable[tuple[Any, ...]]:
    query = parameter(search.vector) if search.vector is not None else None
    tenant, project = search.scope.tenant_id, search.scope.project_id
    with connection.cursor() as cursor:
        cursor.execute(
            _POOL.format(where=search.where),
            [list(ids), tenant, search.now, *search.values, query, query, tenant, search.now,
             project, project, search.embedder, search.embedder],
        )  # fmt: skip
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _frequencies(search: Search, question: Question) -> dict[str, int]:
    counts = postings.frequencies(search.scope, search.space, search.tokens)
    return {
        term: counts.get(token, 0) for term, token in zip(dict.fromkeys(question.terms), search.tokens, strict=True)
    }


def _exact(question: Question, text_terms: Sequence[str], frequencies: Mapping[str, int], search: Search) -> float:
    return bm25(
        question.terms,
        text_terms,
        frequencies=frequencies,
        documents=search.documents,
        average_length=search.average_length,
    )


def _has(wanted: Mapping[str, object], cipher: SpaceCipher, memory_id: int, blob: bytes | None, revision: int) -> bool:
    if not blob:
        return False
    said = orjson.loads(cipher.open_bytes(METADATA, memory_id, bytes(blob), revision=revision))
    return all(said.get(name) == value for name, value in wanted.items())
