"""The classifier that runs on this machine: no key, no network, no text leaves the process."""

import logging
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from apps.adapters.classifiers.base import Span, TurnScores
from apps.adapters.classifiers.encoder import load_encoder, read_tuned
from apps.adapters.classifiers.turns import TurnReader
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece

logger = logging.getLogger(__name__)


class LocalClassifier:
    """MiniLM with our own changes, in onnxruntime with 8-bit weights if that works here, else in numpy.

    Loads on the first text, once per process; safe to share between threads.

    cache_dir: folder that keeps the built graph; without one, each process builds it anew, in about a second.
    """

    id = "memsync-turns/1"

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_folder = Path(cache_dir) if cache_dir else None
        self._lock = threading.Lock()
        self._reader: TurnReader | None = None
        _classifiers.add(self)

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        return self._load().read(text, sentences, parts)

    def warm(self) -> None:
        """Build the graph if need be, load it and run one text, so that no user waits for it."""
        self.read("warm", [(0, 4)])

    def _load(self) -> TurnReader:
        reader = self._reader
        if reader is not None:
            return reader
        with self._lock:
            if self._reader is None:
                folder = find_model_folder()
                tuned = read_tuned("turns")
                encode = load_encoder(tuned, read_weights(folder), self._cache_folder)
                self._reader = TurnReader(encode, WordPiece(read_vocabulary(folder)), tuned.tensors)
                logger.info("classifier loaded")
            return self._reader

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._reader = None


_classifiers: weakref.WeakSet[LocalClassifier] = weakref.WeakSet()


def _start_afresh_after_fork() -> None:
    for classifier in list(_classifiers):
        classifier._start_afresh()


# A forked child inherits native state made for another process, and perhaps a lock whose holder it did not inherit.
os.register_at_fork(after_in_child=_start_afresh_after_fork)
