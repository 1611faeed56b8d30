"""The embedders that run on this machine: no key, no network, no text leaves the process."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.minilm.loading import Runtime, load_runtime
from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.adapters.embedders.minilm.weights import DIMENSIONS
from apps.adapters.per_process import PerProcess

logger = logging.getLogger(__name__)


class LocalEmbedder:
    """all-MiniLM-L6-v2, in onnxruntime with 8-bit weights if that works here, else in numpy.

    Vectors of the two runtimes may be mixed, so they share an id.  Loads on the first text, once per process.
    Thread-safe.

    cache_dir: folder that keeps the built graph; without one, each process rebuilds it, in about a second.
    """

    id = "all-MiniLM-L6-v2/1"
    dimensions = DIMENSIONS
    is_local = True

    def __init__(self, cache_dir: str | None = None) -> None:
        self._cache_folder = Path(cache_dir) if cache_dir else None
        self._runtime = PerProcess(self._load)

    @property
    def runtime_name(self) -> str:
        """Name of the runtime in this process; loads it if needed."""
        return self._runtime.get().name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, DIMENSIONS), np.float32)
        return self._runtime.get().embed(texts)

    def warm(self) -> None:
        """Build the graph if needed, load it and run one text, so that no request waits for it."""
        self.embed(["warm"])

    def _load(self) -> Runtime:
        return _logged(load_runtime(self._cache_folder))


class FineTunedEmbedder(LocalEmbedder):
    """The same model with our own updates, trained on questions about what people said (docs/adr/0035)."""

    id = "memsync-retrieval/2"

    def _load(self) -> Runtime:
        return _logged(load_runtime(self._cache_folder, read_tuned("retrieval")))


def _logged(runtime: Runtime) -> Runtime:
    logger.info("embedding model loaded", extra={"backend": runtime.name})
    return runtime
