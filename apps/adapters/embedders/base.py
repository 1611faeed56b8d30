"""The promise every embedder keeps; ``tests/contracts/test_embedders.py`` holds each of them to it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors whose dot product says how close two texts are in meaning.

    id: name of the model and its generation, stored beside every vector; vectors are compared only when their ids are
    equal.  Runtimes of one model whose vectors may be mixed share an id.
    is_local: that embedding waits for this machine alone, so that it may be done inside a transaction.
    """

    @property
    def id(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def is_local(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """vectors: float32, shape (len(texts), dimensions), unit length, in the order of ``texts``.

        A text's vector does not depend on the texts beside it.  The empty string has a vector too; text beyond the
        model's window is ignored.  Raises AdapterError; permanent=True if the input is refused.
        """
        ...
