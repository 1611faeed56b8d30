"""Recall: the memories that best answer a query, with the reason for each."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.adapters.registry import get_embedder
from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.edges.opened import Neighbour
from apps.memories import integrity, lineage
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.participants import present
from apps.memories.periods import recallable
from apps.memories.postings import AskedTerms
from apps.memories.sealing import open_memory
from apps.memories.words import normalised
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.recall import access
from apps.recall.fusion import reciprocal_rank, union
from apps.recall.legs.dense import Dense
from apps.recall.legs.lexical import Lexical
from apps.recall.question import Question, ask, words_that_may_name
from apps.recall.ranking import (
    PROFILES,
    Features,
    Ranked,
    behind_their_sources,
    rank_default,
    rank_memorysync,
    rank_salience,
    rank_typed,
    weights_used,
)
from apps.recall.related import Related, Relations
from apps.recall.results import Explanation, Filters, Hit, Recall
from apps.recall.sealed import OpenedSpace, open_sealed, rank_sealed, shortlist_sealed
from apps.recall.search import Leg, Ranking, Search, conditions, moment_of
from apps.recall.shortlist import Opened, open_shortlist

LEGS: tuple[Leg, ...] = (Dense(), Lexical())
DEPTH = 64  # of each leg; the union of two is the shortlist


class UnknownProfile(Invalid):
    """No such ranking profile."""


def recall(
    scope: Scope,
    query: Plaintext,
    *,
    filters: Filters | None = None,
    limit: int = 5,
    depth: int = 2,
    profile: str | None = None,
    weights: Mapping[str, float] | None = None,
    session_id: str | None = None,
    now: datetime,
) -> Recall:
    """The memories of the scope's spaces that best answer the query, best first; at most ``limit``, never padded.

    depth: 1 for what is found by itself, 2 and 3 for what lies at most that many relations away from it as well.
    profile: one of PROFILES.  weights: override the profile's; ``graph`` weighs what relations carry.
    session_id: memories of this session are preferred a little, and none are left out.  Raises UnknownProfile.
    """
    started = time.perf_counter()
    chosen = profile or "default"
    if chosen not in PROFILES:
        raise UnknownProfile(f"profile is one of {', '.join(PROFILES)}.")
    options = _Options(
        filters=filters or Filters(), limit=limit, depth=min(max(depth, 1), 3), profile=chosen, weights=weights,
        session_id=session_id, now=now,
    )  # fmt: skip
    found = [_recall_in(scope, space, query, options) for space in scope.spaces]
    hits = [hit for one in found for hit in one.hits]
    hits = sorted(hits, key=lambda hit: (-hit.score, -hit.memory.id))[:limit]
    access.note(scope, [hit.memory.id for hit in hits])
    return Recall(
        query_id=uuid.uuid4(),
        hits=hits,
        profile=chosen,
        latency_ms=(time.perf_counter() - started) * 1000,
        intent=ask(query).intent,
        dense_available=all(one.is_dense for one in found),
    )


def rank_legs(scope: Scope, query: Plaintext, *, limit: int, now: datetime) -> dict[str, Ranking]:
    """What each leg finds by itself, for measuring: one space, no filter.  The lexical scores are exact."""
    asked = _ask(scope, scope.space, query, Filters(), now=now)
    with tenant_transaction(scope, snapshot=True):
        search = _search(scope, asked, Filters(), now)
        rankings = {leg.name: leg.rank(search, limit=max(limit, 2 * DEPTH)) for leg in LEGS}
        ids = [memory_id for memory_id, _ in rankings["lexical"]]
        opened = open_shortlist(search, asked.question, ids, session_token=None, metadata={})
    exact = {one.features.id: one.features.words for one in opened}
    rankings["lexical"] = sorted(
        ((memory_id, exact[memory_id]) for memory_id, _ in rankings["lexical"] if memory_id in exact),
        key=lambda item: (-item[1], item[0]),
    )
    return {name: ranking[:limit] for name, ranking in rankings.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    filters: Filters
    limit: int
    depth: int
    profile: str
    weights: Mapping[str, float] | None
    session_id: str | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A space as it was when the question was read, and what of it must be known before anything is searched.

    opened: all of a sealed space; None of one that is searched at rest.
    """

    space: SpaceRef
    cipher: SpaceCipher
    question: Question
    vector: NDArray[np.float32] | None
    opened: OpenedSpace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    hits: Sequence[Hit] = ()
    is_dense: bool = True


class _SpaceChanged(Exception):
    """The space was sealed, unsealed or keyed anew since the question was read: read it again."""


def _recall_in(scope: Scope, space: SpaceRef, query: Plaintext, options: _Options) -> _Found:
    while True:
        try:
            asked = _ask(scope, space, query, options.filters, now=options.now)
            # One moment for all of it: a memory replaced between two statements would be missing with its successor,
            # and so would one that is keyed anew between the look at the key versions and the search.
            with tenant_transaction(scope, snapshot=True):
                return _Found(hits=_hits(scope, asked, options), is_dense=asked.vector is not None)
        except _SpaceChanged:
            continue
        except (Space.DoesNotExist, SpaceShredded):  # erased meanwhile
            return _Found()


def _ask(scope: Scope, space: SpaceRef, query: Plaintext, filters: Filters, *, now: datetime) -> _Asked:
    """Read the question.  Embedding may wait for a network, so it is done outside the transaction."""
    embedder = get_embedder()
    words = words_that_may_name(query.reveal())
    with tenant_transaction(scope):
        space = Space.objects.within(scope).get(pk=space.id).ref
        cipher = open_space(scope.tenant, space)
        tokens = {cipher.actor_token(word): word for word in words}
        opened = None
        if space.is_sealed:
            opened = open_sealed(scope, space, cipher, filters, embedder=embedder.id, now=now)
            actors = [token for token in tokens if token in opened.actors]
        else:
            actors = present(scope, space, list(tokens), replaced=moment_of(filters, now=now) is not None, now=now)
    question = ask(query, participants=[tokens[token] for token in actors], actors=frozenset(actors))
    vector = _embed(embedder, question.voiced)
    return _Asked(space=space, cipher=cipher, question=question, vector=vector, opened=opened)


def _embed(embedder: Embedder, text: Plaintext) -> NDArray[np.float32] | None:
    try:
        vector: NDArray[np.float32] = embedder.embed([text.reveal()])[0]
    except AdapterError:
        return None
    return vector


def _search(scope: Scope, asked: _Asked, filters: Filters, now: datetime) -> Search:
    """Inside the snapshot, so that the key versions are those of the rows in it.  Raises _SpaceChanged."""
    row = Space.objects.within(scope).get(pk=asked.space.id)
    if row.ref != asked.space:
        raise _SpaceChanged
    cipher = open_space(scope.tenant, asked.space)
    where, values, is_filtered = conditions(filters, scope, cipher, now=now)
    return Search(
        scope=scope,
        space=asked.space,
        cipher=cipher,
        asked=AskedTerms.under(cipher.live(), list(dict.fromkeys(asked.question.terms))),
        vector=asked.vector,
        embedder=get_embedder().id,
        documents=row.doc_count,
        average_length=row.term_total / max(1, row.doc_count),
        where=where,
        values=values,
        is_filtered=is_filtered,
        now=now,
        moment=moment_of(filters, now=now),
    )


def _shortlist(scope: Scope, asked: _Asked, options: _Options) -> tuple[dict[str, Ranking], list[Opened]]:
    session_token = asked.cipher.session_token(options.session_id) if options.session_id else None
    if asked.opened is not None:
        rankings = rank_sealed(asked.opened, asked.question, asked.vector, limit=DEPTH)
        ids = union([[memory_id for memory_id, _ in ranking] for ranking in rankings.values()], limit=DEPTH)
        return rankings, shortlist_sealed(asked.opened, asked.question, asked.vector, ids, session_token=session_token)
    search = _search(scope, asked, options.filters, options.now)
    rankings = {leg.name: leg.rank(search, limit=DEPTH) for leg in LEGS}
    ids = union([[memory_id for memory_id, _ in ranking] for ranking in rankings.values()], limit=DEPTH)
    return rankings, open_shortlist(
        search, asked.question, ids, session_token=session_token, metadata=options.filters.metadata
    )


def _hits(scope: Scope, asked: _Asked, options: _Options) -> list[Hit]:
    """The best of the space, opened whole.  Inside the snapshot.

    Where the text opens and another field does not, the rest is ranked once more without that row: it takes nobody's
    place, and no score tells how much of it opened.  So it is with a summary that a source left.
    """
    rankings, opened = _shortlist(scope, asked, options)
    failed: set[int] = set()
    while True:
        features = [one.features for one in opened]
        ranked = _rank(options.profile, features, rankings, options.weights, options.now)
        related = _behind_sources(scope, asked, _relate(scope, asked, options, ranked, opened, without=failed))
        kept = _collapse(related, opened)[: options.limit]
        memories = _open_whole(scope, asked, [one.id for one in kept], options)
        gone = {one.id for one in kept} - memories.keys()
        if not gone:
            break
        failed |= gone
        opened = [one for one in opened if one.features.id not in gone]
    legs = _places(rankings)
    used = weights_used(options.profile, features, options.weights)
    return [
        Hit(
            memory=memories[one.id],
            score=one.score,
            explanation=_explain(one, legs.get(one.id, {}), used, related, graph_weight=_graph_weight(options)),
        )
        for one in kept
        if one.id in memories
    ]


def _behind_sources(scope: Scope, asked: _Asked, related: Related) -> Related:
    """Summaries take no place of their sources; a question for an overview may be answered by a summary alone."""
    if asked.question.intent == "analytical":
        return related
    sources = lineage.sources_among(scope, [one.id for one in related.ranked])
    return replace(related, ranked=behind_their_sources(related.ranked, sources)) if sources else related


def _relate(
    scope: Scope,
    asked: _Asked,
    options: _Options,
    ranked: Sequence[Ranked],
    opened: Sequence[Opened],
    *,
    without: set[int],
) -> Related:
    relations = Relations(
        scope=scope,
        space=asked.space,
        cipher=asked.cipher,
        filters=options.filters,
        now=options.now,
        texts={one.features.id: one.text for one in opened},
        wanted=None if asked.opened is None else asked.opened.wanted,
        without=without,
    )
    return relations.relate(ranked, depth=options.depth, weight=_graph_weight(options))


def _graph_weight(options: _Options) -> float:
    return (options.weights or {}).get("graph", 1.0)


def _explain(
    one: Ranked,
    legs: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    related: Related,
    *,
    graph_weight: float,
) -> Explanation:
    reached = related.reached.get(one.id)
    against = related.contradicted.get(one.id)
    return Explanation(
        matched_by="graph" if reached else _matched_by(legs),
        factors=one.factors,
        weights={**weights, "graph": graph_weight} if reached else weights,
        legs=legs,
        path=[_step(step) for step in reached.path] if reached else (),
        hop=len(reached.path) if reached else 0,
        boosts=[{"name": "contradiction", "memory_ids": against, "amount": one.factors.get("contradiction", 0.0)}]
        if against
        else (),
    )


def _step(step: Neighbour) -> dict[str, object]:
    """As the relation points, whichever way it was followed."""
    ends = (step.node_id, step.memory_id) if step.is_forward else (step.memory_id, step.node_id)
    return {"from": ends[0], "to": ends[1], "type": step.type, "confidence": step.confidence}


def _open_whole(scope: Scope, asked: _Asked, ids: Sequence[int], options: _Options) -> dict[int, OpenedMemory]:
    """The memories by id, without those of which some field fails its seal."""
    memories: dict[int, OpenedMemory] = {}
    moment = moment_of(options.filters, now=options.now)
    mine = recallable(Memory.objects.within(scope.in_spaces(asked.space)), moment, now=options.now)
    for row in mine.filter(pk__in=ids).to_open():
        try:
            memories[row.pk] = open_memory(row, asked.cipher, asked.space)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=asked.space.id, now=options.now)
    return memories


def _rank(
    profile: str,
    features: Sequence[Features],
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None,
    now: datetime,
) -> list[Ranked]:
    if profile == "memorysync":
        return rank_memorysync(features, now=now, weights=weights)
    if profile in ("rrf", "typed", "salience"):
        fused = reciprocal_rank(_exact(name, ranking, features) for name, ranking in rankings.items())
        if profile == "typed":
            return rank_typed(features, fused, now=now)
        if profile == "salience":
            return rank_salience(features, fused, now=now)
        return [Ranked(id=one, score=score, factors={"rrf": score}) for one, score in fused]
    return rank_default(features, weights=weights)


def _exact(leg: str, ranking: Ranking, features: Sequence[Features]) -> list[int]:
    """The leg's finds in the order of their exact scores: rounding in an index, which a new key changes, moves none."""
    scores = {one.id: one.cosine if leg == "dense" else one.words for one in features}
    found = (memory_id for memory_id, _ in ranking if memory_id in scores)
    return sorted(found, key=lambda memory_id: (-scores[memory_id], memory_id))


def _collapse(related: Related, opened: Sequence[Opened]) -> list[Ranked]:
    """Of memories that say the same words, the best placed one."""
    found = {one.features.id: one.text for one in opened} | dict(related.texts)
    seen: set[str] = set()
    kept = []
    for one in related.ranked:
        text = normalised(found[one.id].reveal())
        if text not in seen:
            seen.add(text)
            kept.append(one)
    return kept


def _places(rankings: Mapping[str, Ranking]) -> dict[int, dict[str, dict[str, float]]]:
    places: dict[int, dict[str, dict[str, float]]] = {}
    for name, ranking in rankings.items():
        for rank, (memory_id, score) in enumerate(ranking, start=1):
            places.setdefault(memory_id, {})[name] = {"rank": rank, "score": round(score, 6)}
    return places


def _matched_by(legs: Mapping[str, object]) -> str:
    if not legs:
        return "context"  # the turn after one that a leg found
    return "both" if len(legs) > 1 else {"dense": "vector", "lexical": "words"}[next(iter(legs))]
