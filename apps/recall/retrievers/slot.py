"""Slot retriever: memories that state the property that the question asks for, such as where a person lives."""

from apps.memories.claims import claiming
from apps.recall.search import Ranking, Search
from text.question_slots import asked_claims


class SlotRetriever:
    name = "slot"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """The likeliest property first.  Subject and property are compared as keyed tokens."""
        return claiming(
            search.scope,
            search.space,
            asked_claims(search.question.text.reveal()),
            search.cipher,
            where=search.where,
            values=search.values,
            limit=limit,
            now=search.now,
        )
