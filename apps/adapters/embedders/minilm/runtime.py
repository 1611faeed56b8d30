"""The model in onnxruntime."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import onnxruntime

from apps.adapters.embedders.minilm.graph_file import INPUT, OUTPUT
from apps.adapters.embedders.minilm.weights import DIMENSIONS, MAX_TOKENS, Array
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.errors import AdapterError

_FATAL_ONLY: Final = 4


class _Session:
    """Runs a graph on the calling thread, one text at a time.  Thread-safe."""

    def __init__(self, graph: bytes) -> None:
        options = onnxruntime.SessionOptions()
        # Requests run in parallel already.  A second thread per request would mostly wait for a busy core, and a
        # spinning one would take the core from another request.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        # Errors reach the caller as exceptions; the runtime's own output to stderr would bypass our log format.
        options.log_severity_level = _FATAL_ONLY
        self._session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def run(self, ids: list[int]) -> Array:
        """The graph's output for one text."""
        try:
            output: Array = self._session.run([OUTPUT], {INPUT: np.array([ids], np.int64)})[0][0]
        except Exception as error:  # onnxruntime's errors share no narrower base
            raise AdapterError("A model failed while it ran.", permanent=False) from error
        return output


class OnnxRuntime:
    """Runs the embedding model."""

    name = "onnxruntime int8"

    def __init__(self, graph: bytes, tokenizer: WordPiece) -> None:
        self._session = _Session(graph)
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Array:
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._session.run(self._tokenizer.encode(text, max_tokens=MAX_TOKENS))
        return vectors


class OnnxTokens:
    """Runs a model that returns a vector per token, shape (tokens, 384)."""

    def __init__(self, graph: bytes) -> None:
        self._session = _Session(graph)

    def __call__(self, ids: list[int]) -> Array:
        return self._session.run(ids)
