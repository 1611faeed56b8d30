"""File cache of the ONNX graph, shared between processes, and constants that its writer and reader share.

Format: SHA-256 of the rest 32 | serialised ONNX model.  Digest and graph share one file, so that one rename installs
both.  The digest detects a half-written or damaged file, not a forged one.
"""

import fcntl
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from apps.adapters.embedders.minilm.weights import WEIGHTS_SHA256

logger = logging.getLogger(__name__)

# Increment whenever the builder would write a different graph.
GRAPH_VERSION: Final = 1
INPUT: Final = "ids"
OUTPUT: Final = "vector"

_DIGEST_BYTES: Final = hashlib.sha256().digest_size


def file_name(model: str) -> str:
    """Cache file name of a model; it includes the digest of the package's weights and the builder's version."""
    return f"{model}-int8-{WEIGHTS_SHA256[:16]}-v{GRAPH_VERSION}.graph"


FILE_NAME: Final = file_name("all-MiniLM-L6-v2")


def find_or_build(folder: Path | None, build: Callable[[], bytes], *, name: str = FILE_NAME) -> bytes:
    """As ``read_or_build``; without a usable folder, the graph is built for this process only."""
    if folder is None:
        return build()
    try:
        return read_or_build(folder, build, name=name)
    except OSError as error:
        logger.warning(
            "a model's folder cannot be used; every process builds its own graph",
            extra={"error": type(error).__name__},
        )
    return build()


def read_or_build(folder: Path, build: Callable[[], bytes], *, name: str = FILE_NAME) -> bytes:
    """Read the graph ``name`` from ``folder``; build it and write it there if it is missing or damaged.

    Concurrent processes wait for the first one to build it.  Raises OSError when the folder cannot be used, and
    whatever ``build`` raises; then nothing is written.
    """
    path = folder / name
    graph = _find_graph(path)
    if graph is not None:
        return graph
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_suffix(".lock")):
        # Another process may have written it while this one waited for the lock.
        graph = _find_graph(path)
        if graph is None:
            graph = build()
            _write(path, graph)
    return graph


def _find_graph(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, graph = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return graph if hashlib.sha256(graph).digest() == digest else None


def _write(path: Path, graph: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".tmp", delete=False) as file:
        try:
            file.write(hashlib.sha256(graph).digest() + graph)
            # World-readable: the user who installs may differ from the one who runs it, and the weights are public.
            os.fchmod(file.fileno(), 0o644)
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock file until the block ends; the system releases it if the process dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
