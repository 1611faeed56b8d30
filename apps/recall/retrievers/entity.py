"""Entity retriever: memories that mention the entities named in the question, under any of their names."""

from apps.entities.mentions import memories_mentioning
from apps.entities.selectors import entities_named_in
from apps.recall.search import Ranking, Search


class EntityRetriever:
    name = "entity"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Memories that mention the most and the rarest of these entities first.  Names are compared as keyed tokens.

        A sealed space stores no entities, so it finds none there.
        """
        here = search.scope.in_spaces(search.space)
        return memories_mentioning(
            search.scope,
            search.space,
            entities_named_in(here, search.question.text.reveal(), now=search.now),
            where=search.where,
            values=search.values,
            limit=limit,
            now=search.now,
        )
