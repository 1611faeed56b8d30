"""Encrypts the metadata of an edge under the keys of its space."""

from collections.abc import Mapping
from typing import Any

import orjson

from apps.crypto.services import SpaceCipher
from apps.edges.models import METADATA


def seal_metadata(cipher: SpaceCipher, edge_id: int, metadata: Mapping[str, Any], *, revision: int) -> bytes | None:
    """The encrypted metadata; None if it is empty."""
    return cipher.seal(METADATA, edge_id, orjson.dumps(dict(metadata)), revision=revision) if metadata else None


def open_metadata(
    cipher: SpaceCipher, edge_id: int, blob: bytes | memoryview | None, *, revision: int
) -> dict[str, Any]:
    """The decrypted metadata.  Raises DecryptError."""
    if blob is None:
        return {}
    opened: dict[str, Any] = orjson.loads(cipher.open_bytes(METADATA, edge_id, bytes(blob), revision=revision))
    return opened
