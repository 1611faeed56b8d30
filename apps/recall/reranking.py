"""Rerank the best candidates with a cross-encoder, if the operator configured one and the tenant allows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from apps.adapters.instances import get_reranker
from apps.adapters.rerankers.base import RerankFailed
from apps.core.plaintext import Plaintext
from apps.projects.scope import Scope
from apps.tenants.selectors import may_leave

NAME: Final = "rerank"  # listed among an answer's retrievers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """relevance: memory id to 0..1; empty if no model was called or the call failed.

    outcome: None if no model was called, else ``ok`` or the cause of the RerankFailed.  is_local: of a model in this
    process, which no text left.
    """

    relevance: Mapping[int, float] = field(default_factory=dict)
    outcome: str | None = None
    is_local: bool = False

    @property
    def calibrated(self) -> Mapping[int, float]:
        """The scores that count for the hits' relevance: those of the local model."""
        return self.relevance if self.is_local else {}


NOT_READ: Final = Reread()


def reread(scope: Scope, query: Plaintext, found: Sequence[tuple[int, Plaintext]], *, seconds: float) -> Reread:
    """Score the first RERANKER_TEXTS of ``found``: (id, text), best first.  seconds: remaining time budget.

    Returns NOT_READ if no model is configured, the tenant does not allow it, or nothing was found.
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
        return Reread(outcome=failure.cause, is_local=reranker.is_local)
    relevance = {one: score for (one, _), score in zip(best, scores, strict=True)}
    return Reread(relevance=relevance, outcome="ok", is_local=reranker.is_local)
