"""Any endpoint that speaks OpenAI's chat completions with a JSON schema: a vendor's, or vLLM, llama.cpp, Ollama.

https://platform.openai.com/docs/api-reference/chat and its guide to structured outputs.  The address comes from the
operator's settings and from nowhere else; redirects are not followed.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.extractors.asking import SYSTEM, read_answer, request_body
from apps.adapters.extractors.base import ExtractionFailed, Proposals
from apps.adapters.extractors.breaker import Breaker

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
CONNECT_SECONDS: Final = 2.0
MOST_ANSWER: Final = 1_048_576  # bytes
MOST_TEXT: Final = 16_000  # characters of a turn that are worth a call; longer ones are documents
OVERHEAD_TOKENS: Final = len(SYSTEM) // 3 + 400  # the instruction and the schema, generously


class ChatExtractor:
    """url: up to and with ``/v1``.  self_hosted: texts stay with the operator there; the loopback always is.

    price_in, price_out: of a million tokens, in whole units of the operator's currency.  extra: more fields of the
    request's body, for endpoints that want other ones.
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
        parts = urlsplit(url)
        is_local = parts.hostname in LOOPBACK
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ImproperlyConfigured("EXTRACTOR_URL is an http or https address up to and with /v1, without a query.")
        if parts.scheme == "http" and not (is_local or self_hosted):
            raise ImproperlyConfigured(
                "EXTRACTOR_URL names another machine without TLS, and what people say would travel in clear: use "
                "https, or set EXTRACTOR_SELF_HOSTED=1 if the network in between is yours."
            )
        self.is_self_hosted: Final = is_local or self_hosted
        self._address: Final = f"{url.rstrip('/')}/chat/completions"
        self._model: Final = model
        self._headers: Final = {"Authorization": f"Bearer {key}"} if key else {}
        self._max_tokens: Final = max_tokens
        self._prices: Final = (price_in, price_out)
        self._extra: Final = dict(extra or {})
        self._breaker: Final = breaker or Breaker()

    def most_tokens(self, characters: int) -> int:
        # No script needs more than a token a character, and two where it is outside of all vocabularies.
        return OVERHEAD_TOKENS + 2 * characters + self._max_tokens

    def cost(self, tokens_in: int, tokens_out: int) -> int:
        # A price for a million tokens is a millionth of it for each.
        return round(tokens_in * self._prices[0] + tokens_out * self._prices[1])

    def propose(self, text: str, *, said_at: datetime, seconds: float) -> Proposals:
        if not self._breaker.lets_through():
            raise ExtractionFailed("circuit_open")
        body = request_body(text, model=self._model, said_at=said_at, most_tokens=self._max_tokens) | self._extra
        try:
            raw = _within(seconds, lambda deadline: self._ask(orjson.dumps(body), deadline))
        except ExtractionFailed:
            self._breaker.note(is_success=False)
            raise
        self._breaker.note(is_success=True)  # it answers; whether with sense is another matter
        proposed, tokens_in, tokens_out = read_answer(raw)
        return Proposals(proposed=proposed, tokens_in=tokens_in, tokens_out=tokens_out)

    def _ask(self, body: bytes, deadline: float) -> bytes:
        seconds = max(0.05, deadline - time.monotonic())
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        headers = {**self._headers, "Content-Type": "application/json"}
        try:
            # A client for each call: calls are few and long, and what goes wrong with one stays with it.
            with (
                httpx.Client(timeout=timeout, follow_redirects=False, trust_env=False) as client,
                client.stream("POST", self._address, content=body, headers=headers) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    failed = "throttled" if response.status_code == httpx.codes.TOO_MANY_REQUESTS else "unavailable"
                    raise ExtractionFailed(failed)
                return _read(response, deadline)
        except httpx.TimeoutException:
            failed = "timeout"
        except (httpx.HTTPError, httpx.InvalidURL):
            failed = "unavailable"
        # Raised out here so that it brings no request along: its body holds the turn.
        raise ExtractionFailed(failed)


def _read(response: httpx.Response, deadline: float) -> bytes:
    raw = bytearray()
    for piece in response.iter_bytes():
        raw += piece
        if len(raw) > MOST_ANSWER:
            raise ExtractionFailed("malformed")
        if time.monotonic() > deadline:
            raise ExtractionFailed("timeout")
    return bytes(raw)


def _within(seconds: float, call: Callable[[float], bytes]) -> bytes:
    """In a thread of its own, because a socket's timeout does not bound a call: looking up a name, and an answer that
    drips byte by byte, both escape it.  What was begun ends by itself soon after, and is forgotten."""
    deadline = time.monotonic() + seconds
    answer: Future[bytes] = Future()

    def run() -> None:
        try:
            answer.set_result(call(deadline))
        except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that waits
            answer.set_exception(error)

    threading.Thread(target=run, name="extraction model", daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        pass
    raise ExtractionFailed("timeout")
