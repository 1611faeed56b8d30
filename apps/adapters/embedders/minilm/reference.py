"""The model in numpy: exact to float32, the reference for every other runtime and the fallback without one.

BERT encoder, mean over the tokens, unit length: Reimers and Gurevych 2019 (Sentence-BERT), section 3.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

import numpy as np

from apps.adapters.embedders.minilm.weights import (
    DIMENSIONS,
    HEADS,
    LAYER_NORM_EPSILON,
    MAX_TOKENS,
    Array,
    Layer,
    Linear,
    ModelWeights,
    Norm,
)
from apps.adapters.embedders.minilm.wordpiece import WordPiece

_HEAD_SIZE = DIMENSIONS // HEADS
# Enough rows for efficient matrix products, few enough for their results to stay in the processor's cache.
_TOKENS_PER_BATCH = 1024


class NumpyRuntime:
    """Runs the model with numpy alone.

    Tokens of many texts are concatenated without padding; only attention treats each text separately.
    """

    name = "numpy"

    def __init__(self, weights: ModelWeights, tokenizer: WordPiece) -> None:
        self._weights = weights
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Array:
        ids = [self._tokenizer.encode(text, max_tokens=MAX_TOKENS) for text in texts]
        vectors = np.empty((len(ids), DIMENSIONS), np.float32)
        for batch in _batches([len(row) for row in ids]):
            vectors[batch] = self._embed_batch([ids[row] for row in batch])
        return vectors

    def _embed_batch(self, ids: list[list[int]]) -> Array:
        """ids: one list per text, lists of equal length adjacent."""
        lengths = [len(row) for row in ids]
        tokens = encode_tokens(self._weights, ids)
        starts = [0, *accumulate(lengths)][:-1]
        # The mean's divisor is left out: it cancels when the sum is brought to unit length.
        sums = np.add.reduceat(tokens, starts, axis=0)
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        return sums


def encode_tokens(weights: ModelWeights, ids: list[list[int]]) -> Array:
    """The last layer's token vectors, text after text, shape (tokens, 384).  ids: as for ``_embed_batch``."""
    lengths = [len(row) for row in ids]
    words: Array = weights.words[np.concatenate(ids)]
    positions = weights.positions[np.concatenate([np.arange(length) for length in lengths])]
    tokens = _normalise(words + positions, weights.norm)
    for layer in weights.layers:
        tokens = _apply_layer(tokens, layer, lengths)
    return tokens


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows in order of length, cut so that no batch holds more tokens than the budget."""
    batch: list[int] = []
    tokens = 0
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and tokens + lengths[row] > _TOKENS_PER_BATCH:
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += lengths[row]
    if batch:
        yield batch


def _apply_layer(tokens: Array, layer: Layer, lengths: Sequence[int]) -> Array:
    attended = _attend(_linear(tokens, layer.qkv), lengths)
    tokens = _normalise(tokens + _linear(attended, layer.attention_out), layer.attention_norm)
    hidden = gelu(_linear(tokens, layer.up))
    return _normalise(tokens + _linear(hidden, layer.down), layer.norm)


def _attend(qkv: Array, lengths: Sequence[int]) -> Array:
    """Self-attention within each text.  Vaswani et al. 2017, section 3.2."""
    result = np.empty((len(qkv), DIMENSIONS), np.float32)
    start = 0
    for length, group in groupby(lengths):
        count = len(list(group))
        end = start + count * length
        # (tokens, 3 * 384) -> query, key, value: each (texts, heads, tokens, head size)
        query, key, value = qkv[start:end].reshape(count, length, 3, HEADS, _HEAD_SIZE).transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2) / np.float32(math.sqrt(_HEAD_SIZE))
        attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        result[start:end] = (attention @ value).transpose(0, 2, 1, 3).reshape(-1, DIMENSIONS)
        start = end
    return result


def _linear(rows: Array, linear: Linear) -> Array:
    product: Array = rows @ linear.matrix
    product += linear.bias
    return product


def _normalise(rows: Array, norm: Norm) -> Array:
    centred: Array = rows - rows.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    centred /= np.sqrt(variance + np.float32(LAYER_NORM_EPSILON))
    centred *= norm.scale
    centred += norm.shift
    return centred


def gelu(values: Array) -> Array:
    """x times the normal distribution function at x, exact to 1.5e-7.

    numpy has no erf: Abramowitz and Stegun, Handbook of Mathematical Functions, formula 7.1.26.
    """
    size = np.abs(values)
    t = np.reciprocal(np.float32(1) + np.float32(0.3275911 / math.sqrt(2)) * size)
    series = np.float32(1.061405429) * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(coefficient)
        series *= t
    # Probability beyond |x|; subtracting from max(x, 0) works for both signs without cancellation.
    tail = np.float32(0.5) * series * np.exp(np.float32(-0.5) * np.square(size))
    made: Array = np.maximum(values, 0) - size * tail
    return made
