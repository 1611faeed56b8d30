"""Keyed rotation of embeddings: inner products stay the same, directions depend on the key.

This separates spaces and defeats inversion models trained for the plain embedder.  It is not encryption: an attacker
with a dump of a space and the embeddings of one or two of its texts can confirm guesses about the others.
"""

from functools import lru_cache
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from apps.crypto import aead

Vectors = NDArray[np.float32]

_ROUNDS: Final = 3
# Larger blocks need fewer rounds but cost more.  Three rounds of 128 with permutations reach 128**3 coordinates.
_MAX_BLOCK: Final = 128
_MIN_BLOCK: Final = 8


@final
class Rotation:
    """A secret orthogonal map: three rounds of sign flip, permutation and block Hadamard transform."""

    __slots__ = ("_dimensions", "_hadamard", "_permutations", "_signs")

    def __init__(self, signs: Vectors, permutations: NDArray[np.intp]) -> None:
        """signs, permutations: shape (rounds, dimensions)."""
        self._dimensions: Final = signs.shape[1]
        self._signs: Final = signs
        self._permutations: Final = permutations
        self._hadamard: Final = _hadamard(block_size(self._dimensions))

    @classmethod
    def from_key(cls, key: bytes, dimensions: int) -> Self:
        """Derive the map.  key: 32 bytes, used only here.  Raises ValueError unless dimensions is a multiple of 8."""
        block_size(dimensions)
        numbers = _ROUNDS * dimensions
        stream = aead.keystream(key, numbers * 9)
        # A permutation is the sort order of 64-bit random numbers.  Two are equal once in 10^14 keys; the stable sort
        # makes even that case deterministic.
        order = np.frombuffer(stream, dtype="<u8", count=numbers).reshape(_ROUNDS, dimensions)
        coins = np.frombuffer(stream, dtype=np.uint8, offset=numbers * 8).reshape(_ROUNDS, dimensions)
        signs = np.where(coins & 1, np.float32(1), np.float32(-1))
        return cls(signs, np.argsort(order, axis=1, kind="stable"))

    def apply(self, x: Vectors) -> Vectors:
        """Rotate x (float32, shape (n, dimensions)).  Inner products of unit vectors change by at most 2e-6."""
        y = self._checked(x)
        for signs, permutation in zip(self._signs, self._permutations, strict=True):
            y = self._mix((y * signs)[:, permutation])
        return y

    def undo(self, y: Vectors) -> Vectors:
        """Invert ``apply``, to within 2e-6."""
        x = self._checked(y)
        for signs, permutation in zip(self._signs[::-1], self._permutations[::-1], strict=True):
            mixed = self._mix(x)
            x = np.empty_like(mixed)
            x[:, permutation] = mixed
            x *= signs
        return x

    def _mix(self, x: Vectors) -> Vectors:
        # This Hadamard matrix is symmetric and, divided by sqrt(size), its own inverse.
        size = self._hadamard.shape[0]
        return (x.reshape(-1, size) @ self._hadamard).reshape(x.shape)

    def _checked(self, x: Vectors) -> Vectors:
        if x.ndim != 2 or x.shape[1] != self._dimensions:
            raise ValueError(f"expected vectors of shape (n, {self._dimensions})")
        return np.ascontiguousarray(x, dtype=np.float32)


def block_size(dimensions: int) -> int:
    """Return the largest power of two that divides ``dimensions``, at most 128.  Raises ValueError if it is below 8."""
    size = min(dimensions & -dimensions, _MAX_BLOCK)
    if size < _MIN_BLOCK:
        raise ValueError(f"vectors of {dimensions} dimensions cannot be rotated in blocks; a multiple of 8 can")
    return size


@lru_cache(maxsize=8)
def _hadamard(size: int) -> Vectors:
    """Sylvester's matrix, scaled to be orthonormal."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while matrix.shape[0] < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Vectors = matrix / np.float32(np.sqrt(size))
    scaled.flags.writeable = False
    return scaled
