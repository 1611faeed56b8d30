"""The encoder of all-MiniLM-L6-v2 with our own low-rank updates; returns a vector per token."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from apps.adapters.embedders.minilm import graph_file
from apps.adapters.embedders.minilm.loading import WrongGraphError
from apps.adapters.embedders.minilm.low_rank import Tuned, merged, read_tuned
from apps.adapters.embedders.minilm.reference import encode_tokens
from apps.adapters.embedders.minilm.weights import (
    Array,
    ModelWeights,
    find_model_folder,
    read_vocabulary,
    read_weights,
)
from apps.adapters.embedders.minilm.wordpiece import WordPiece

logger = logging.getLogger(__name__)

# Ids of an arbitrary sentence: a new graph must give its tokens nearly the same vectors as numpy.
_PROBE: Final = [101, 1045, 2333, 2000, 11929, 1998, 2026, 2905, 2003, 27395, 2000, 18551, 1012, 102]
_LOWEST_COSINE: Final = 0.95


class Encode(Protocol):
    """Runs the encoder.  ids: of one window, with [CLS] and [SEP].  Returns shape (tokens, 384)."""

    def __call__(self, ids: list[int]) -> Array: ...


def load_model(name: str, cache_folder: Path | None) -> tuple[Encode, WordPiece, Mapping[str, Array]]:
    """The encoder with our own updates of this name, its tokenizer, and all of our weights of that name."""
    folder, tuned = find_model_folder(), read_tuned(name)
    return load_encoder(tuned, folder, cache_folder), WordPiece(read_vocabulary(folder)), tuned.tensors


def load_encoder(tuned: Tuned, model_folder: Path, cache_folder: Path | None) -> Encode:
    """Load the encoder in onnxruntime with 8-bit weights, or in numpy if that fails for any reason.

    model_folder: of the package's model; its weights are read only if no graph is cached.
    """
    try:
        return _load_onnx(tuned, model_folder, cache_folder)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors share no narrower base, and numpy needs none of it
        logger.warning("onnxruntime cannot run a classifier here; numpy will", extra={"error": type(error).__name__})
    return numpy_encoder(tuned, read_weights(model_folder))


def numpy_encoder(tuned: Tuned, base: ModelWeights) -> Encode:
    weights = merged(base, tuned)
    return lambda ids: encode_tokens(weights, [ids])


def _load_onnx(tuned: Tuned, model_folder: Path, cache_folder: Path | None) -> Encode:
    # Imported here, so that numpy still works on a platform without onnxruntime.
    from apps.adapters.embedders.minilm.runtime import OnnxTokens

    name = graph_file.file_name(tuned.file_stem)
    return OnnxTokens(
        graph_file.find_or_build(cache_folder, lambda: _build_checked(tuned, read_weights(model_folder)), name=name)
    )


def _build_checked(tuned: Tuned, base: ModelWeights) -> bytes:
    # Imported here, because onnx takes long to import and only a build needs it.
    from apps.adapters.embedders.minilm.onnx_graph import build_token_graph
    from apps.adapters.embedders.minilm.runtime import OnnxTokens

    graph = build_token_graph(merged(base, tuned))
    exact, made = numpy_encoder(tuned, base)(_PROBE), OnnxTokens(graph)(_PROBE)
    cosines = np.sum(exact * made, axis=1) / (np.linalg.norm(exact, axis=1) * np.linalg.norm(made, axis=1))
    if not cosines.min() >= _LOWEST_COSINE:  # "not >=", so that NaN is refused too
        raise WrongGraphError(f"The new graph's lowest cosine to the model is {cosines.min():.3f}.")
    return graph
