"""Recall pipeline of one space: open it, check the cache, parse the question, retrieve, score, open hits, explain."""

from collections.abc import Sequence
from dataclasses import replace

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceShredded
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.recall import reranking
from apps.recall.cached_answers import cache_answer, cache_key, get_cached_answer
from apps.recall.explanations import explain_hits
from apps.recall.hits import open_hits
from apps.recall.options import Options
from apps.recall.profiles import weights_used
from apps.recall.query_context import QueryContext, enter_space, find_speakers, parse_question
from apps.recall.ranking_step import Scored, reread_best, score
from apps.recall.relevance import relevance_of
from apps.recall.replay import Trace
from apps.recall.reranking import Reread
from apps.recall.results import SpaceAnswer
from apps.recall.retrieval import Retrieved, retrieve
from apps.recall.retrievers import graph


class _SpaceChanged(Exception):
    """The space was sealed, unsealed or re-keyed since the question was parsed: parse it again."""


def recall_in_space(scope: Scope, space: SpaceRef, query: Plaintext, options: Options) -> SpaceAnswer:
    """Answer from one snapshot of this space; an empty answer if the space is erased."""
    while True:
        try:
            # One snapshot for all statements.  Otherwise a memory replaced between two of them would be missed
            # together with its successor, and so would one re-keyed after the key versions were read.
            with tenant_transaction(scope, snapshot=True):
                entered = enter_space(scope, space)
                key = cache_key(entered, query, options)
                if (cached := get_cached_answer(entered, key, options)) is not None:
                    return cached
                speakers = find_speakers(entered, query, options.filters, now=options.now)
                answer = None
                if entered.embedder.is_local:
                    answer = answer_question(parse_question(entered, speakers, query, now=options.now), options)
            if answer is None:  # no transaction stays open during a network call
                answer = _answer_later(parse_question(entered, speakers, query, now=options.now), options)
            cache_answer(key, answer, now=options.now)
            return answer
        except _SpaceChanged:
            continue
        except (Space.DoesNotExist, SpaceShredded):  # erased concurrently
            return SpaceAnswer()


def answer_question(context: QueryContext, options: Options) -> SpaceAnswer:
    """The best memories of the space, with all fields opened.  Call inside the snapshot.

    If a hit's text decrypts but another of its fields does not, the rest is ranked again without that row, so that it
    takes no place and influences no score.  The same holds for a summary that lost a source.
    """
    retrieved = retrieve(context, options)
    reread = reread_best(context, options, retrieved)
    failed: set[int] = set()
    while True:
        scored = score(context, options, retrieved, reread, without=failed)
        memories = open_hits(context.space, [one.id for one in scored.kept], options)
        gone = {one.id for one in scored.kept} - memories.keys()
        if not gone:
            break
        failed |= gone
        retrieved = retrieved.without(gone)
    is_read = any(one.id in reread.relevance for one in retrieved.features)
    weights = weights_used(options.profile, retrieved.features, options.weights, reranked=is_read)
    relevance = relevance_of(retrieved.features, reread.calibrated) if context.is_calibrated else {}
    hits = explain_hits(
        scored, memories, retrieved.rankings, weights=weights, graph_weight=options.graph_weight, relevance=relevance
    )
    ran, cut = _ran_and_cut(context, retrieved, reread)
    return SpaceAnswer(
        hits=hits,
        is_dense=context.vector is not None,
        legs=ran,
        cut=cut,
        traced=(context.space.ref, _trace(context, options, retrieved, reread, scored, cut=cut)),
        reread=reread.outcome if reread.is_sent else None,
    )


def _answer_later(context: QueryContext, options: Options) -> SpaceAnswer:
    """Answer in a new snapshot, later than the one in which the speakers were found.

    Raises _SpaceChanged, Space.DoesNotExist, SpaceShredded.
    """
    before = context.space
    with tenant_transaction(before.scope, snapshot=True):
        entered = enter_space(before.scope, before.ref)
        if entered.ref != before.ref:
            raise _SpaceChanged
        return answer_question(replace(context, space=entered), options)


def _ran_and_cut(context: QueryContext, retrieved: Retrieved, reread: Reread) -> tuple[list[str], list[str]]:
    """Names of the retrievers that ran, and of those that were requested but did not run."""
    ran = [name for name in retrieved.rankings if name != "dense" or context.vector is not None]
    cut = list(retrieved.cut)
    if retrieved.follows_relations:
        ran.append(graph.NAME)
    if reread.outcome is not None:
        (ran if reread.relevance else cut).append(reranking.NAME)
    return ran, cut


def _trace(
    context: QueryContext, options: Options, retrieved: Retrieved, reread: Reread, scored: Scored, *, cut: Sequence[str]
) -> Trace:
    """The inputs that a replay needs to compute the same answer."""
    related = scored.related
    return Trace(
        now=options.now,
        profile=options.profile,
        limit=options.limit,
        weights=options.weights,
        rankings=retrieved.rankings,
        cut=cut,
        features=retrieved.features,
        behind=related.behind,
        sources=scored.sources,
        alike=scored.alike,
        carried={one: min(1.0, options.graph_weight * path.score) for one, path in related.reached.items()},
        relevance=reread.relevance,
        is_calibrated=reread.is_calibrated,
        ids=[one.id for one in scored.kept],
        scores=[one.score for one in scored.kept],
        min_relevance=context.floors(options).least,
        min_best_relevance=context.floors(options).best,
    )
