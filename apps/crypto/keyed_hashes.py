"""Keyed hashes to compare values without their plaintext.  Another space's key gives unrelated hashes."""

from collections.abc import Iterable
from typing import Final

from apps.crypto import aead

_SEPARATOR: Final = b"\x1f"


def token(key: bytes, field: str, term: str) -> int:
    """Return a term's signed 64-bit token: the first 8 bytes of HMAC-SHA256(key, field || 0x1F || term)."""
    return tokens(key, field, (term,))[0]


def tokens(key: bytes | aead.Mac, field: str, terms: Iterable[str]) -> list[int]:
    """Return one token per term, in order, repeats included.  A prepared ``Mac`` saves a microsecond per call."""
    if "\x1f" in field:
        raise ValueError("a field's name may not hold the separator, or two fields could share tokens")
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    start = field.encode() + _SEPARATOR
    return [int.from_bytes(mac(start + term.encode())[:8], "big", signed=True) for term in terms]


def mac16(key: bytes | aead.Mac, kind: str, *parts: str | bytes) -> bytes:
    """Return a 16-byte keyed hash of exactly these parts.

    kind and parts are each prefixed with their four-byte length, so moving a character to the next part changes it.
    """
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    raw = (part.encode() if isinstance(part, str) else part for part in (kind, *parts))
    return mac(b"".join(len(part).to_bytes(4, "big") + part for part in raw))[:16]


def public_id(key: bytes | aead.Mac, type: str, topic_key: str, canonical_content: str) -> str:  # noqa: A002 -- the product's word
    """Return ``mem_`` and 32 hex digits, always the same for one type, topic key and content in one space.

    canonical_content: compact JSON with keys sorted at every level.
    """
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    return "mem_" + mac(identity_bytes(type, topic_key, canonical_content))[:16].hex()


def identity_bytes(type: str, topic_key: str, canonical_content: str) -> bytes:  # noqa: A002 -- the product's word
    """Return the bytes that identify a memory: type NUL topic_key NUL content."""
    # The first and the last NUL are the separators, so type and content must not contain one.  Compact JSON escapes it.
    if "\x00" in type or "\x00" in canonical_content:
        raise ValueError("neither a type nor compact JSON holds a NUL")
    return b"\x00".join((type.encode(), topic_key.encode(), canonical_content.encode()))
