"""HTTP client for a model's endpoint: one JSON request, one response within a time limit.

The address comes only from the operator's settings; redirects are not followed.
"""

import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.breaker import Breaker
from apps.adapters.timeout import run_with_timeout

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
CONNECT_SECONDS: Final = 2.0
MOST_ANSWER: Final = 1_048_576  # bytes


class CallFailed(Exception):
    """cause: ``timeout``, ``unavailable``, ``throttled``, ``circuit_open`` or ``malformed``."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Endpoint:
    """path: below ``url``.  self_hosted: texts stay with the operator; always true for the loopback.

    setting: prefix of the settings' names, for error messages.  Raises ImproperlyConfigured.
    """

    def __init__(
        self,
        *,
        setting: str,
        url: str,
        path: str,
        key: str | None = None,
        self_hosted: bool = False,
        breaker: Breaker | None = None,
    ) -> None:
        parts = urlsplit(url)
        is_local = parts.hostname in LOOPBACK
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ImproperlyConfigured(
                f"{setting}_URL is an http or https address up to and with /v1, without a query."
            )
        if parts.scheme == "http" and not (is_local or self_hosted):
            raise ImproperlyConfigured(
                f"{setting}_URL names another machine without TLS, and what people say would travel in clear: use "
                f"https, or set {setting}_SELF_HOSTED=1 if the network in between is yours."
            )
        self.is_self_hosted: Final = is_local or self_hosted
        self._address: Final = f"{url.rstrip('/')}{path}"
        self._headers: Final = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {key}"} if key else {}
        )
        self._breaker: Final = breaker or Breaker()

    def ask(self, body: Mapping[str, Any], *, seconds: float) -> bytes:
        """Return the response body, or raise CallFailed, within ``seconds``."""
        if not self._breaker.lets_through():
            raise CallFailed("circuit_open")
        try:
            raw = run_with_timeout(seconds, lambda deadline: self._post(orjson.dumps(body), deadline))
        except (CallFailed, TimeoutError) as error:
            self._breaker.note(is_success=False)
            failed = error.cause if isinstance(error, CallFailed) else "timeout"
        else:
            self._breaker.note(is_success=True)  # it responded; whether the response is valid does not matter here
            return raw
        raise CallFailed(failed)

    def _post(self, body: bytes, deadline: float) -> bytes:
        seconds = max(0.05, deadline - time.monotonic())
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        try:
            # A client per call: calls are few and long, and a failure does not affect other calls.
            with (
                httpx.Client(timeout=timeout, follow_redirects=False, trust_env=False) as client,
                client.stream("POST", self._address, content=body, headers=self._headers) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    failed = "throttled" if response.status_code == httpx.codes.TOO_MANY_REQUESTS else "unavailable"
                    raise CallFailed(failed)
                return _read(response, deadline)
        except httpx.TimeoutException:
            failed = "timeout"
        except (httpx.HTTPError, httpx.InvalidURL):
            failed = "unavailable"
        # Raised outside of the except block, so that it does not reference the request, whose body has the user's text.
        raise CallFailed(failed)


def _read(response: httpx.Response, deadline: float) -> bytes:
    raw = bytearray()
    for piece in response.iter_bytes():
        raw += piece
        if len(raw) > MOST_ANSWER:
            raise CallFailed("malformed")
        if time.monotonic() > deadline:
            raise CallFailed("timeout")
    return bytes(raw)
