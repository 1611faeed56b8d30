"""Rankings of the single retrievers, for checks of an erasure and for benchmarks."""

from datetime import datetime

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.recall.options import ENOUGH
from apps.recall.query_context import enter_space, find_speakers, parse_question
from apps.recall.results import Filters
from apps.recall.retrieval import RETRIEVERS, build_search
from apps.recall.search import Ranking
from apps.recall.shortlist import open_shortlist


def rank_legs(scope: Scope, query: Plaintext, *, limit: int, now: datetime) -> dict[str, Ranking]:
    """The ranking of each retriever, by its name: the scope's space, without filters.  Lexical scores are exact."""
    with tenant_transaction(scope, snapshot=True):
        space = enter_space(scope, scope.space)
        speakers = find_speakers(space, query, Filters(), now=now)
        context = parse_question(space, speakers, query, now=now)
        search = build_search(context, Filters(), now=now)
        rankings = {one.name: one.rank(search, limit=max(limit, 2 * ENOUGH)) for one in RETRIEVERS}
        ids = [memory_id for memory_id, _ in rankings["lexical"]]
        opened = open_shortlist(search, context.question, ids, session_token=None, metadata={})
    exact = {one.features.id: one.features.words for one in opened}
    rankings["lexical"] = sorted(
        ((memory_id, exact[memory_id]) for memory_id, _ in rankings["lexical"] if memory_id in exact),
        key=lambda item: (-item[1], item[0]),
    )
    return {name: ranking[:limit] for name, ranking in rankings.items()}
