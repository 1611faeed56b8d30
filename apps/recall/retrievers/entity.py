"""Entity retriever: memories that mention the entities named in the question, under any of their names."""

from apps.entities.mentions import entities_named_in, memories_mentioning
from apps.recall.search import Ranking, Search


class EntityRetriever:
    name = "entity"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Memories that mention the most and the rarest of these entities first.  Names are compared as keyed tokens.

        A sealed space stores no entities, so it finds none there.
        """
        asked = search.question.text.reveal()
        return memories_mentioning(
            search.scope,
            search.space,
            entities_named_in(search.scope, search.space, search.cipher, asked, now=search.now),
            where=search.where,
            values=search.values,
            limit=limit,
            now=search.now,
        )
