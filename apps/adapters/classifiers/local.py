"""The classifier that runs on this machine: no key, no network, no text leaves the process."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from apps.adapters.classifiers.base import ChangeScores, Span, TurnScores
from apps.adapters.classifiers.encoder import Encode, load_model
from apps.adapters.classifiers.pairs import PairReader
from apps.adapters.classifiers.turns import TurnReader
from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.adapters.embedders.minilm.weights import Array
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.per_process import PerProcess

logger = logging.getLogger(__name__)


class LocalClassifier:
    """MiniLM with our own updates, in onnxruntime with 8-bit weights if that works here, else in numpy.

    Two models, one for turns and one for pairs of statements.  Each loads on its first text, once per process.
    Thread-safe.

    cache_dir: folder that keeps the built graphs; without one, each process rebuilds them, in about a second.
    """

    id = "memsync-turns/1"

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_folder = Path(cache_dir) if cache_dir else None
        self._turns = PerProcess(self._load_turns)
        self._pairs = PerProcess(self._load_pairs)

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        return self._turns.get().read(text, sentences, parts)

    def compare(self, later: str, earlier: Sequence[str]) -> Sequence[ChangeScores]:
        return [self._pairs.get().read(later, one) for one in earlier]

    def warm(self) -> None:
        """Build the graphs if needed, load them and run one text, so that no request waits for it."""
        self.read("warm", [(0, 4)])
        self.compare("warm", ["cold"])

    def _load_turns(self) -> TurnReader:
        return TurnReader(*self._load("turns", "style"))

    def _load_pairs(self) -> PairReader:
        return PairReader(*self._load("pairs", "endings"))

    def _load(self, name: str, *heads: str) -> tuple[Encode, WordPiece, Mapping[str, Array]]:
        """A model, with the tensors of the heads that were fitted to it."""
        encode, tokenizer, tensors = load_model(name, self._cache_folder)
        logger.info("classifier loaded")
        for head in heads:
            tensors = {**tensors, **read_tuned(head).tensors}
        return encode, tokenizer, tensors
