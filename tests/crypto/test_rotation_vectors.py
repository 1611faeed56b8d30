"""The keyed rotation of embeddings: geometry is kept, spaces are unrelated, the map of a key never changes."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.crypto.vectors import Rotation, block_size

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))


def unit_vectors(count: int, dimensions: int = 384) -> NDArray[np.float32]:
    # A common direction, as real embeddings have, is the hard case for telling spaces apart.
    raw = np.random.default_rng(7).normal(size=(count, dimensions)) + 0.5
    unit: NDArray[np.float32] = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.parametrize("dimensions", [8, 64, 96, 384, 768, 1024, 1536])
def test_inner_products_are_kept(dimensions: int) -> None:
    x = unit_vectors(200, dimensions)

    y = Rotation.from_key(KEY, dimensions).apply(x)

    assert y.dtype == np.float32
    assert np.abs(x.astype(float) @ x.T - y.astype(float) @ y.T).max() < 2e-6


@pytest.mark.parametrize("dimensions", [8, 96, 384, 1536])
def test_undo_gives_back_the_vectors(dimensions: int) -> None:
    x = unit_vectors(50, dimensions)
    rotation = Rotation.from_key(KEY, dimensions)

    assert np.abs(rotation.undo(rotation.apply(x)) - x).max() < 2e-6
    assert np.abs(rotation.apply(rotation.undo(x)) - x).max() < 2e-6


def test_a_vector_alone_is_rotated_as_in_a_batch() -> None:
    x = unit_vectors(20)
    rotation = Rotation.from_key(KEY, 384)

    batch = rotation.apply(x)

    assert np.abs(np.vstack([rotation.apply(x[i : i + 1]) for i in range(20)]) - batch).max() < 1e-6


def test_spaces_are_unrelated() -> None:
    x = unit_vectors(300)

    here, elsewhere = Rotation.from_key(KEY, 384).apply(x), Rotation.from_key(OTHER_KEY, 384).apply(x)

    # Independent directions in 384 dimensions have a cosine of 0 give or take 0.051.
    for other in (elsewhere, x):
        cosines = (here * other).sum(axis=1)
        assert abs(cosines.mean()) < 0.2
        assert np.abs(cosines).max() < 0.4
    across = np.abs(here @ elsewhere.T).max(axis=1)
    assert (across < 0.4).all()


def test_every_coordinate_reaches_every_other() -> None:
    matrix = Rotation.from_key(KEY, 384).apply(np.eye(384, dtype=np.float32))

    # As in a random orthogonal matrix: no large entry, and no empty corner.
    assert np.abs(matrix).max() < 0.35
    assert np.count_nonzero(np.abs(matrix) > 1e-4) > 0.98 * matrix.size
    assert np.abs(matrix.reshape(3, 128, 3, 128)).mean(axis=(1, 3)).min() > 0.03


def test_the_map_of_a_key_never_changes() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 16)

    y = Rotation.from_key(KEY, 16).apply(x)

    assert (
        np.abs(
            y
            - np.array(
                [
                    18.250000,
                    -0.625000,
                    13.250000,
                    4.125000,
                    -1.625000,
                    3.000000,
                    -0.375000,
                    7.000000,
                    14.500000,
                    2.875000,
                    8.000000,
                    7.125000,
                    -6.125000,
                    -15.750000,
                    1.125000,
                    -5.750000,
                ],
                dtype=np.float32,
            )
        ).max()
        < 1e-5
    )


def test_empty_batch_is_allowed_and_the_argument_is_left_alone() -> None:
    rotation = Rotation.from_key(KEY, 384)
    x = unit_vectors(3)
    before = x.copy()

    rotation.apply(x)
    rotation.undo(x)

    assert (x == before).all()
    assert rotation.apply(np.empty((0, 384), dtype=np.float32)).shape == (0, 384)


@pytest.mark.parametrize("dimensions", [0, 1, 4, 100, 383])
def test_dimensions_without_a_block_are_refused(dimensions: int) -> None:
    with pytest.raises(ValueError):
        Rotation.from_key(KEY, dimensions)


@pytest.mark.parametrize("shape", [(384,), (1, 383), (1, 1, 384)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    x: Any = np.zeros(shape, dtype=np.float32)

    with pytest.raises(ValueError):
        Rotation.from_key(KEY, 384).apply(x)


def test_blocks_are_powers_of_two() -> None:
    assert [block_size(dimensions) for dimensions in (384, 768, 1024, 96, 8)] == [128, 128, 128, 32, 8]
