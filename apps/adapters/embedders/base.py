"""Interface of embedders; ``tests/contracts/test_embedders.py`` tests every implementation."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product measures similarity of meaning.

    id: name of the model and its generation, stored with every vector; only vectors with equal ids are compared.
    Runtimes of one model whose vectors may be mixed share an id.
    is_local: embedding makes no network call, so it may run inside a transaction.
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
