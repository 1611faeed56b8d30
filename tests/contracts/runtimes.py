"""Local models on a platform without onnxruntime."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest


@contextmanager
def without_onnxruntime(loader: ModuleType) -> Iterator[None]:
    """loader: the module whose models load in the block."""

    def fail(*_: object) -> None:
        raise ImportError("onnxruntime")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "_load_onnx", fail)
        yield
