"""The reranker that runs on this machine: no key, no network, no text leaves the process."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from apps.adapters.classifiers.encoder import Encode, load_model
from apps.adapters.classifiers.heads import compared, logits, sigmoid
from apps.adapters.embedders.minilm.reference import gelu
from apps.adapters.embedders.minilm.weights import Array
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.errors import AdapterError
from apps.adapters.per_process import PerProcess
from apps.adapters.rerankers.base import RerankFailed
from apps.adapters.rerankers.pair import QUESTION_ROOM, TEXT_ROOM, question_and_text, tokens_of

logger = logging.getLogger(__name__)


class LocalReranker:
    """MiniLM with our own updates as a cross-encoder, in onnxruntime with 8-bit weights if that works here, else numpy.

    A score above 0.5 says that the text answers likelier than nothing does.  Reads QUESTION_ROOM tokens of the question
    and TEXT_ROOM of each text.  Loads on the first call, once per process.  Thread-safe.

    cache_dir: folder that keeps the built graph; without one, each process rebuilds it, in about a second.
    """

    id = "memsync-rerank/1"
    is_self_hosted = True
    is_local = True

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_folder = Path(cache_dir) if cache_dir else None
        self._reader = PerProcess(self._load)

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        if not texts:
            return []
        cause = "timeout"
        try:
            found = self._reader.get().read(query, texts, seconds=seconds)
        except AdapterError:
            found, cause = None, "unavailable"
        if found is not None and not np.isfinite(found).all():
            found, cause = None, "malformed"
        if found is None:
            logger.warning("the reranker failed", extra={"error": cause})
            raise RerankFailed(cause)  # outside of the except block, so that it references no text
        return [float(one) for one in sigmoid(found)]

    def _load(self) -> "CrossEncoder":
        loaded = load_model("rerank", self._cache_folder)
        logger.info("reranker loaded")
        return CrossEncoder(*loaded)


class CrossEncoder:
    """The heads are those of ``training/reranker.py``, in numpy.  Thread-safe if ``encode`` is."""

    def __init__(self, encode: Encode, tokenizer: WordPiece, tensors: Mapping[str, Array]) -> None:
        self._encode, self._tokenizer, self._tensors = encode, tokenizer, tensors

    def read(self, query: str, texts: Sequence[str], *, seconds: float) -> Array | None:
        """A score for each text, of any size and sign; None if ``seconds`` do not suffice."""
        until = time.monotonic() + seconds
        question, rows = tokens_of(query, self._tokenizer, room=QUESTION_ROOM), []
        for text in texts:
            if time.monotonic() > until:
                return None
            rows.append(self._row(question, tokens_of(text, self._tokenizer, room=TEXT_ROOM)))
        hidden = gelu(logits(self._tensors, "hidden", np.stack(rows)))
        scores: Array = logits(self._tensors, "score", hidden)[:, 0]
        return scores

    def _row(self, question: list[int], text: list[int]) -> Array:
        one = question_and_text(question, text)
        return compared(self._encode(one.ids), one.question, one.text)
