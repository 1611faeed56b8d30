"""By whom and what the question names: memories that mention these entities, by whatever name each goes in them."""

from apps.entities.mentions import memories_mentioning
from apps.entities.selectors import entities_named_in
from apps.recall.search import Ranking, Search


class EntityRetriever:
    name = "entity"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Those that mention most of them, and the rarer ones, best first.  Names are compared by their keyed forms.

        A sealed space keeps no entities, so there it finds nothing.
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
