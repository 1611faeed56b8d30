"""What is put on top of an encoder: linear layers by name, and the functions between them, in numpy."""

from collections.abc import Mapping

import numpy as np

from apps.adapters.embedders.minilm.weights import Array


def logits(tensors: Mapping[str, Array], head: str, rows: Array) -> Array:
    """rows: (..., in).  Shape of the answer: (..., out)."""
    made: Array = rows @ tensors[f"{head}.weight"].T + tensors[f"{head}.bias"]
    return made


def sigmoid(raw: Array) -> Array:
    made: Array = np.reciprocal(1 + np.exp(-raw))
    return made


def softmax(raw: Array) -> Array:
    """Of one vector."""
    raised = np.exp(raw - raw.max())
    made: Array = raised / raised.sum()
    return made
