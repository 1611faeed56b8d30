"""Retrieval: run the retrievers in one space for one question, then open the shortlist and compute its features."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Self

from apps.memories import postings
from apps.recall import bridges, reranking
from apps.recall.bridges import Bridge
from apps.recall.decrypted_scan import OpenedSpace, ScanRetrievers, shortlist_sealed
from apps.recall.fusion import union
from apps.recall.options import Options
from apps.recall.profiles import rank
from apps.recall.query_context import QueryContext
from apps.recall.ranking import Features
from apps.recall.results import Filters
from apps.recall.retrievers import graph
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.retrievers.entity import EntityRetriever
from apps.recall.retrievers.lexical import LexicalRetriever
from apps.recall.retrievers.slot import SlotRetriever
from apps.recall.retrievers.temporal import TemporalRetriever
from apps.recall.search import Ranking, Retriever, Search, conditions, moment_of
from apps.recall.shortlist import OpenedCandidate, open_shortlist

# In running order; the last are the first to be cut.  RECALL_LEGS selects which run.  ``graph`` is not listed: it
# follows relations from what these found.
RETRIEVERS: tuple[Retriever, ...] = (
    DenseRetriever(),
    LexicalRetriever(),
    SlotRetriever(),
    TemporalRetriever(),
    EntityRetriever(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """rankings: retriever name to its results.  cut: names of those that did not run for lack of time.

    opened: the shortlist with features.  follows_relations: whether ``graph`` runs next.  bridges: what it then
    follows besides relations.
    """

    rankings: Mapping[str, Ranking]
    cut: Sequence[str]
    opened: Sequence[OpenedCandidate]
    follows_relations: bool
    bridges: Sequence[Bridge] = ()

    @property
    def features(self) -> list[Features]:
        return [one.features for one in self.opened]

    def without(self, memory_ids: Collection[int]) -> Self:
        """A copy without these memories on the shortlist; rankings stay unchanged."""
        return replace(self, opened=[one for one in self.opened if one.features.id not in memory_ids])


def retrieve(context: QueryContext, options: Options) -> Retrieved:
    """Run the selected retrievers and open their shortlist.  Call inside the snapshot."""
    return _search(context, options) if context.opened is None else _scan(context, context.opened, options)


def build_search(context: QueryContext, filters: Filters, *, now: datetime) -> Search:
    """Build the search.  Call inside the cipher's snapshot, so that its key versions match the rows."""
    space, row = context.space, context.space.row
    where, values, is_filtered = conditions(filters, space.scope, space.cipher, now=now)
    terms = postings.AskedTerms.under(space.cipher.live(), list(dict.fromkeys(context.question.terms)))
    return Search(
        scope=space.scope,
        space=space.ref,
        cipher=space.cipher,
        question=context.question,
        asked=terms,
        vector=context.vector,
        embedder=space.embedder.id,
        frequencies=postings.frequencies(space.scope, space.ref, terms),
        documents=row.doc_count,
        average_length=row.term_total / max(1, row.doc_count),
        where=where,
        values=values,
        is_filtered=is_filtered,
        now=now,
        moment=moment_of(filters, now=now),
    )


def build_scan(context: QueryContext, opened: OpenedSpace, *, now: datetime) -> ScanRetrievers:
    """The retrievers of a sealed space.  opened: the space, decrypted whole."""
    space = context.space
    return ScanRetrievers(
        scope=space.scope, space=space.ref, cipher=space.cipher, opened=opened,
        question=context.question, vector=context.vector, now=now,
    )  # fmt: skip


def in_order_of_retrievers(names: Iterable[str]) -> list[str]:
    """The distinct names, in running order."""
    met = set(names)
    return [name for name in (*(one.name for one in RETRIEVERS), graph.NAME, reranking.NAME) if name in met]


def _search(context: QueryContext, options: Options) -> Retrieved:
    """Of an indexed space."""
    search = build_search(context, options.filters, now=options.now)
    rankings, cut = _run([(one.name, partial(_rank, one, search)) for one in RETRIEVERS], options)
    open_more = partial(
        open_shortlist,
        search,
        context.question,
        session_token=_session_token(context, options),
        metadata=options.filters.metadata,
    )
    opened = open_more(_shortlist(rankings, options))
    follows, cut = _follows_relations(options, cut)
    if not follows:
        return Retrieved(rankings=rankings, cut=cut, opened=opened, follows_relations=False)
    best = rank(options.profile, [one.features for one in opened], rankings, options.weights, options.now)
    found = bridges.find_bridges(search, bridges.seeds_of(best, [one.features for one in opened]))
    known = {one.features.id for one in opened}
    if beyond := sorted({one.memory_id for one in found} - known):
        opened += [one for one in open_more(beyond) if one.features.id not in known and bridges.is_short(one.features)]
    short = {one.features.id for one in opened if bridges.is_short(one.features)}
    found = [one for one in found if one.memory_id in short]
    return Retrieved(rankings=rankings, cut=cut, opened=opened, follows_relations=True, bridges=found)


def _scan(context: QueryContext, opened_space: OpenedSpace, options: Options) -> Retrieved:
    """The same of a sealed space, which was decrypted whole.  It stores no entities, so there are no bridges."""
    scan = build_scan(context, opened_space, now=options.now).named()
    rankings, cut = _run([(one.name, scan[one.name]) for one in RETRIEVERS if one.name in scan], options)
    opened = shortlist_sealed(
        opened_space,
        context.question,
        context.vector,
        _shortlist(rankings, options),
        session_token=_session_token(context, options),
    )
    follows, cut = _follows_relations(options, cut)
    return Retrieved(rankings=rankings, cut=cut, opened=opened, follows_relations=follows)


def _follows_relations(options: Options, cut: list[str]) -> tuple[bool, list[str]]:
    """Whether ``graph`` runs next, and the names of those cut, with it if there is no time left for it."""
    is_wanted = graph.NAME in options.retrievers and options.depth > 1
    if is_wanted and options.budget.is_spent:
        return False, [*cut, graph.NAME]
    return is_wanted, cut


def _run(
    finders: Sequence[tuple[str, Callable[[int], Ranking]]], options: Options
) -> tuple[dict[str, Ranking], list[str]]:
    """Run the selected retrievers; return their rankings and the names of those cut.

    Once the time is up and any retriever has found something, the rest are cut: a late answer is better than none.
    """
    rankings: dict[str, Ranking] = {}
    cut: list[str] = []
    for name, find in finders:
        if name not in options.retrievers:
            continue
        if options.budget.is_spent and any(rankings.values()):
            cut.append(name)
        else:
            rankings[name] = find(options.candidates_per_retriever)
    return rankings, cut


def _rank(retriever: Retriever, search: Search, limit: int) -> Ranking:
    return retriever.rank(search, limit=limit)


def _shortlist(rankings: Mapping[str, Ranking], options: Options) -> list[int]:
    found = [[memory_id for memory_id, _ in ranking] for ranking in rankings.values()]
    return union(found, limit=options.candidates_per_retriever)


def _session_token(context: QueryContext, options: Options) -> int | None:
    return context.space.cipher.session_token(options.session_id) if options.session_id else None
