"""Embeddings of state items: encrypted, in no search index, and made later if the embedder is down."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext

LOOKED_AT: Final = 8_000  # characters; the rest of a longer text is not embedded


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """vector: unit length, stored at half precision.  embedder: only vectors of the same embedder are comparable."""

    embedder: str
    vector: NDArray[np.float32]

    @property
    def raw(self) -> bytes:
        return self.vector.astype("<f2").tobytes()


def embed(text: Plaintext, embedder: Embedder) -> Embedded:
    """Embed a text.  Raises AdapterError while the embedder is down."""
    vector = embedder.embed([text.reveal()[:LOOKED_AT]])[0]
    return Embedded(embedder=embedder.id, vector=np.asarray(vector, dtype=np.float32))


def try_embed(text: Plaintext) -> Embedded | None:
    """As ``embed``, or None while the embedder is down: search then goes by words."""
    try:
        return embed(text, get_embedder())
    except AdapterError:
        return None
