"""A key provider for tests: keeps the contract, keeps no secret."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

from apps.adapters.kms.base import KeyMismatch, KeyUnavailable, Wrapped, bound

_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32


class FakeKms:
    """Keys follow from ``seed``, so two processes with one seed open each other's blobs.

    ``down``: every call fails.  ``answers_after_seconds``: how slow it pretends to be; past ``timeout_seconds`` a call
    fails, at once.  ``calls`` counts, by method, the calls that were answered or refused.
    """

    name = "fake"

    def __init__(self, *, seed: str = "fake", versions: int = 1, timeout_seconds: float = 2.0) -> None:
        self._seed: Final = seed
        self._timeout_seconds: Final = timeout_seconds
        self._destroyed: Final[set[str]] = set()
        self._versions = versions
        self.down = False
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
        if self.down or self.answers_after_seconds > self._timeout_seconds:
            raise KeyUnavailable

    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        ref, version = f"fake-{self._seed}", str(self._versions)
        nonce = os.urandom(_NONCE_BYTES)
        masked = self._mask(version, nonce, ctx, key)
        return Wrapped(self.name, ref, version, nonce + masked + self._tag(version, nonce + masked, ctx))

    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        if (wrapped.provider, wrapped.ref) != (self.name, f"fake-{self._seed}"):
            raise KeyMismatch
        if wrapped.ref in self._destroyed or not wrapped.version.isdecimal() or int(wrapped.version) > self._versions:
            raise KeyUnavailable
        body, tag = wrapped.blob[:-_TAG_BYTES], wrapped.blob[-_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(wrapped.version, body, ctx)):
            raise KeyMismatch
        return bytearray(self._mask(wrapped.version, body[:_NONCE_BYTES], ctx, body[_NONCE_BYTES:]))

    def _mask(self, version: str, nonce: bytes, ctx: Mapping[str, str], key: bytes) -> bytes:
        stream = hashlib.shake_256(bound(ctx, "mask", self._seed, version) + nonce).digest(len(key))
        return bytes(a ^ b for a, b in zip(key, stream, strict=True))

    def _tag(self, version: str, body: bytes, ctx: Mapping[str, str]) -> bytes:
        return hmac.digest(self._seed.encode(), bound(ctx, "tag", version) + body, "sha256")
