"""Lexical retriever: BM25 over keyed tokens of word stems, with OR semantics."""

from apps.memories import postings
from apps.recall.search import Ranking, Search


class LexicalRetriever:
    name = "lexical"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """BM25, best first.  Counts are capped and lengths rounded in the index; the opened shortlist is exact."""
        if not search.asked.terms:
            return []
        return postings.best(
            search.scope,
            search.space,
            search.asked,
            frequencies=search.frequencies,
            documents=search.documents,
            average_length=search.average_length,
            where=search.where,
            values=search.values,
            limit=limit,
            now=search.now,
        )
