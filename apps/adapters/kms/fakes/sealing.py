"""What the fake key services encrypt with: refuses every change as a real cipher does, and is meant for no secret."""

import hashlib
import hmac
import os
from typing import Final

_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32


class Changed(Exception):
    """Not sealed with this secret and associated data, or changed since."""


def seal(secret: bytes, associated: bytes, text: bytes) -> bytes:
    """nonce 16 | masked text | tag 32"""
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
