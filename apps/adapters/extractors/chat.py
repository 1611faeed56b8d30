"""Extractor for any endpoint with OpenAI's chat completions and JSON schemas: a vendor's, or vLLM, llama.cpp, Ollama.

https://platform.openai.com/docs/api-reference/chat and its guide to structured outputs.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from apps.adapters.breaker import Breaker
from apps.adapters.endpoint import CallFailed, Endpoint
from apps.adapters.extractors.asking import SYSTEM, read_answer, request_body
from apps.adapters.extractors.base import ExtractionFailed, Proposals

MOST_TEXT: Final = 16_000  # characters of a turn that are worth a call; longer ones are documents
OVERHEAD_TOKENS: Final = len(SYSTEM) // 3 + 400  # upper bound for the system prompt and the schema


class ChatExtractor:
    """url: up to and including ``/v1``.  self_hosted: texts stay with the operator; always true for the loopback.

    price_in, price_out: per million tokens, in whole units of the operator's currency.  extra: additional fields of the
    request body, for endpoints that need them.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        key: str | None = None,
        self_hosted: bool = False,
        max_tokens: int = 1_024,
        price_in: float = 0.0,
        price_out: float = 0.0,
        extra: Mapping[str, Any] | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        self._endpoint: Final = Endpoint(
            setting="EXTRACTOR", url=url, path="/chat/completions", key=key, self_hosted=self_hosted, breaker=breaker
        )
        self.is_self_hosted: Final = self._endpoint.is_self_hosted
        self._model: Final = model
        self._max_tokens: Final = max_tokens
        self._prices: Final = (price_in, price_out)
        self._extra: Final = dict(extra or {})

    def most_tokens(self, characters: int) -> int:
        # At most one token per character, or two for scripts outside of the vocabulary.
        return OVERHEAD_TOKENS + 2 * characters + self._max_tokens

    def cost(self, tokens_in: int, tokens_out: int) -> int:
        # A price per million tokens in currency units is the price per token in millionths.
        return round(tokens_in * self._prices[0] + tokens_out * self._prices[1])

    def propose(self, text: str, *, said_at: datetime, seconds: float) -> Proposals:
        body = request_body(text, model=self._model, said_at=said_at, most_tokens=self._max_tokens) | self._extra
        try:
            raw = self._endpoint.ask(body, seconds=seconds)
        except CallFailed as failure:
            cause = failure.cause
        else:
            proposed, tokens_in, tokens_out = read_answer(raw)
            return Proposals(proposed=proposed, tokens_in=tokens_in, tokens_out=tokens_out)
        raise ExtractionFailed(cause)
