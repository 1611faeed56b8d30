"""A tree of hashes over a list, and the proof that one entry is in it.  RFC 6962, section 2.1."""

import hashlib
from collections.abc import Sequence
from typing import Final

EMPTY: Final = hashlib.sha256(b"").digest()


def leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """leaves: as ``leaf`` makes them, in order."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaves[0]
    middle = _split(len(leaves))
    return _node(root(leaves[:middle]), root(leaves[middle:]))


def path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes beside the way from the leaf up to the root, lowest first."""
    if len(leaves) <= 1:
        return []
    middle = _split(len(leaves))
    if index < middle:
        return [*path(leaves[:middle], index), root(leaves[middle:])]
    return [*path(leaves[middle:], index - middle), root(leaves[:middle])]


def root_of_path(one: bytes, index: int, size: int, siblings: Sequence[bytes]) -> bytes | None:
    """The root of the tree of ``size`` leaves in which ``one`` is at ``index``; None where the path does not fit."""
    if not 0 <= index < size:
        return None
    if size == 1:
        return one if not siblings else None
    if not siblings:
        return None
    middle = _split(size)
    *lower, beside = siblings
    if index < middle:
        left = root_of_path(one, index, middle, lower)
        return _node(left, beside) if left is not None else None
    right = root_of_path(one, index - middle, size - middle, lower)
    return _node(beside, right) if right is not None else None


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """The largest power of two below ``size``."""
    return 1 << (size - 1).bit_length() - 1
