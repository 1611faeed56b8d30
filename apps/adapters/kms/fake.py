"""A key provider for tests: fulfils the contract but protects no secret."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

from apps.adapters.kms.base import KeyMismatch, KeyUnavailable, Wrapped, bound

_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32


class Changed(Exception):
    """Not sealed with this secret and associated data, or modified since."""


class FakeKms:
    """Keys are derived from ``seed``, so two processes with the same seed can unwrap each other's blobs.

    ``down``, ``throttled``: every call fails.  ``answers_after_seconds``: simulated latency; above ``timeout_seconds``
    a call fails immediately.  ``oldest_version``: earlier versions are unavailable.
    ``calls``: number of calls by method, including failed ones.
    """

    name = "fake"

    def __init__(self, *, seed: str = "fake", versions: int = 1, timeout_seconds: float = 2.0) -> None:
        self._seed: Final = seed
        self._timeout_seconds: Final = timeout_seconds
        self._destroyed: Final[set[str]] = set()
        self._versions = versions
        self.oldest_version = 1
        self.down = False
        self.throttled = False
        self.answers_after_seconds = 0.0
        self.calls: Final[dict[str, int]] = {}

    def add_version(self) -> str:
        self._versions += 1
        return str(self._versions)

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        self._answer("wrap")
        return self._wrap(key, ctx)

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        self._answer("unwrap")
        return self._unwrap(wrapped, ctx)

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        self._answer("rewrap")
        return self._wrap(bytes(self._unwrap(wrapped, ctx)), ctx)

    def current_version(self) -> str:
        self._answer("current_version")
        return str(self._versions)

    def destroy(self, ref: str) -> None:
        self._answer("destroy")
        self._destroyed.add(ref)

    def health(self) -> None:
        self._answer("health")

    def _answer(self, method: str) -> None:
        self.calls[method] = self.calls.get(method, 0) + 1
        if self.down or self.throttled or self.answers_after_seconds > self._timeout_seconds:
            raise KeyUnavailable

    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        ref, version = f"fake-{self._seed}", str(self._versions)
        return Wrapped(self.name, ref, version, seal(self._secret(version), bound(ctx), key))

    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        if (wrapped.provider, wrapped.ref) != (self.name, f"fake-{self._seed}"):
            raise KeyMismatch
        if wrapped.ref in self._destroyed or not wrapped.version.isdecimal():
            raise KeyUnavailable
        if not self.oldest_version <= int(wrapped.version) <= self._versions:
            raise KeyUnavailable
        try:
            return bytearray(unseal(self._secret(wrapped.version), bound(ctx), wrapped.blob))
        except Changed:
            raise KeyMismatch from None

    def _secret(self, version: str) -> bytes:
        return bound({}, self._seed, version)


def seal(secret: bytes, associated: bytes, text: bytes) -> bytes:
    """Detects any change like a real cipher, but is not for secrets.  Format: nonce 16 | masked text | tag 32."""
    nonce = os.urandom(_NONCE_BYTES)
    body = nonce + _mask(secret, nonce, text)
    return body + _tag(secret, associated, body)


def unseal(secret: bytes, associated: bytes, blob: bytes) -> bytes:
    """The text.  Raises Changed."""
    body, tag = blob[:-_TAG_BYTES], blob[-_TAG_BYTES:]
    if len(body) < _NONCE_BYTES or not hmac.compare_digest(tag, _tag(secret, associated, body)):
        raise Changed
    return _mask(secret, body[:_NONCE_BYTES], body[_NONCE_BYTES:])


def _mask(secret: bytes, nonce: bytes, text: bytes) -> bytes:
    stream = hashlib.shake_256(b"mask" + nonce + secret).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))


def _tag(secret: bytes, associated: bytes, body: bytes) -> bytes:
    return hmac.digest(secret, b"tag" + len(associated).to_bytes(8, "big") + associated + body, "sha256")
