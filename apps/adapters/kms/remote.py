"""Common code of key services reached over the network."""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from apps.adapters.kms.base import KeyMismatch, KeyShared, KeyUnavailable, Wrapped

T = TypeVar("T")

CONNECT_SECONDS: Final = 0.5  # short, so that a lost packet is retried soon
TIMEOUT_SECONDS: Final = 1.5  # of a whole call, including retries and pauses; an error may take 2 s
PAUSES_SECONDS: Final = (0.05, 0.15)  # before the second and the third try


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of ``call``.  On KeyUnavailable it is retried, at most twice, while there is time.

    It runs in its own thread, because a socket timeout does not limit DNS lookups, fetching credentials or responses
    that arrive byte by byte.  Raises KeyUnavailable on timeout; the thread then ends by itself and its result is
    discarded.
    """
    deadline = time.monotonic() + seconds
    answer: Future[T] = Future()
    threading.Thread(target=_answer, args=(answer, call, deadline), name="key service", daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        pass
    raise KeyUnavailable(f"the key provider did not answer within {seconds:g} s; try again later")


def _answer(answer: Future[T], call: Callable[[], T], deadline: float) -> None:
    try:
        answer.set_result(_tried(call, deadline))
    except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that waits
        answer.set_exception(error)


def _tried(call: Callable[[], T], deadline: float) -> T:
    for pause in PAUSES_SECONDS:
        try:
            return call()
        except KeyUnavailable:
            if time.monotonic() + pause >= deadline:
                raise
        time.sleep(pause)
    return call()


class RemoteKeys(ABC):
    """Base class of providers: runs each method within ``seconds``.  Subclasses implement the requests."""

    def __init__(self, seconds: float) -> None:
        self._seconds: Final = seconds

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        return call_within(self._seconds, lambda: self._wrap(key, ctx))

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        return call_within(self._seconds, lambda: self._unwrap(wrapped, ctx))

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        return call_within(self._seconds, lambda: self._rewrap(wrapped, ctx))

    def current_version(self) -> str:
        return call_within(self._seconds, self._current_version)

    def destroy(self, ref: str) -> None:
        raise KeyShared(ref)

    def health(self) -> None:
        call_within(self._seconds, self._try_both_ways)

    @abstractmethod
    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped: ...

    @abstractmethod
    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray: ...

    @abstractmethod
    def _current_version(self) -> str: ...

    def _rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        return self._wrap(bytes(self._unwrap(wrapped, ctx)), ctx)

    def _try_both_ways(self) -> None:
        ctx, probe = {"p": "health"}, bytes(32)
        if self._unwrap(self._wrap(probe, ctx), ctx) != probe:
            raise KeyMismatch


class ForkAware(Generic[T]):
    """A client created on first use, and again in a forked child, which must not share its parent's connections.

    On first use two threads may each create one; one of the two is discarded.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Final = make
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        made = self._made
        if made is None or made[0] != os.getpid():
            made = self._made = (os.getpid(), self._make())
        return made[1]


def require_tls(url: str) -> str:
    """``url`` without a trailing slash, if it uses TLS or the loopback.  Raises ImproperlyConfigured."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")):
        return url.rstrip("/")
    raise ImproperlyConfigured(
        "KMS_OPTIONS names a key service without TLS on another machine, and data keys would travel in clear: "
        "use https, or an agent on this machine."
    )
