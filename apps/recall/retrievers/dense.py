"""By meaning: the nearest vectors of the space."""

from typing import Final

from apps.memories.nearest import nearest
from apps.recall.search import Ranking, Search

SURE: Final = 10  # of the best, as many as an answer has: nothing nearer was passed over


class DenseRetriever:
    name = "dense"

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """Cosine, best first.  Finds nothing while the embedder is down; the words still do."""
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
