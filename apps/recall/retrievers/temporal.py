"""Temporal retriever: memories of the times that the question names, absolute or relative."""

from apps.memories.times import of_a_time, years_told_of
from apps.recall.question import windows
from apps.recall.search import Ranking, Search


class TemporalRetriever:
    name = "temporal"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Best match of the time first, then the newest.  A date without a year matches the latest MOST_YEARS years."""
        if not search.question.has_time:
            return []
        return of_a_time(
            search.scope,
            search.space,
            windows(search.question, years=years_told_of(search.scope, search.space)),
            where=search.where,
            values=search.values,
            limit=limit,
            now=search.now,
        )
