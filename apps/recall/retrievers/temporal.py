"""By when: memories of the times that the question names, as a date or by how long ago it was."""

from apps.memories.times import of_a_time, years_told_of
from apps.recall.question import windows
from apps.recall.search import Ranking, Search


class TemporalRetriever:
    name = "temporal"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """What fits the time best first, then the newest.  A date without a year is looked for in every year."""
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
