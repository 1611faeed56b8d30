"""By meaning: the nearest vectors of the space, under its own rotation."""

from apps.memories.nearest import nearest
from apps.recall.search import Ranking, Search


class Dense:
    name = "dense"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Cosine, best first.  Finds nothing while the embedder is down; the words still do."""
        if not search.rotated:
            return []
        return nearest(
            search.scope,
            search.space,
            search.rotated,
            limit=limit,
            now=search.now,
            rows=search.documents,
            embedder=search.embedder,
            where=search.where if search.is_filtered else "",
            values=search.values if search.is_filtered else (),
        )
