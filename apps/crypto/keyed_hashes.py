"""Keyed hashes: equality without readability.  Under another space's key the same words give unrelated numbers."""

from collections.abc import Iterable
from typing import Final

from apps.crypto import aead

_SEPARATOR: Final = b"\x1f"


def token(key: bytes, field: str, term: str) -> int:
    """A term as a signed 64-bit number: the first 8 bytes of HMAC-SHA256(key, field || 0x1F || term)."""
    return tokens(key, field, (term,))[0]


def tokens(key: bytes | aead.Mac, field: str, terms: Iterable[str]) -> list[int]:
    """One token for each term, in order, repeats included.  A prepared key saves a microsecond a call."""
    if "\x1f" in field:
        raise ValueError("a field's name may not hold the separator, or two fields could share tokens")
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    start = field.encode() + _SEPARATOR
    return [int.from_bytes(mac(start + term.encode())[:8], "big", signed=True) for term in terms]


def mac16(key: bytes | aead.Mac, kind: str, *parts: str | bytes) -> bytes:
    """16 bytes that stand for exactly these parts.

    kind and parts each follow their length in four bytes, so moving a character from one part to the next changes it.
    """
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    raw = (part.encode() if isinstance(part, str) else part for part in (kind, *parts))
    return mac(b"".join(len(part).to_bytes(4, "big") + part for part in raw))[:16]


def public_id(key: bytes | aead.Mac, type: str, topic_key: str, canonical_content: str) -> str:  # noqa: A002 -- the product's word
    """``mem_`` and 32 hex digits: the same for the same type, topic key and content in one space, on every ingest.

    canonical_content: compact JSON with keys sorted at every level.
    """
    mac = key if isinstance(key, aead.Mac) else aead.Mac(key)
    return "mem_" + mac(identity_bytes(type, topic_key, canonical_content))[:16].hex()


def identity_bytes(type: str, topic_key: str, canonical_content: str) -> bytes:  # noqa: A002 -- the product's word
    """What makes two memories the same one: type NUL topic_key NUL content."""
    # The first and last NUL are the separators as long as neither end can hold one; compact JSON escapes it.
    if "\x00" in type or "\x00" in canonical_content:
        raise ValueError("neither a type nor compact JSON holds a NUL")
    return b"\x00".join((type.encode(), topic_key.encode(), canonical_content.encode()))
