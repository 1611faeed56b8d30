"""Pipeline of a recall in one space: open it, parse the question, look in the cache, retrieve, score, open, explain."""

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
from apps.recall.query_context import QueryContext, enter_space, find_speakers, parse_question
from apps.recall.ranking import weights_used
from apps.recall.ranking_step import Scored, reread_best, score
from apps.recall.replay import Trace
from apps.recall.reranking import Reread
from apps.recall.results import SpaceAnswer
from apps.recall.retrieval import Retrieved, retrieve
from apps.recall.retrievers import graph


class _SpaceChanged(Exception):
    """The space was sealed, unsealed or re-keyed since the question was read: read it again."""


def recall_in_space(scope: Scope, space: SpaceRef, query: Plaintext, options: Options) -> SpaceAnswer:
    """Answer from this space alone, as it is at one moment; nothing once it is erased."""
    while True:
        try:
            # One moment for all of it: a memory replaced between two statements would be missing with its successor,
            # and so would one that is re-keyed between the look at the key versions and the search.
            with tenant_transaction(scope, snapshot=True):
                entered = enter_space(scope, space)
                key = cache_key(entered, query, options)
                if (cached := get_cached_answer(entered, key, options)) is not None:
                    return cached
                speakers = find_speakers(entered, query, options.filters, now=options.now)
                answer = None
                if entered.embedder.is_local:
                    answer = answer_question(parse_question(entered, speakers, query, now=options.now), options)
            if answer is None:  # no transaction waits for a network
                answer = _answer_later(parse_question(entered, speakers, query, now=options.now), options)
            cache_answer(key, answer, now=options.now)
            return answer
        except _SpaceChanged:
            continue
        except (Space.DoesNotExist, SpaceShredded):  # erased meanwhile
            return SpaceAnswer()


def answer_question(context: QueryContext, options: Options) -> SpaceAnswer:
    """The best of the space, opened whole.  Inside the snapshot.

    Where the text opens and another field does not, the rest is ranked once more without that row: it takes no other's
    place, and no score shows how much of it opened.  So it is with a summary that a source left.
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
    weights = weights_used(options.profile, retrieved.features, options.weights, reranked=bool(reread.relevance))
    hits = explain_hits(scored, memories, retrieved.rankings, weights=weights, graph_weight=options.graph_weight)
    ran, cut = _ran_and_cut(context, retrieved, reread)
    return SpaceAnswer(
        hits=hits,
        is_dense=context.vector is not None,
        legs=ran,
        cut=cut,
        traced=(context.space.ref, _trace(options, retrieved, reread, scored, cut=cut)),
        reread=reread.outcome,
    )


def _answer_later(context: QueryContext, options: Options) -> SpaceAnswer:
    """In another moment than that in which the question was read.

    Raises _SpaceChanged, Space.DoesNotExist, SpaceShredded.
    """
    before = context.space
    with tenant_transaction(before.scope, snapshot=True):
        entered = enter_space(before.scope, before.ref)
        if entered.ref != before.ref:
            raise _SpaceChanged
        return answer_question(replace(context, space=entered), options)


def _ran_and_cut(context: QueryContext, retrieved: Retrieved, reread: Reread) -> tuple[list[str], list[str]]:
    """Names of the ways of finding that were taken, and of those that were not, though they were asked for."""
    ran = [name for name in retrieved.rankings if name != "dense" or context.vector is not None]
    cut = list(retrieved.cut)
    if retrieved.follows_relations:
        ran.append(graph.NAME)
    if reread.outcome is not None:
        (ran if reread.relevance else cut).append(reranking.NAME)
    return ran, cut


def _trace(options: Options, retrieved: Retrieved, reread: Reread, scored: Scored, *, cut: Sequence[str]) -> Trace:
    """What a replay needs to come to the same answer."""
    related = scored.related
    return Trace(
        now=options.now,
        profile=options.profile,
        limit=options.limit,
        weights=options.weights,
        rankings=retrieved.rankings,
        cut=cut,
        features=retrieved.features,
        contradicted=list(related.contradicted),
        sources=scored.sources,
        alike=scored.alike,
        carried={one: min(1.0, options.graph_weight * path.score) for one, path in related.reached.items()},
        relevance=reread.relevance,
        ids=[one.id for one in scored.kept],
        scores=[one.score for one in scored.kept],
    )
