"""A cross-encoder reads the best of what was found, where the operator has named one and the tenant lets it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from apps.adapters.instances import get_reranker
from apps.adapters.rerankers.base import RerankFailed
from apps.core.plaintext import Plaintext
from apps.projects.scope import Scope
from apps.tenants.selectors import may_leave

NAME: Final = "rerank"  # among the ways of finding, in an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """relevance: 0..1, by the memory's id; none where no model read or it failed.

    outcome: None where no model was asked; ``ok``, or why there is nothing, as RerankFailed says.
    """

    relevance: Mapping[int, float] = field(default_factory=dict)
    outcome: str | None = None


NOT_READ: Final = Reread()


def reread(scope: Scope, query: Plaintext, found: Sequence[tuple[int, Plaintext]], *, seconds: float) -> Reread:
    """found: (id, text), best first; the first RERANKER_TEXTS of them are read.  seconds: what is left to answer in.

    No model is asked where there is none, or it may not read, or nothing was found.
    """
    reranker = get_reranker() if found else None
    if reranker is None or not may_leave(scope.tenant_id, "ai_rerank", self_hosted=reranker.is_self_hosted):
        return NOT_READ
    best = found[: settings.RERANKER_TEXTS]
    try:
        scores = reranker.score(
            query.reveal(), [text.reveal() for _, text in best], seconds=min(seconds, settings.RERANKER_SECONDS)
        )
    except RerankFailed as failure:
        return Reread(outcome=failure.cause)
    return Reread(relevance={one: score for (one, _), score in zip(best, scores, strict=True)}, outcome="ok")
