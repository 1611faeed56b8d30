"""Classification heads on top of an encoder, in numpy: linear layers by name, and activation functions."""

from collections.abc import Mapping

import numpy as np

from apps.adapters.embedders.minilm.weights import Array


def logits(tensors: Mapping[str, Array], head: str, rows: Array) -> Array:
    """rows: (..., in).  Returns shape (..., out)."""
    made: Array = rows @ tensors[f"{head}.weight"].T + tensors[f"{head}.bias"]
    return made


def sigmoid(raw: Array) -> Array:
    made: Array = np.reciprocal(1 + np.exp(-raw))
    return made


def softmax(raw: Array) -> Array:
    """Softmax of one vector."""
    raised = np.exp(raw - raw.max())
    made: Array = raised / raised.sum()
    return made
