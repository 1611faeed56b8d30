"""Recall of typed memories: three channels, fused by rank (seed-systems T10 to T12).

topic: memories under a topic key, newest first.  keyword: BM25 over summaries and keywords.  vector: the nearest of the
callers' vectors, or, without one, of ours.  Each channel is filtered by itself, so that no type crowds out another.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
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
from apps.recall.decrypted_scan import shortlist_sealed
from apps.recall.fusion import K, union
from apps.recall.options import candidates_per_retriever
from apps.recall.query_context import SearchedSpace, enter_space, find_speakers, parse_question
from apps.recall.relevance import relevance_of
from apps.recall.results import Filters
from apps.recall.retrieval import build_scan, build_search
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.retrievers.lexical import LexicalRetriever
from apps.recall.retrievers.slot import SlotRetriever
from apps.recall.search import conditions, moment_of
from apps.recall.shortlist import open_shortlist
from text.question_slots import asked_claims

MOST: Final = 1_000  # memories in one answer
CHANNELS: Final[Mapping[str, float]] = {"topic": 2.0, "keyword": 1.0, "vector": 1.0}  # and their weights
MOST_OPENED: Final = 20_000  # memories of a sealed space that one channel returns, if they are filtered by session
DEPTH: Final = 5  # times the limit: how many each channel returns


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuery:
    """What is asked for; at least one of query, vector and topic_key.

    vector: the caller's own, unit length.  types: of the four; None for all.  include_superseded: also what was
    replaced.  is_measured: whether hits of the query have a relevance.
    """

    query: Plaintext | None = None
    vector: NDArray[np.float32] | None = None
    topic_key: str | None = None
    types: Sequence[str] | None = None
    session_id: str | None = None
    source: str | None = None
    limit: int = 8
    include_superseded: bool = False
    is_measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedHit:
    """score: the sum of weight / (60 + rank) over the channels that found it.  channels: in the order of CHANNELS.

    relevance: as of a ``Hit``; None if not measured.  is_named: measured, and states what the question asks for.
    """

    memory: OpenedMemory
    score: float
    channels: Sequence[str]
    relevance: float | None = None
    is_named: bool = False


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
        channels = _search(space, asked, filters, now=now)
        found = _fused(channels.rankings)
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
        hits.append(
            TypedHit(
                memory=memory,
                score=score,
                channels=[name for name in CHANNELS if memory_id in channels.rankings.get(name, ())],
                relevance=channels.relevance.get(memory_id),
                is_named=memory_id in channels.named,
            )
        )
    read_log.record_recall(scope, [hit.memory.id for hit in hits])
    return TypedRecall(hits=hits, txid=space.row.txid)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channels:
    """rankings: channel to the ids that it found, best first.  relevance: by id, of those that were measured.

    named: ids of memories that state what the question asks for, in a claim or under its topic key.
    """

    rankings: Mapping[str, Sequence[int]]
    relevance: Mapping[int, float] = field(default_factory=dict)
    named: Collection[int] = ()


def _search(space: SearchedSpace, asked: TypedQuery, filters: Filters, *, now: datetime) -> _Channels:
    # A sealed space is filtered by session only after decryption.
    is_late = asked.session_id is not None and not space.cipher.is_searchable
    limit = MOST_OPENED if is_late else asked.limit * DEPTH
    found: dict[str, Sequence[int]] = {}
    if asked.topic_key is not None:
        found["topic"] = _under(space, [asked.topic_key], filters, limit=limit, now=now)
    if asked.vector is not None:
        where, values, _ = conditions(filters, space.scope, space.cipher, now=now)
        near = nearest_of_caller(
            space.scope, space.ref, asked.vector, space.cipher, limit=limit, where=where, values=values,
            replaced=filters.include_superseded, among=space.row.doc_count, now=now,
        )  # fmt: skip
        found["vector"] = [memory_id for memory_id, _ in near]
    if asked.query is None:
        return _Channels(rankings=found)
    channels = _by_question(space, asked, asked.query, filters, limit=limit, now=now)
    return replace(channels, rankings={**channels.rankings, **found})


def _by_question(
    space: SearchedSpace, asked: TypedQuery, query: Plaintext, filters: Filters, *, limit: int, now: datetime
) -> _Channels:
    """By words and, unless the caller gave a vector, by ours."""
    speakers = find_speakers(space, query, filters, now=now)
    context = parse_question(space, speakers, query, embeds=asked.vector is None, now=now)
    if context.opened is not None:
        scan = build_scan(context, context.opened, now=now)
        words, near = scan.lexical(limit), scan.dense(limit)
        stated = scan.slot(limit) if asked.is_measured else []
        open_candidates = partial(shortlist_sealed, context.opened, context.question, context.vector)
    else:
        search = build_search(context, filters, now=now)
        words, near = LexicalRetriever().rank(search, limit=limit), DenseRetriever().rank(search, limit=limit)
        stated = SlotRetriever().rank(search, limit=limit) if asked.is_measured else []
        open_candidates = partial(open_shortlist, search, context.question, metadata={})
    rankings = {"keyword": [one for one, _ in words], "vector": [one for one, _ in near]}
    if not asked.is_measured:
        return _Channels(rankings=rankings)
    asks_for = [".".join(claim) for claim in asked_claims(query.reveal())]
    named = {*(one for one, _ in stated), *_under(space, asks_for, filters, limit=limit, now=now)}
    relevance: Mapping[int, float] = {}
    if context.is_calibrated:
        ids = union(rankings.values(), limit=candidates_per_retriever(asked.limit))
        relevance = relevance_of([one.features for one in open_candidates(ids, session_token=None)])
    return _Channels(rankings=rankings, relevance=relevance, named=named)


def _under(
    space: SearchedSpace, topic_keys: Sequence[str], filters: Filters, *, limit: int, now: datetime
) -> list[int]:
    """The memories under these topic keys, newest first."""
    scope = space.scope
    slots = [
        slot_in_group(space.cipher, TYPES[name].group or "", topic_key, project_id=scope.project_id)
        for topic_key in topic_keys
        for name in KEYED
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
