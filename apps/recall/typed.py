"""Recall of typed memories: three channels, fused by rank (seed-systems T10 to T12).

topic: memories under a topic key, newest first.  keyword: BM25 over summaries and keywords.  vector: the nearest of the
callers' vectors, or, without one, of ours.  Each channel is filtered by itself, so that no type crowds out another.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_column
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError
from apps.memories import integrity
from apps.memories.callers_vectors import nearest_of_caller
from apps.memories.lifetimes import lifetimes_of
from apps.memories.lookup_keys import slot_in_group
from apps.memories.opened import OpenedMemory
from apps.memories.rows import recallable_rows
from apps.memories.sealing import open_memory
from apps.memories.tenant_types import registry_of
from apps.memories.typed import KEYED, types_named
from apps.memories.types import TYPES
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.concurrency import computing
from apps.recall.fusion import K
from apps.recall.query_context import SearchedSpace, enter_space, find_speakers, parse_question
from apps.recall.results import Filters
from apps.recall.retrieval import build_scan, build_search
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.retrievers.lexical import LexicalRetriever
from apps.recall.search import conditions, moment_of

MOST: Final = 1_000  # memories in one answer
CHANNELS: Final[Mapping[str, float]] = {"topic": 2.0, "keyword": 1.0, "vector": 1.0}  # and their weights
MOST_OPENED: Final = 20_000  # memories of a sealed space that one channel returns, if they are filtered by session
DEPTH: Final = 5  # times the limit: how many each channel returns


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuery:
    """What is asked for; at least one of query, vector and topic_key.

    vector: the caller's own, unit length.  types: of the four; None for all.  include_superseded: also what was
    replaced.
    """

    query: Plaintext | None = None
    vector: NDArray[np.float32] | None = None
    topic_key: str | None = None
    types: Sequence[str] | None = None
    session_id: str | None = None
    source: str | None = None
    limit: int = 8
    include_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedHit:
    """score: the sum of weight / (60 + rank) over the channels that found it.  channels: in the order of CHANNELS."""

    memory: OpenedMemory
    score: float
    channels: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRecall:
    """hits: best first, equal scores newest first.  txid: number of the space's latest change."""

    hits: Sequence[TypedHit] = ()
    txid: int = 0


def recall_typed(scope: Scope, asked: TypedQuery, *, now: datetime) -> TypedRecall:
    """The memories of the scope's one space that the channels find; none without a space."""
    if not scope.spaces:
        return TypedRecall()
    with computing(), tenant_transaction(scope, snapshot=True):
        space = enter_space(scope, scope.space)
        if asked.types is not None and not asked.types:
            return TypedRecall(txid=space.row.txid)
        filters = Filters(
            types=() if asked.types is None else types_named(asked.types, registry_of(scope).own),
            sources=() if asked.source is None else (asked.source,),
            session_id=asked.session_id,
            include_superseded=asked.include_superseded,
        )
        rankings = _rankings(space, asked, filters, now=now)
        found = _fused(rankings)
        moment = moment_of(filters, now=now)
        rows = {row.pk: row for row in recallable_rows(scope, [one for one, _ in found], moment, now=now)}
        lifetimes = lifetimes_of(scope, [scope.space.id])
    hits: list[TypedHit] = []
    for memory_id, score in sorted(
        ((one, score) for one, score in found if one in rows),
        key=lambda each: (-each[1], -rows[each[0]].created_at.timestamp(), -each[0]),
    ):
        if len(hits) == asked.limit:
            break
        try:
            memory = open_memory(rows[memory_id], space.cipher, scope.space, lifetimes)
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=scope.space.id, now=now)
            continue
        if asked.session_id is not None and memory.session != asked.session_id:
            continue  # a sealed space has no tokens to filter by
        channels = [name for name in CHANNELS if memory_id in rankings.get(name, ())]
        hits.append(TypedHit(memory=memory, score=score, channels=channels))
    read_log.record_recall(scope, [hit.memory.id for hit in hits])
    return TypedRecall(hits=hits, txid=space.row.txid)


def _rankings(space: SearchedSpace, asked: TypedQuery, filters: Filters, *, now: datetime) -> dict[str, list[int]]:
    """Channel to the ids that it found, best first."""
    # A sealed space is filtered by session only after decryption.
    is_late = asked.session_id is not None and not space.cipher.is_searchable
    limit = MOST_OPENED if is_late else asked.limit * DEPTH
    found: dict[str, list[int]] = {}
    if asked.topic_key is not None:
        found["topic"] = _under(space, asked.topic_key, filters, limit=limit, now=now)
    if asked.query is not None:
        embeds = asked.vector is None
        found |= _by_question(space, asked.query, filters, embeds=embeds, limit=limit, now=now)
    if asked.vector is not None:
        where, values, _ = conditions(filters, space.scope, space.cipher, now=now)
        near = nearest_of_caller(
            space.scope, space.ref, asked.vector, space.cipher, limit=limit, where=where, values=values,
            replaced=filters.include_superseded, among=space.row.doc_count, now=now,
        )  # fmt: skip
        found["vector"] = [memory_id for memory_id, _ in near]
    return found


def _by_question(
    space: SearchedSpace, query: Plaintext, filters: Filters, *, embeds: bool, limit: int, now: datetime
) -> dict[str, list[int]]:
    speakers = find_speakers(space, query, filters, now=now)
    context = parse_question(space, speakers, query, embeds=embeds, now=now)
    if context.opened is not None:
        scan = build_scan(context, context.opened, now=now)
        words, near = scan.lexical(limit), scan.dense(limit)
    else:
        search = build_search(context, filters, now=now)
        words, near = LexicalRetriever().rank(search, limit=limit), DenseRetriever().rank(search, limit=limit)
    return {"keyword": [one for one, _ in words], "vector": [one for one, _ in near]}


def _under(space: SearchedSpace, topic_key: str, filters: Filters, *, limit: int, now: datetime) -> list[int]:
    """The memories under this topic key, newest first."""
    scope = space.scope
    slots = [
        slot_in_group(space.cipher, TYPES[name].group or "", topic_key, project_id=scope.project_id) for name in KEYED
    ]
    where, values, _ = conditions(filters, scope, space.cipher, now=now)
    return fetch_column(
        "select memory.id from unnest(%s::bytea[]) wanted(slot) cross join lateral ("  # noqa: S608  (ours)
        "select * from memories_memory where tenant_id = %s and space_id = %s "
        "and slot >= wanted.slot and slot <= wanted.slot order by slot) memory "
        "where memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) "
        f"{where} order by memory.created_at desc, memory.id desc limit %s",
        [slots, scope.tenant_id, space.ref.id, now, *values, limit],
        prepared=True,
    )


def _fused(rankings: Mapping[str, Sequence[int]]) -> list[tuple[int, float]]:
    """(memory id, score), best first: Cormack, Clarke and Buettcher 2009, with weights."""
    scores: defaultdict[int, float] = defaultdict(float)
    for name, weight in CHANNELS.items():
        for rank, memory_id in enumerate(rankings.get(name, ()), start=1):
            scores[memory_id] += weight / (K + rank)
    return sorted(scores.items(), key=lambda one: (-one[1], -one[0]))
