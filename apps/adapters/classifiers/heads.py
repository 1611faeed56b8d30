"""Classification heads on top of an encoder, in numpy: linear layers by name, and activation functions."""

from collections.abc import Mapping

import numpy as np

from apps.adapters.classifiers.base import Span
from apps.adapters.embedders.minilm.weights import Array


def logits(tensors: Mapping[str, Array], head: str, rows: Array) -> Array:
    """rows: (..., in).  Returns shape (..., out)."""
    made: Array = rows @ tensors[f"{head}.weight"].T + tensors[f"{head}.bias"]
    return made


def compared(rows: Array, first: Span, second: Span) -> Array:
    """Input of a head that compares two parts of a window: [CLS], the means of both, and their absolute difference.

    rows: (tokens, in).  Returns shape (4 * in,).
    """
    one, other = rows[slice(*first)].mean(0), rows[slice(*second)].mean(0)
    return np.concatenate([rows[0], one, other, np.abs(one - other)])


def sigmoid(raw: Array) -> Array:
    made: Array = np.reciprocal(1 + np.exp(-raw))
    return made


def softmax(raw: Array) -> Array:
    """Softmax of one vector."""
    raised = np.exp(raw - raw.max())
    made: Array = raised / raised.sum()
    return made
