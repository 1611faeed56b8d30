"""Dense retriever: the nearest vectors of the space."""

from typing import Final

from apps.memories.nearest import nearest
from apps.recall.search import Ranking, Search

SURE: Final = 10  # the best this many are exact: no nearer vector was missed


class DenseRetriever:
    name = "dense"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Cosine, best first.  Empty while the embedder is down."""
        if search.vector is None:
            return []
        return nearest(
            search.scope,
            search.space,
            search.vector,
            search.cipher,
            limit=limit,
            now=search.now,
            embedder=search.embedder,
            where=search.where if search.is_filtered else "",
            values=search.values if search.is_filtered else (),
            replaced=search.moment is not None,
            among=search.documents,
            sure=SURE,
            opened=search.opened,
        )
