"""Signatures with which a receiver verifies sender, time and body; docs/webhooks.md explains how.

signed bytes: timestamp in decimal | "." | body as sent
"""

import hashlib
import hmac
import secrets
from typing import Final

from apps.webhooks.models import Algorithm

PREFIX: Final = "whsec_"
_HASHES: Final = {Algorithm.SHA256: hashlib.sha256, Algorithm.SHA512: hashlib.sha512}


def new_secret() -> str:
    """A random secret of 256 bits.  The key is the whole string, prefix included."""
    return PREFIX + secrets.token_urlsafe(32)


def shown_prefix(secret: str) -> str:
    """A 24-bit prefix by which a user can tell secrets apart."""
    return secret[: len(PREFIX) + 4]


def sign(secret: str, algorithm: str, timestamp: int, body: bytes) -> str:
    """``sha256=`` or ``sha512=`` and the signature in hex."""
    hashed = _HASHES[Algorithm(algorithm)]
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashed)
    return f"{hashed().name}={mac.hexdigest()}"
