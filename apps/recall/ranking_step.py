"""Scoring step: rank the shortlist by features, cross-encoder and relations, and select the memories of the answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from apps.memories import lineage
from apps.memories.analyses import open_texts
from apps.recall import reranking
from apps.recall.options import Options
from apps.recall.profiles import rank
from apps.recall.query_context import QueryContext
from apps.recall.ranking import Ranked, behind_their_sources, may_fall
from apps.recall.related import Related, Relations
from apps.recall.relevance import drop_irrelevant
from apps.recall.replay import first_of_each
from apps.recall.reranking import NOT_READ, Reread
from apps.recall.retrieval import Retrieved
from apps.recall.search import moment_of
from apps.recall.shortlist import OpenedCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """kept: the memories of the answer, best first.  related: the whole ranking after relations were applied.

    sources: summary id to source ids, for summaries ranked behind their sources.  alike: memory id to duplicate group,
    for memories with the same words.
    """

    kept: Sequence[Ranked]
    related: Related
    sources: Mapping[int, Sequence[int]]
    alike: Mapping[int, int]


def reread_best(context: QueryContext, options: Options, retrieved: Retrieved) -> Reread:
    """Score the best with a cross-encoder.

    It may hold the snapshot, which has no locks, for RERANKER_SECONDS, and while a local model loads.
    """
    reranker = reranking.usable_reranker(context.space.scope) if options.reranks else None
    if reranker is None:
        return NOT_READ
    if options.budget.is_spent:
        return Reread(outcome="timeout")
    ranked = rank(options.profile, retrieved.features, retrieved.rankings, options.weights, options.now)
    best = [one.id for one in ranked[: settings.RERANKER_TEXTS]]
    space, moment = context.space, moment_of(options.filters, now=options.now)
    texts = open_texts(space.scope, space.ref, best, space.cipher, moment, now=options.now)
    found = [(one, texts[one]) for one in best if one in texts]
    return reranking.reread(reranker, context.question.text, found, seconds=options.budget.seconds_left)


def score(
    context: QueryContext, options: Options, retrieved: Retrieved, reread: Reread, *, without: Collection[int]
) -> Scored:
    """Rank the shortlist and what relations lead to.  without: undecryptable memories.  Call inside the snapshot."""
    ranked = rank(
        options.profile, retrieved.features, retrieved.rankings, options.weights, options.now, reread.relevance
    )
    related = _relate(context, options, ranked, retrieved, without=without)
    related, sources = _put_behind_sources(context, related, retrieved.opened)
    alike = {} if options.with_alike else _alike(related, retrieved.opened)
    kept = drop_irrelevant(
        first_of_each(related.ranked, alike), retrieved.features, context.floors(options), reread.calibrated
    )
    return Scored(kept=kept[: options.limit], related=related, sources=sources, alike=alike)


def _relate(
    context: QueryContext,
    options: Options,
    ranked: Sequence[Ranked],
    retrieved: Retrieved,
    *,
    without: Collection[int],
) -> Related:
    relations = Relations(
        scope=context.space.scope,
        space=context.space.ref,
        cipher=context.space.cipher,
        filters=options.filters,
        now=options.now,
        fingerprints={one.features.id: one.fingerprint for one in retrieved.opened},
        wanted=None if context.opened is None else context.opened.wanted,
        without=without,
        bridges=retrieved.bridges,
    )
    depth = options.depth if retrieved.follows_relations else 1
    return relations.relate(ranked, depth=depth, weight=options.graph_weight, may_fall=may_fall(retrieved.features))


def _put_behind_sources(
    context: QueryContext, related: Related, opened: Sequence[OpenedCandidate]
) -> tuple[Related, Mapping[int, Sequence[int]]]:
    """Move summaries behind their sources, unless the question asks for an overview.

    Also returns summary id to source ids.
    """
    if context.question.intent == "analytical":
        return related, {}
    summaries = [one.features.id for one in opened if one.is_summary]
    # Memories reached along relations may be summaries too.
    sources = lineage.sources_among(context.space.scope, [*summaries, *related.fingerprints])
    return (replace(related, ranked=behind_their_sources(related.ranked, sources)) if sources else related), sources


def _alike(related: Related, opened: Sequence[OpenedCandidate]) -> dict[int, int]:
    """Memory id to duplicate group, for memories with the same words as another."""
    prints = {one.features.id: one.fingerprint for one in opened} | dict(related.fingerprints)
    kinds: dict[bytes, list[int]] = {}
    for one in related.ranked:
        kinds.setdefault(prints[one.id], []).append(one.id)
    alike = [ids for ids in kinds.values() if len(ids) > 1]
    return {memory_id: kind for kind, ids in enumerate(alike) for memory_id in ids}
