"""Rerank the best candidates with a cross-encoder, if the operator configured one and the tenant allows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from apps.adapters.instances import get_reranker
from apps.adapters.rerankers.base import Reranker, RerankFailed
from apps.core.plaintext import Plaintext
from apps.projects.scope import Scope
from apps.recall.relevance import RERANKER
from apps.tenants.selectors import may_leave

NAME: Final = "rerank"  # listed among an answer's retrievers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """relevance: memory id to 0..1; empty if no model was called or the call failed.

    outcome: None if no model was asked for, else ``ok`` or the cause of the RerankFailed.  is_sent: the texts were sent
    to a model outside of this process.  is_calibrated: the scores count for the hits' relevance.
    """

    relevance: Mapping[int, float] = field(default_factory=dict)
    outcome: str | None = None
    is_sent: bool = False
    is_calibrated: bool = False

    @property
    def calibrated(self) -> Mapping[int, float]:
        """The scores that count for the hits' relevance."""
        return self.relevance if self.is_calibrated else {}


NOT_READ: Final = Reread()


def usable_reranker(scope: Scope) -> Reranker | None:
    """The reranker, if one is configured and the tenant allows it."""
    reranker = get_reranker()
    if reranker is None or not may_leave(scope.tenant_id, "ai_rerank", self_hosted=reranker.is_self_hosted):
        return None
    return reranker


def reread(reranker: Reranker, query: Plaintext, found: Sequence[tuple[int, Plaintext]], *, seconds: float) -> Reread:
    """Score what was found: (id, text), best first.  seconds: remaining time budget.  NOT_READ if nothing was found."""
    if not found:
        return NOT_READ
    try:
        scores = reranker.score(
            query.reveal(), [text.reveal() for _, text in found], seconds=min(seconds, settings.RERANKER_SECONDS)
        )
    except RerankFailed as failure:
        return Reread(outcome=failure.cause, is_sent=not reranker.is_local)
    return Reread(
        relevance={one: score for (one, _), score in zip(found, scores, strict=True)},
        outcome="ok",
        is_sent=not reranker.is_local,
        is_calibrated=reranker.id == RERANKER,
    )
