"""Reranker for any endpoint with Cohere's ``POST /rerank``: vLLM, Infinity, llama.cpp, LocalAI, Jina and others.

https://docs.cohere.com/reference/rerank.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from apps.adapters.breaker import Breaker
from apps.adapters.endpoint import CallFailed, Endpoint
from apps.adapters.rerankers.base import RerankFailed


class HttpReranker:
    """url: up to and including ``/v1``.  self_hosted: texts stay with the operator; always true for the loopback.

    logits: the endpoint returns raw scores, as llama.cpp does; a sigmoid is applied to them.
    extra: additional fields of the request body.
    """

    id = ""
    is_local = False

    def __init__(
        self,
        *,
        url: str,
        model: str,
        key: str | None = None,
        self_hosted: bool = False,
        logits: bool = False,
        extra: Mapping[str, Any] | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        self._endpoint: Final = Endpoint(
            setting="RERANKER", url=url, path="/rerank", key=key, self_hosted=self_hosted, breaker=breaker
        )
        self.is_self_hosted: Final = self._endpoint.is_self_hosted
        self._model: Final = model
        self._logits: Final = logits
        self._extra: Final = dict(extra or {})

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        if not texts:
            return []
        body = {"model": self._model, "query": query, "documents": list(texts), "top_n": len(texts)} | self._extra
        try:
            return self._read(self._endpoint.ask(body, seconds=seconds), len(texts))
        except CallFailed as failure:
            cause = failure.cause
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            cause = "malformed"
        raise RerankFailed(cause)  # outside of the except block, so that it references neither question nor texts

    def _read(self, raw: bytes, expected: int) -> list[float]:
        scores: dict[int, float] = {}
        for one in orjson.loads(raw)["results"]:
            score = float(one["relevance_score"])
            scores[one["index"]] = _sigmoid(score) if self._logits else score
        if len(scores) != expected or not all(0 <= score <= 1 for score in scores.values()):
            raise ValueError
        return [scores[at] for at in range(expected)]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
