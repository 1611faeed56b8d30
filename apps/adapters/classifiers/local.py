"""The classifier that runs on this machine: no key, no network, no text leaves the process."""

import logging
from collections.abc import Sequence
from pathlib import Path

from apps.adapters.classifiers.base import Span, TurnScores
from apps.adapters.classifiers.encoder import load_encoder, read_tuned
from apps.adapters.classifiers.turns import TurnReader
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.per_process import PerProcess

logger = logging.getLogger(__name__)


class LocalClassifier:
    """MiniLM with our own changes, in onnxruntime with 8-bit weights if that works here, else in numpy.

    Loads on the first text, once per process; safe to share between threads.

    cache_dir: folder that keeps the built graph; without one, each process builds it anew, in about a second.
    """

    id = "memsync-turns/1"

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_folder = Path(cache_dir) if cache_dir else None
        self._reader = PerProcess(self._load)

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        return self._reader.get().read(text, sentences, parts)

    def warm(self) -> None:
        """Build the graph if need be, load it and run one text, so that no user waits for it."""
        self.read("warm", [(0, 4)])

    def _load(self) -> TurnReader:
        folder, tuned = find_model_folder(), read_tuned("turns")
        encode = load_encoder(tuned, read_weights(folder), self._cache_folder)
        reader = TurnReader(encode, WordPiece(read_vocabulary(folder)), tuned.tensors)
        logger.info("classifier loaded")
        return reader
