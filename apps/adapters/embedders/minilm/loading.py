"""Load the fastest runtime of the model that works on this machine."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from apps.adapters.embedders.minilm import graph_file
from apps.adapters.embedders.minilm.low_rank import Tuned, merged
from apps.adapters.embedders.minilm.reference import NumpyRuntime
from apps.adapters.embedders.minilm.weights import (
    Array,
    ModelWeights,
    find_model_folder,
    read_vocabulary,
    read_weights,
)
from apps.adapters.embedders.minilm.wordpiece import WordPiece

logger = logging.getLogger(__name__)

# A new graph must give these texts nearly the same vectors as numpy.  8-bit weights lower the cosine by about 0.01; a
# wrong graph lowers it far more.
_PROBES: Final = (
    "When did Caroline go to the support group?",
    "I moved to Lisbon in March and started working for a small bakery near the river.",
    "The deployment failed because the database was out of disk space.",
    "She is allergic to peanuts, so we always cook without them. " * 5,
)
_LOWEST_COSINE: Final = 0.98


class Runtime(Protocol):
    """One way to run the model.  Thread-safe."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> Array: ...


class WrongGraphError(Exception):
    """A graph's vectors differ from the model's."""


def load_runtime(cache_folder: Path | None, tuned: Tuned | None = None) -> Runtime:
    """Load onnxruntime with 8-bit weights, or numpy if that fails for any reason.

    tuned: updates to merge into the model.  Raises AdapterError when the model itself is missing or not genuine.
    """
    model_folder = find_model_folder()
    tokenizer = WordPiece(read_vocabulary(model_folder))
    try:
        return _load_onnx(model_folder, tokenizer, cache_folder, tuned)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors share no narrower base, and numpy needs none of it
        logger.warning(
            "onnxruntime cannot run the embedding model here; numpy will", extra={"error": type(error).__name__}
        )
    return NumpyRuntime(_read_weights(model_folder, tuned), tokenizer)


def _load_onnx(model_folder: Path, tokenizer: WordPiece, cache_folder: Path | None, tuned: Tuned | None) -> Runtime:
    # Imported here, so that numpy still works on a platform without onnxruntime.
    from apps.adapters.embedders.minilm.runtime import OnnxRuntime

    def build() -> bytes:
        return _build_checked_graph(_read_weights(model_folder, tuned), tokenizer)

    name = graph_file.FILE_NAME if tuned is None else graph_file.file_name(tuned.file_stem)
    return OnnxRuntime(graph_file.find_or_build(cache_folder, build, name=name), tokenizer)


def _read_weights(model_folder: Path, tuned: Tuned | None) -> ModelWeights:
    weights = read_weights(model_folder)
    return weights if tuned is None else merged(weights, tuned)


def _build_checked_graph(weights: ModelWeights, tokenizer: WordPiece) -> bytes:
    # Imported here, because onnx takes long to import and only a build needs it.
    from apps.adapters.embedders.minilm.onnx_graph import build_graph
    from apps.adapters.embedders.minilm.runtime import OnnxRuntime

    graph = build_graph(weights)
    exact = NumpyRuntime(weights, tokenizer).embed(_PROBES)
    cosines = np.sum(OnnxRuntime(graph, tokenizer).embed(_PROBES) * exact, axis=1)
    if not cosines.min() >= _LOWEST_COSINE:  # "not >=", so that NaN is refused too
        raise WrongGraphError(f"The new graph's lowest cosine to the model is {cosines.min():.3f}.")
    return graph
