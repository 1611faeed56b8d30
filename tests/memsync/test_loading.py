"""`memsync.loading`: garbage is not collected while a program loads, and is afterwards."""

import gc

import pytest

from memsync.loading import without_collection


def test_collection_rests_inside_and_goes_on_afterwards() -> None:
    with without_collection():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_collection_goes_on_after_an_error() -> None:
    with pytest.raises(RuntimeError), without_collection():
        raise RuntimeError

    assert gc.isenabled()
