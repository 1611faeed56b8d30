"""The text of an API key: made, recognised and digested.  Pure functions on strings.

    ms_live_ kid(11) _ secret(43) crc(6)        ms_test_, ms_dev_ for the other environments

kid: 64 random bits, public, finds the row.  secret: 256 random bits.  crc: CRC32 of all that stands before it, so that
a scanner can tell a key from noise offline and a typing error never reaches the database.  All base62, fixed width.
The shape follows GitHub's token format (github.blog, "Behind GitHub's new authentication token formats", 2021).
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from dataclasses import dataclass

from apps.projects.scope import Environment

LABELS = {Environment.PRODUCTION: "live", Environment.STAGING: "test", Environment.DEVELOPMENT: "dev"}
_ENVIRONMENTS = {label: environment for environment, label in LABELS.items()}
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KID, _SECRET, _CRC = 11, 43, 6  # characters that hold 64, 256 and 32 bits
_SHAPE = re.compile(rf"(ms_(live|test|dev)_([0-9A-Za-z]{{{_KID}}})_[0-9A-Za-z]{{{_SECRET}}})([0-9A-Za-z]{{{_CRC}}})")


class NotAKey(ValueError):
    """The text was never a key: wrong shape, or a checksum that does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedKey:
    """The parts of a key, not yet verified."""

    environment: Environment
    kid: str


def mint(environment: Environment) -> tuple[str, str]:
    """A new key and its kid.  The text is shown once and stored nowhere."""
    kid = _base62(secrets.randbits(64), _KID)
    body = f"ms_{LABELS[environment]}_{kid}_{_base62(secrets.randbits(256), _SECRET)}"
    return body + _checksum(body), kid


def parse(text: str) -> ParsedKey:
    """Raises NotAKey.  The message never repeats the text, which may be a user's secret with a typing error."""
    found = _SHAPE.fullmatch(text)
    if not found:
        raise NotAKey("not an API key: wrong shape")
    body, label, kid, checksum = found.groups()
    if checksum != _checksum(body):
        raise NotAKey("not an API key: wrong checksum")
    return ParsedKey(environment=_ENVIRONMENTS[label], kid=kid)


def digest(pepper: bytes, text: str) -> bytes:
    """HMAC-SHA256, 32 bytes: what is stored.  No stretching: a secret of 256 random bits cannot be guessed."""
    return hmac.digest(pepper, text.encode(), hashlib.sha256)


def is_same(stored: bytes, computed: bytes) -> bool:
    """Compares digests in constant time: == would reveal the length of the common prefix through its duration."""
    return hmac.compare_digest(stored, computed)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CRC)
