"""What a receiver can check: that it was us, when, and that no one changed a byte.  docs/webhooks.md shows how.

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
    """256 bits by chance.  Its characters are the key, prefix and all."""
    return PREFIX + secrets.token_urlsafe(32)


def shown_prefix(secret: str) -> str:
    """By which a person distinguishes one secret from another; 24 bits of it."""
    return secret[: len(PREFIX) + 4]


def sign(secret: str, algorithm: str, timestamp: int, body: bytes) -> str:
    """``sha256=`` or ``sha512=``, and hex."""
    hashed = _HASHES[Algorithm(algorithm)]
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashed)
    return f"{hashed().name}={mac.hexdigest()}"
