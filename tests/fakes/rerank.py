"""A reranker on the loopback that counts the words two texts share, and what goes wrong with real ones."""

import json
import math
import re
from typing import Any, Final

from tests.fakes import model_service
from tests.fakes.model_service import FakeModel
from tests.fakes.service import FakeAnswer

FAULTS: Final = (
    "not_json",
    "missing",
    "twice",
    "out_of_range",
    "not_a_number",
    "no_results",
    "endless",
    *model_service.FAULTS,
)

_WORD: Final = re.compile(r"\w+")


class FakeRerank(FakeModel):
    """logits: whether it answers bare scores.

    likes: words that make a text all that is wanted, whatever was asked.
    """

    operation = "rerank"

    def __init__(self, *, logits: bool = False, likes: str = "") -> None:
        self.logits = logits
        self.likes = likes
        super().__init__()

    @property
    def setting(self) -> dict[str, Any]:
        """RERANKER for it."""
        return {
            "BACKEND": "apps.adapters.rerankers.http.HttpReranker",
            "OPTIONS": {"url": self.base_url, "model": "small"},
        }

    def answer_throttled(self) -> FakeAnswer:
        return FakeAnswer(429, {"message": "too many requests"})

    def answer_denied(self) -> FakeAnswer:
        return FakeAnswer(401, {"message": "invalid key"})

    def answer_failed(self) -> FakeAnswer:
        return FakeAnswer(500, {"message": "internal error"})

    def answer_body(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.fault == "no_results":
            return {"data": []}
        scores = [self._score(body["query"], text) for text in body["documents"]]
        results: list[dict[str, Any]] = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
        results.sort(key=lambda one: -one["relevance_score"])  # as real ones do: best first
        if self.fault == "missing":
            results.pop()
        elif self.fault == "twice":
            results[-1] = dict(results[0])
        elif self.fault == "out_of_range":
            results[0]["relevance_score"] = 7.5
        elif self.fault == "not_a_number":
            results[0]["relevance_score"] = "best"
        elif self.fault == "not_json":
            return {"results": json.dumps(results)}
        elif self.fault == "endless":
            results[0]["document"] = "x" * 2_000_000
        return {"id": "rerank-1", "results": results}

    def _score(self, query: str, text: str) -> float:
        asked, said = (set(_WORD.findall(one.lower())) for one in (query, text))
        score = 0.01 + 0.9 * len(asked & said) / max(1, len(asked))
        if self.likes:
            score = 0.99 if self.likes in text else 0.01
        return math.log(score / (1 - score)) if self.logits else score
