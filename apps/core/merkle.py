"""Merkle tree over a list, with inclusion proofs and consistency proofs.  RFC 6962, section 2.1."""

import hashlib
from collections.abc import Sequence
from typing import Final

EMPTY: Final = hashlib.sha256(b"").digest()


def leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """Return the root of the tree.  leaves: hashes from ``leaf``, in order."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaves[0]
    middle = _split(len(leaves))
    return _node(root(leaves[:middle]), root(leaves[middle:]))


def path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the inclusion proof of one leaf: the sibling hashes up to the root, lowest first."""
    if len(leaves) <= 1:
        return []
    middle = _split(len(leaves))
    if index < middle:
        return [*path(leaves[:middle], index), root(leaves[middle:])]
    return [*path(leaves[middle:], index - middle), root(leaves[:middle])]


def root_of_path(one: bytes, index: int, size: int, siblings: Sequence[bytes]) -> bytes | None:
    """Return the root of the tree of ``size`` leaves with ``one`` at ``index``; None if the proof is malformed."""
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


def growth(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """Return the consistency proof from the tree of the first ``old_size`` leaves, lowest first.  Section 2.1.2.

    old_size: from 1 to the number of leaves.
    """
    return _growth(leaves, old_size, is_whole=True)


def has_grown(old_size: int, old_root: bytes, size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the proof shows that the new tree begins with the old tree."""
    if not 1 <= old_size <= size:
        return False
    found = _grown(old_size, old_root, size, proof, is_whole=True)
    return found == (old_root, new_root)


def _growth(leaves: Sequence[bytes], old_size: int, *, is_whole: bool) -> list[bytes]:
    if old_size == len(leaves):
        return [] if is_whole else [root(leaves)]
    middle = _split(len(leaves))
    if old_size <= middle:
        return [*_growth(leaves[:middle], old_size, is_whole=is_whole), root(leaves[middle:])]
    return [*_growth(leaves[middle:], old_size - middle, is_whole=False), root(leaves[:middle])]


def _grown(
    old_size: int, old_root: bytes, size: int, proof: Sequence[bytes], *, is_whole: bool
) -> tuple[bytes, bytes] | None:
    """Return the old and the new root computed from the proof; None if it is malformed."""
    if old_size == size:
        if is_whole:
            return (old_root, old_root) if not proof else None
        return (proof[0], proof[0]) if len(proof) == 1 else None
    if not proof:
        return None
    middle = _split(size)
    *lower, beside = proof
    if old_size <= middle:
        found = _grown(old_size, old_root, middle, lower, is_whole=is_whole)
        return found and (found[0], _node(found[1], beside))
    found = _grown(old_size - middle, old_root, size - middle, lower, is_whole=False)
    return found and (_node(beside, found[0]), _node(beside, found[1]))


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """Return the largest power of two below ``size``."""
    return 1 << (size - 1).bit_length() - 1
