"""Embedders that need no model: for tests, and for trying the product out before a model is installed."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from apps.adapters.errors import AdapterError

_WORD = re.compile(r"\w+")
_STEM_LENGTH = 5
_SHORT_WORD_LENGTH = 3
_SHORT_WORD_WEIGHT = 0.25


class FakeEmbedder:
    """Texts that share words get similar vectors; the meaning of a word is not known.

    Each word's first letters are hashed to a direction, and a text is the sum of its directions.  Directions of
    different words are close to orthogonal, as random directions are in several hundred dimensions.
    """

    id = "fake/1"
    is_local = True

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed_one(text)
        return vectors

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        # A text without words gets the direction of the empty stem.
        words = _WORD.findall(text.lower()) or [""]
        total = np.zeros(self.dimensions, np.float32)
        for word in words:
            # Short words are mostly function words; at full weight they would make any two sentences similar.
            weight = _SHORT_WORD_WEIGHT if len(word) <= _SHORT_WORD_LENGTH else 1.0
            total += weight * self._direction(word[:_STEM_LENGTH])
        return total / np.linalg.norm(total)

    def _direction(self, stem: str) -> NDArray[np.float32]:
        # surrogatepass: a lone surrogate is legal in JSON and so in a str.
        digest = hashlib.shake_256(stem.encode("utf-8", "surrogatepass")).digest(self.dimensions)
        centred = np.frombuffer(digest, np.int8).astype(np.float32) + np.float32(0.5)
        return centred / np.linalg.norm(centred)


class FailingEmbedder(FakeEmbedder):
    """A remote embedder that is down: it has the fake's id, and fails for every text."""

    is_local = False

    def __init__(self, dimensions: int = 384, *, permanent: bool = False) -> None:
        super().__init__(dimensions)
        self._permanent = permanent

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AdapterError("The embedder is configured to fail.", permanent=self._permanent)
