"""Retrieval: the retrievers search one space for one question, and what they find is opened and measured."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Self

from apps.memories import postings
from apps.recall import reranking
from apps.recall.decrypted_scan import OpenedSpace, ScanRetrievers, shortlist_sealed
from apps.recall.fusion import union
from apps.recall.options import Options
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

# In the order in which they run, and the last are the first to be cut; which of them do, says RECALL_LEGS.  Along
# relations, ``graph``, recall goes from what they found.
RETRIEVERS: tuple[Retriever, ...] = (
    DenseRetriever(),
    LexicalRetriever(),
    SlotRetriever(),
    TemporalRetriever(),
    EntityRetriever(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """rankings: what each retriever found, by its name.  cut: names of those that did not run for want of time.

    opened: the shortlist of what they found, measured.  follows_relations: whether ``graph`` goes on from there.
    """

    rankings: Mapping[str, Ranking]
    cut: Sequence[str]
    opened: Sequence[OpenedCandidate]
    follows_relations: bool

    @property
    def features(self) -> list[Features]:
        return [one.features for one in self.opened]

    def without(self, memory_ids: Collection[int]) -> Self:
        """The same, without these on the shortlist; no other's place in a ranking changes."""
        return replace(self, opened=[one for one in self.opened if one.features.id not in memory_ids])


def retrieve(context: QueryContext, options: Options) -> Retrieved:
    """What the wanted retrievers find in the space, opened.  Inside the snapshot."""
    opened_space = context.opened
    rankings, cut, opened = _search(context, options) if opened_space is None else _scan(context, opened_space, options)
    is_graph_wanted = graph.NAME in options.retrievers and options.depth > 1
    if is_graph_wanted and options.budget.is_spent:
        is_graph_wanted, cut = False, [*cut, graph.NAME]
    return Retrieved(rankings=rankings, cut=cut, opened=opened, follows_relations=is_graph_wanted)


def build_search(context: QueryContext, filters: Filters, *, now: datetime) -> Search:
    """Inside the snapshot of which the cipher is, so that the key versions are those of the rows in it."""
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


def in_order_of_retrievers(names: Iterable[str]) -> list[str]:
    """Each once, in the order in which they take their turns."""
    met = set(names)
    return [name for name in (*(one.name for one in RETRIEVERS), graph.NAME, reranking.NAME) if name in met]


def _search(context: QueryContext, options: Options) -> tuple[dict[str, Ranking], list[str], list[OpenedCandidate]]:
    """Of a space that is searched at rest: what each found, which were cut, and the shortlist."""
    search = build_search(context, options.filters, now=options.now)
    rankings, cut = _run([(one.name, partial(_rank, one, search)) for one in RETRIEVERS], options)
    opened = open_shortlist(
        search,
        context.question,
        _shortlist(rankings, options),
        session_token=_session_token(context, options),
        metadata=options.filters.metadata,
    )
    return rankings, cut, opened


def _scan(
    context: QueryContext, opened_space: OpenedSpace, options: Options
) -> tuple[dict[str, Ranking], list[str], list[OpenedCandidate]]:
    """The same of a sealed space, which was opened whole."""
    scan = ScanRetrievers(
        scope=context.space.scope, space=context.space.ref, cipher=context.space.cipher, opened=opened_space,
        question=context.question, vector=context.vector, now=options.now,
    ).named()  # fmt: skip
    rankings, cut = _run([(one.name, scan[one.name]) for one in RETRIEVERS if one.name in scan], options)
    opened = shortlist_sealed(
        opened_space,
        context.question,
        context.vector,
        _shortlist(rankings, options),
        session_token=_session_token(context, options),
    )
    return rankings, cut, opened


def _run(
    finders: Sequence[tuple[str, Callable[[int], Ranking]]], options: Options
) -> tuple[dict[str, Ranking], list[str]]:
    """What the wanted ones find, and which were cut: once the time is up, all that come after one that found something.
    An answer that is late is better than none."""
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
