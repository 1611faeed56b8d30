"""Recall: the memories that best answer a query, with the reason for each."""

import json
import math
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.adapters.registry import get_embedder
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.edges.opened import Neighbour
from apps.memories import integrity, lineage, postings
from apps.memories.lifetimes import lifetimes_of
from apps.memories.opened import OpenedMemory
from apps.memories.rows import recallable_rows
from apps.memories.sealing import open_memory
from apps.memories.spaces import space_now
from apps.memories.speakers import known_speakers
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.recall import read_log, reranking
from apps.recall.cache import CachedAnswer, CacheKey, answers
from apps.recall.decrypted_scan import OpenedSpace, SealedLegs, open_sealed, shortlist_sealed
from apps.recall.fusion import union
from apps.recall.question import Question, ask, words_that_may_name
from apps.recall.ranking import PROFILES, Ranked, behind_their_sources, weights_used
from apps.recall.related import Related, Relations
from apps.recall.replay import Trace, first_of_each, rank
from apps.recall.reranking import NOT_READ, Reread
from apps.recall.results import Explanation, Filters, Hit, Recall
from apps.recall.retrievers import graph
from apps.recall.retrievers.dense import Dense
from apps.recall.retrievers.entity import Entity
from apps.recall.retrievers.lexical import Lexical
from apps.recall.retrievers.slot import Slot
from apps.recall.retrievers.temporal import Temporal
from apps.recall.search import Leg, Ranking, Search, conditions, moment_of
from apps.recall.shortlist import Opened, open_shortlist
from apps.recall.traces import is_wanted
from text.words import normalised

# In the order in which they run, and the last are the first to be cut; which of them do, says RECALL_LEGS.  Along
# relations, ``graph``, recall goes from what they found.
LEGS: tuple[Leg, ...] = (Dense(), Lexical(), Slot(), Temporal(), Entity())
FEWEST, ENOUGH = 32, 64  # of each leg: fewer lose what is asked for, and more find nothing (docs/benchmarks.md)


class UnknownProfile(Invalid):
    """No such ranking profile."""


class UnknownLeg(Invalid):
    """No such way of finding."""


def breadth(limit: int) -> int:
    """How many each leg finds for an answer of ``limit``; their union, the shortlist, is opened and measured."""
    return max(limit, min(ENOUGH, max(FEWEST, 2 * limit)))


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
    legs: Collection[str] | None = None,
    now: datetime,
) -> Recall:
    """The memories of the scope's spaces that best answer the query, best first; at most ``limit``, never padded.

    depth: 1 for what is found by itself, 2 and 3 for what lies at most that many relations away from it as well.
    profile: one of PROFILES.  weights: override the profile's; ``graph`` weighs what relations carry.
    session_id: memories of this session are preferred a little, and none are left out.
    legs: the ways of finding, by name, in place of RECALL_LEGS.  Those for which RECALL_BUDGET_MS leaves no time are
    cut, which the answer says.  Raises UnknownProfile, UnknownLeg.
    """
    started = time.perf_counter()
    if legs is not None and not set(legs) <= {graph.NAME, *(leg.name for leg in LEGS)}:
        raise UnknownLeg
    chosen = profile or "default"
    if chosen not in PROFILES:
        raise UnknownProfile(f"profile is one of {', '.join(PROFILES)}.")
    query_id = uuid.uuid4()
    options = _Options(
        filters=filters or Filters(), limit=limit, depth=min(max(depth, 1), 3), profile=chosen, weights=weights,
        session_id=session_id, legs=frozenset(settings.RECALL_LEGS if legs is None else legs),
        budget=Budget(settings.RECALL_BUDGET_MS, started), is_traced=is_wanted(query_id), now=now,
    )  # fmt: skip
    found = [_recall_in(scope, space, query, options) for space in scope.spaces]
    hits = [hit for one in found for hit in one.hits]
    hits = sorted(hits, key=lambda hit: (-hit.score, -hit.memory.id))[:limit]
    traces = [one.traced for one in found if one.traced is not None] if options.is_traced else []
    for one in found:
        if one.reread is not None:
            with tenant_transaction(scope):
                record(scope, actor=scope.principal.label, action="ai.rerank", reason=one.reread, now=now)
    read_log.record_recall(
        scope,
        [hit.memory.id for hit in hits],
        query_id=query_id,
        traces=[(space, query_id, trace) for space, trace in traces],
        milliseconds=(time.perf_counter() - started) * 1000,
    )
    return Recall(
        query_id=query_id,
        hits=hits,
        profile=chosen,
        latency_ms=(time.perf_counter() - started) * 1000,
        intent=ask(query).intent,
        dense_available=all(one.is_dense for one in found),
        legs=_in_order_of_legs(name for one in found for name in one.legs),
        legs_cut=_in_order_of_legs(name for one in found for name in one.cut),
    )


def rank_legs(scope: Scope, query: Plaintext, *, limit: int, now: datetime) -> dict[str, Ranking]:
    """What each leg finds by itself, for measuring: one space, no filter.  The lexical scores are exact."""
    with tenant_transaction(scope, snapshot=True):
        row, cipher = _enter(scope, scope.space)
        spoken = _who_speaks(scope, row.ref, cipher, query, Filters(), now=now)
        search = _search(scope, (asked := _ask(row, cipher, spoken, query, now=now)), Filters(), now)
        rankings = {leg.name: leg.rank(search, limit=max(limit, 2 * ENOUGH)) for leg in LEGS}
        ids = [memory_id for memory_id, _ in rankings["lexical"]]
        opened = open_shortlist(search, asked.question, ids, session_token=None, metadata={})
    exact = {one.features.id: one.features.words for one in opened}
    rankings["lexical"] = sorted(
        ((memory_id, exact[memory_id]) for memory_id, _ in rankings["lexical"] if memory_id in exact),
        key=lambda item: (-item[1], item[0]),
    )
    return {name: ranking[:limit] for name, ranking in rankings.items()}


@dataclass(frozen=True, slots=True)
class Budget:
    """milliseconds: from ``started`` on, by the clock of ``time.perf_counter``; 0 is without end."""

    milliseconds: float
    started: float

    @property
    def seconds_left(self) -> float:
        """Below 0 once it is spent; infinity where there is no end."""
        return self.milliseconds / 1000 - (time.perf_counter() - self.started) if self.milliseconds > 0 else math.inf

    @property
    def is_spent(self) -> bool:
        return self.seconds_left < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    filters: Filters
    limit: int
    depth: int
    profile: str
    weights: Mapping[str, float] | None
    session_id: str | None
    legs: frozenset[str]
    budget: Budget
    is_traced: bool
    now: datetime

    @property
    def breadth(self) -> int:
        # Metadata are compared once they are opened, and then fewer are left.
        return breadth(max(self.limit, FEWEST) if self.filters.metadata else self.limit)

    @property
    def wanted(self) -> str:
        """All of it that an answer depends on, to recognize equal questions.  Of the time, the day that words like
        "yesterday" are counted from."""
        weights = sorted(self.weights.items()) if self.weights is not None else None
        return json.dumps(
            [asdict(self.filters), self.limit, self.depth, self.profile, weights, self.session_id, sorted(self.legs),
             f"{self.now:%Y-%m-%d}"],
            sort_keys=True, default=str,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A space as it was when the question was read, and what of it must be known before anything is searched.

    opened: all of a sealed space; None of one that is searched at rest.
    """

    row: Space
    cipher: SpaceCipher
    question: Question
    vector: NDArray[np.float32] | None
    opened: OpenedSpace | None

    @property
    def space(self) -> SpaceRef:
        return self.row.ref


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Of one space.  legs, cut: names of those that ran and of those that did not for want of time.

    reread: how it went with the cross-encoder, where it was asked.
    """

    hits: Sequence[Hit] = ()
    is_dense: bool = True
    legs: Sequence[str] = ()
    cut: Sequence[str] = ()
    traced: tuple[SpaceRef, Trace] | None = None
    reread: str | None = None


class _SpaceChanged(Exception):
    """The space was sealed, unsealed or re-keyed since the question was read: read it again."""


def _recall_in(scope: Scope, space: SpaceRef, query: Plaintext, options: _Options) -> _Found:
    while True:
        try:
            # One moment for all of it: a memory replaced between two statements would be missing with its successor,
            # and so would one that is re-keyed between the look at the key versions and the search.
            with tenant_transaction(scope, snapshot=True):
                row, cipher = _enter(scope, space)
                place = _place(scope, row, cipher, query, options)
                if (again := _found_again(scope, row.ref, cipher, place, options)) is not None:
                    return again
                spoken = _who_speaks(scope, row.ref, cipher, query, options.filters, now=options.now)
                is_here = get_embedder().is_local
                found = _found(scope, _ask(row, cipher, spoken, query, now=options.now), options) if is_here else None
            if found is None:  # no transaction waits for a network
                found = _found_later(scope, _ask(row, cipher, spoken, query, now=options.now), options)
            if found.is_dense and not found.cut:
                # As of the change that was looked at first: what was written meanwhile makes it void.
                hits = [(hit.memory.id, hit.score, hit.explanation) for hit in found.hits]
                answers.put(place, CachedAnswer(hits=hits, legs=found.legs), now=options.now)
            return found
        except _SpaceChanged:
            continue
        except (Space.DoesNotExist, SpaceShredded):  # erased meanwhile
            return _Found()


def _found_later(scope: Scope, asked: _Asked, options: _Options) -> _Found:
    """In another moment than that in which the question was read.  Raises _SpaceChanged, what ``_enter`` raises."""
    with tenant_transaction(scope, snapshot=True):
        row, cipher = _enter(scope, asked.space)
        if row.ref != asked.space:
            raise _SpaceChanged
        return _found(scope, replace(asked, row=row, cipher=cipher), options)


def _enter(scope: Scope, space: SpaceRef) -> tuple[Space, SpaceCipher]:
    """The space as it is now.  Raises Space.DoesNotExist, SpaceShredded."""
    row = space_now(scope, space.id)
    return row, open_space(scope.tenant, row.ref)


def _place(scope: Scope, row: Space, cipher: SpaceCipher, query: Plaintext, options: _Options) -> CacheKey:
    return CacheKey(
        project=(scope.tenant_id, scope.environment, scope.project_id),
        question=cipher.identity_mac("question", query.reveal(), options.wanted),
        state=(row.txid, row.ref, get_embedder().id),
    )


def _found_again(
    scope: Scope, space: SpaceRef, cipher: SpaceCipher, place: CacheKey, options: _Options
) -> _Found | None:
    """What was answered to the same question a moment ago, re-opened; None where it does not hold any more.

    A recall that leaves a trace is searched for, so that there is something to trace.
    """
    kept = None if options.is_traced else answers.get(place, now=options.now)
    if kept is None:
        return None
    memories = _open_whole(scope, space, cipher, [memory_id for memory_id, _, _ in kept.hits], options)
    if len(memories) < len(kept.hits):
        answers.drop(place)
        return None
    hits = [Hit(memory=memories[one], score=score, explanation=explanation) for one, score, explanation in kept.hits]
    return _Found(hits=hits, legs=kept.legs)


def _who_speaks(
    scope: Scope, space: SpaceRef, cipher: SpaceCipher, query: Plaintext, filters: Filters, *, now: datetime
) -> tuple[dict[int, str], OpenedSpace | None]:
    """Those words of the question that name a person who speaks in the space, by their tokens, and a sealed space
    opened, where one has to be for that."""
    tokens = {cipher.actor_token(word): word for word in words_that_may_name(query.reveal())}
    if space.is_sealed:
        opened = open_sealed(scope, space, cipher, filters, embedder=get_embedder().id, now=now)
        return {token: word for token, word in tokens.items() if token in opened.actors}, opened
    replaced = moment_of(filters, now=now) is not None
    return {
        token: tokens[token] for token in known_speakers(scope, space, list(tokens), replaced=replaced, now=now)
    }, None


def _ask(
    row: Space,
    cipher: SpaceCipher,
    spoken: tuple[dict[int, str], OpenedSpace | None],
    query: Plaintext,
    *,
    now: datetime,
) -> _Asked:
    """Read the question."""
    actors, opened = spoken
    question = ask(query, participants=list(actors.values()), actors=frozenset(actors), now=now)
    vector = _embed(get_embedder(), question.to_embed)
    return _Asked(row=row, cipher=cipher, question=question, vector=vector, opened=opened)


def _embed(embedder: Embedder, texts: Sequence[Plaintext]) -> NDArray[np.float32] | None:
    """Their mean, at unit length; None while the embedder is down."""
    try:
        vectors = embedder.embed([text.reveal() for text in texts])
    except AdapterError:
        return None
    mean: NDArray[np.float32] = np.mean(vectors, axis=0)
    return mean / np.linalg.norm(mean)


def _search(scope: Scope, asked: _Asked, filters: Filters, now: datetime) -> Search:
    """Inside the snapshot of which the cipher is, so that the key versions are those of the rows in it."""
    row, cipher = asked.row, asked.cipher
    where, values, is_filtered = conditions(filters, scope, cipher, now=now)
    terms = postings.AskedTerms.under(cipher.live(), list(dict.fromkeys(asked.question.terms)))
    return Search(
        scope=scope,
        space=asked.space,
        cipher=cipher,
        question=asked.question,
        asked=terms,
        vector=asked.vector,
        embedder=get_embedder().id,
        frequencies=postings.frequencies(scope, asked.space, terms),
        documents=row.doc_count,
        average_length=row.term_total / max(1, row.doc_count),
        where=where,
        values=values,
        is_filtered=is_filtered,
        now=now,
        moment=moment_of(filters, now=now),
    )


def _shortlist(scope: Scope, asked: _Asked, options: _Options) -> tuple[dict[str, Ranking], list[str], list[Opened]]:
    """What each leg found, which were cut, and all of it opened and measured."""
    session_token = asked.cipher.session_token(options.session_id) if options.session_id else None
    if asked.opened is not None:
        sealed = SealedLegs(
            scope=scope, space=asked.space, cipher=asked.cipher, opened=asked.opened, question=asked.question,
            vector=asked.vector, now=options.now,
        ).named()  # fmt: skip
        rankings, cut = _run([(leg.name, sealed[leg.name]) for leg in LEGS if leg.name in sealed], options)
        ids = union([[memory_id for memory_id, _ in ranking] for ranking in rankings.values()], limit=options.breadth)
        opened = shortlist_sealed(asked.opened, asked.question, asked.vector, ids, session_token=session_token)
        return rankings, cut, opened
    search = _search(scope, asked, options.filters, options.now)
    rankings, cut = _run([(leg.name, partial(_rank_leg, leg, search)) for leg in LEGS], options)
    ids = union([[memory_id for memory_id, _ in ranking] for ranking in rankings.values()], limit=options.breadth)
    metadata = options.filters.metadata
    return rankings, cut, open_shortlist(search, asked.question, ids, session_token=session_token, metadata=metadata)


def _rank_leg(leg: Leg, search: Search, limit: int) -> Ranking:
    return leg.rank(search, limit=limit)


def _run(
    legs: Sequence[tuple[str, Callable[[int], Ranking]]], options: _Options
) -> tuple[dict[str, Ranking], list[str]]:
    """What the wanted legs find, and which were cut: once the time is up, all that come after one that found something.
    An answer that is late is better than none."""
    rankings: dict[str, Ranking] = {}
    cut: list[str] = []
    for name, find in legs:
        if name not in options.legs:
            continue
        if options.budget.is_spent and any(rankings.values()):
            cut.append(name)
        else:
            rankings[name] = find(options.breadth)
    return rankings, cut


def _found(scope: Scope, asked: _Asked, options: _Options) -> _Found:
    """The best of the space, opened whole.  Inside the snapshot.

    Where the text opens and another field does not, the rest is ranked once more without that row: it takes no other's
    place, and no score shows how much of it opened.  So it is with a summary that a source left.
    """
    rankings, cut, opened = _shortlist(scope, asked, options)
    follows = graph.NAME in options.legs and options.depth > 1
    if follows and options.budget.is_spent:
        follows, cut = False, [*cut, graph.NAME]
    options = options if follows else replace(options, depth=1)
    reread = _reread(scope, asked, options, rankings, opened)
    failed: set[int] = set()
    while True:
        features = [one.features for one in opened]
        ranked = rank(options.profile, features, rankings, options.weights, options.now, reread.relevance)
        related = _relate(scope, asked, options, ranked, opened, without=failed)
        related, sources = _behind_sources(scope, asked, related, opened)
        alike = _alike(related, opened)
        kept = first_of_each(related.ranked, alike)[: options.limit]
        memories = _open_whole(scope, asked.space, asked.cipher, [one.id for one in kept], options)
        gone = {one.id for one in kept} - memories.keys()
        if not gone:
            break
        failed |= gone
        opened = [one for one in opened if one.features.id not in gone]
    legs = _places(rankings)
    used = weights_used(options.profile, features, options.weights, reranked=bool(reread.relevance))
    hits = [
        Hit(
            memory=memories[one.id],
            score=one.score,
            explanation=_explain(one, legs.get(one.id, {}), used, related, graph_weight=_graph_weight(options)),
        )
        for one in kept
        if one.id in memories
    ]
    ran = [name for name in rankings if name != "dense" or asked.vector is not None]
    trace = Trace(
        now=options.now, profile=options.profile, limit=options.limit, weights=options.weights, rankings=rankings,
        cut=cut, features=features, contradicted=list(related.contradicted), sources=sources, alike=alike,
        carried={one: min(1.0, _graph_weight(options) * path.score) for one, path in related.reached.items()},
        relevance=reread.relevance, ids=[one.id for one in kept], scores=[one.score for one in kept],
    )  # fmt: skip
    legs_run = [*ran, graph.NAME] if follows else ran
    if reread.outcome is not None:
        (legs_run if reread.relevance else cut).append(reranking.NAME)
    return _Found(
        hits=hits, is_dense=asked.vector is not None, legs=legs_run, cut=cut, traced=(asked.space, trace),
        reread=reread.outcome,
    )  # fmt: skip


def _reread(
    scope: Scope, asked: _Asked, options: _Options, rankings: Mapping[str, Ranking], opened: Sequence[Opened]
) -> Reread:
    """What a cross-encoder says of the best.  It may take RERANKER_SECONDS of the snapshot, which holds no lock."""
    if options.profile not in settings.RERANKER_PROFILES or settings.RERANKER is None or options.budget.is_spent:
        return NOT_READ
    texts = {one.features.id: one.text for one in opened}
    ranked = rank(options.profile, [one.features for one in opened], rankings, options.weights, options.now)
    return reranking.reread(
        scope, asked.question.text, [(one.id, texts[one.id]) for one in ranked], seconds=options.budget.seconds_left
    )


def _behind_sources(
    scope: Scope, asked: _Asked, related: Related, opened: Sequence[Opened]
) -> tuple[Related, Mapping[int, Sequence[int]]]:
    """Summaries take no place of their sources; a question for an overview may be answered by a summary alone.

    And the sources of those that were held to that, by the summary's id.
    """
    if asked.question.intent == "analytical":
        return related, {}
    summaries = [one.features.id for one in opened if one.is_summary]
    sources = lineage.sources_among(scope, [*summaries, *related.texts])  # what a path led to is not checked yet
    return (replace(related, ranked=behind_their_sources(related.ranked, sources)) if sources else related), sources


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


def _open_whole(
    scope: Scope, space: SpaceRef, cipher: SpaceCipher, ids: Sequence[int], options: _Options
) -> dict[int, OpenedMemory]:
    """The memories by id, without those of which some field fails its seal."""
    memories: dict[int, OpenedMemory] = {}
    moment, lifetimes = moment_of(options.filters, now=options.now), lifetimes_of(scope, [space.id])
    for row in recallable_rows(scope.in_spaces(space), ids, moment, now=options.now):
        try:
            memories[row.pk] = open_memory(row, cipher, space, lifetimes, moment=moment)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=space.id, now=options.now)
    return memories


def _alike(related: Related, opened: Sequence[Opened]) -> dict[int, int]:
    """The memories that say the same words as another, each with the number of its kind."""
    texts = {one.features.id: one.text for one in opened} | dict(related.texts)
    kinds: dict[str, list[int]] = {}
    for one in related.ranked:
        kinds.setdefault(normalised(texts[one.id].reveal()), []).append(one.id)
    alike = [ids for ids in kinds.values() if len(ids) > 1]
    return {memory_id: kind for kind, ids in enumerate(alike) for memory_id in ids}


def _places(rankings: Mapping[str, Ranking]) -> dict[int, dict[str, dict[str, float]]]:
    places: dict[int, dict[str, dict[str, float]]] = {}
    for name, ranking in rankings.items():
        for place, (memory_id, score) in enumerate(ranking, start=1):
            places.setdefault(memory_id, {})[name] = {"rank": place, "score": round(score, 6)}
    return places


def _matched_by(legs: Collection[str]) -> str:
    """By meaning and by words, or by one of them, or else by what did find it."""
    if not legs:
        return "context"  # the turn after one that a leg found
    called = [name for leg, name in (("dense", "vector"), ("lexical", "words")) if leg in legs]
    return "both" if len(called) == 2 else called[0] if called else next(iter(legs))


def _in_order_of_legs(names: Iterable[str]) -> list[str]:
    """Each once."""
    met = set(names)
    return [name for name in (*(leg.name for leg in LEGS), graph.NAME, reranking.NAME) if name in met]
