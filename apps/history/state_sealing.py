"""Encrypts and decrypts a state item: a JSON object under a source, a namespace and a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.history.models import EMBEDDING, ITEM, StateItem

STATE: Final = "history_state"  # the table's name in the quarantine

Columns = tuple[bytes, bytes | None]  # the item's JSON, and its embedding at half precision


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedState:
    """A state item decrypted for its owner.  given_text: the text stored with it, if any.  score: of a search.

    version: changes with each change of the item, and is never used again, not even after a deletion.
    """

    id: int
    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    given_text: Plaintext | None
    source: str
    metadata: Mapping[str, Any]
    is_indexed: bool
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    version: str
    score: float | None = None

    @property
    def text(self) -> Plaintext:
        """The text that is searched."""
        return searched_text(self.given_text, self.value)


def open_columns(row: StateItem, cipher: SpaceCipher) -> Columns:
    """Both encrypted columns, decrypted.  Raises DecryptError if either fails."""
    item = cipher.open_bytes(ITEM, row.pk, bytes(row.item_ct), revision=row.revision)
    return item, None if row.embedding_ct is None else _open_embedding(row, cipher)


def seal_columns(state_id: int, revision: int, opened: Columns, cipher: SpaceCipher) -> Columns:
    item, embedding = opened
    return (
        cipher.seal(ITEM, state_id, item, revision=revision),
        None if embedding is None else cipher.seal(EMBEDDING, state_id, embedding, revision=revision),
    )


def open_state(row: StateItem, cipher: SpaceCipher, *, score: float | None = None) -> OpenedState:
    """Decrypt an item.  Raises DecryptError."""
    item = orjson.loads(cipher.open_bytes(ITEM, row.pk, bytes(row.item_ct), revision=row.revision))
    return OpenedState(
        id=row.pk,
        namespace=tuple(item["namespace"]),
        key=item["key"],
        value=item["value"],
        given_text=None if item["text"] is None else Plaintext(item["text"]),
        source=item["source"],
        metadata=item["metadata"],
        is_indexed=row.is_indexed,
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
        version=version_of(row),
        score=score,
    )


def version_of(row: StateItem) -> str:
    """No two items have one ID, and each change of one raises its revision."""
    return f"{row.pk}.{row.revision}"


def open_embedding(row: StateItem, cipher: SpaceCipher) -> NDArray[np.float32]:
    """Decrypt the embedding of a row that has one.  Raises DecryptError."""
    return np.frombuffer(_open_embedding(row, cipher), dtype="<f2").astype(np.float32)


def _open_embedding(row: StateItem, cipher: SpaceCipher) -> bytes:
    assert row.embedding_ct is not None  # noqa: S101  (the callers looked)
    return cipher.open_bytes(EMBEDDING, row.pk, bytes(row.embedding_ct), revision=row.revision)


def searched_text(given: Plaintext | None, value: Mapping[str, Any]) -> Plaintext:
    """The text that is searched: the one stored with the item, else the JSON of its value."""
    return Plaintext(orjson.dumps(value).decode()) if given is None else given
