"""Interface of rerankers; ``tests/contracts/test_rerankers.py`` tests every implementation."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from apps.adapters.errors import AdapterError


class RerankFailed(AdapterError):
    """The model returned nothing usable.

    cause: ``timeout``, ``unavailable``, ``throttled``, ``circuit_open`` or ``malformed``.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(f"the reranking model failed: {cause}", permanent=False)
        self.cause = cause


@runtime_checkable
class Reranker(Protocol):
    """A cross-encoder: it scores a question and a text together.

    id: name of the model and its generation, for a model whose scores are calibrated, else empty.  is_local: it runs in
    this process.  is_self_hosted: texts stay with the operator.
    """

    @property
    def id(self) -> str: ...

    @property
    def is_local(self) -> bool: ...

    @property
    def is_self_hosted(self) -> bool: ...

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Return how well each text answers the query, 0..1, in the order of ``texts``.

        Returns or raises RerankFailed within ``seconds``, but for loading a local model on the first call.
        """
        ...
