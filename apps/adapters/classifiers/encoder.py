"""The encoder of all-MiniLM-L6-v2 with low-rank changes of our own, run token by token.

Hu et al. 2021 (LoRA): to each of its matrices W comes B A, of a small rank; merged once, it costs nothing more.
"""

import hashlib
import json
import logging
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.minilm import graph_file
from apps.adapters.embedders.minilm.loading import WrongGraphError
from apps.adapters.embedders.minilm.reference import encode_tokens
from apps.adapters.embedders.minilm.weights import Array, Layer, Linear, Weights
from apps.adapters.errors import AdapterError

logger = logging.getLogger(__name__)

FOLDER: Final = Path(__file__).parent / "weights"
_KINDS: Final = {"F16": np.float16, "F32": np.float32}
# A new graph must nearly say of these tokens what numpy says: a sentence whose ids are as good as any.
_PROBE: Final = [101, 1045, 2333, 2000, 11929, 1998, 2026, 2905, 2003, 27395, 2000, 18551, 1012, 102]
_LOWEST_COSINE: Final = 0.95


@dataclass(frozen=True)
class Tuned:
    """Our own part of a model.  digest: of its file.  tensors: by name, float32."""

    name: str
    digest: str
    tensors: Mapping[str, Array]


class Encode(Protocol):
    """Runs the encoder.  ids: of one window, with its marks.  Shape of the answer: (tokens, 384)."""

    def __call__(self, ids: list[int]) -> Array: ...


def read_tuned(name: str, folder: Path = FOLDER) -> Tuned:
    """Raises AdapterError for a file that is missing or not the one that was trained."""
    try:
        digests: dict[str, str] = json.loads((folder / "checksums.json").read_bytes())
        content = (folder / f"{name}.safetensors").read_bytes()
    except (OSError, ValueError) as error:
        raise AdapterError(f"The model {name} cannot be read.", permanent=False) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != digests.get(name):
        raise AdapterError(f"The model {name} is not the one that was trained.", permanent=False)
    return Tuned(name=name, digest=digest, tensors=_tensors(content))


def _tensors(content: bytes) -> dict[str, Array]:
    """Of a safetensors file: header length 8, little-endian | header, JSON | tensors."""
    (length,) = struct.unpack("<Q", content[:8])
    header: dict[str, Any] = json.loads(content[8 : 8 + length])
    found: dict[str, Array] = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        raw: NDArray[Any] = np.frombuffer(content[8 + length + start : 8 + length + end], _KINDS[entry["dtype"]])
        found[name] = raw.astype(np.float32).reshape(entry["shape"])
    return found


def merged(base: Weights, tuned: Tuned) -> Weights:
    """The encoder's weights with ours added to them."""
    return replace(base, layers=tuple(_layer(layer, number, tuned) for number, layer in enumerate(base.layers)))


def _layer(layer: Layer, number: int, tuned: Tuned) -> Layer:
    def changed(linear: Linear, name: str) -> Linear:
        """The matrix is (in, out); a: (rank, in), b: (out, rank)."""
        down, up = tuned.tensors[f"layers.{number}.{name}.a"], tuned.tensors[f"layers.{number}.{name}.b"]
        return Linear(linear.matrix + (up @ down).T, linear.bias)

    return replace(
        layer,
        qkv=changed(layer.qkv, "qkv"),
        attention_out=changed(layer.attention_out, "attention_out"),
        up=changed(layer.up, "up"),
        down=changed(layer.down, "down"),
    )


def load_encoder(tuned: Tuned, base: Weights, cache_folder: Path | None) -> Encode:
    """onnxruntime with 8-bit weights, or numpy where that fails for whatever reason."""
    try:
        return _load_onnx(tuned, base, cache_folder)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors share no narrower base, and numpy needs none of it
        logger.warning("onnxruntime cannot run a classifier here; numpy will", extra={"error": type(error).__name__})
    return numpy_encoder(tuned, base)


def numpy_encoder(tuned: Tuned, base: Weights) -> Encode:
    weights = merged(base, tuned)
    return lambda ids: encode_tokens(weights, [ids])


def _load_onnx(tuned: Tuned, base: Weights, cache_folder: Path | None) -> Encode:
    # Imported here, so that a platform without onnxruntime still gets as far as numpy.
    from apps.adapters.embedders.minilm.runtime import OnnxTokens

    graph = _read_or_build(cache_folder, f"{tuned.name}-{tuned.digest[:16]}", lambda: _build_checked(tuned, base))
    return OnnxTokens(graph)


def _build_checked(tuned: Tuned, base: Weights) -> bytes:
    # Imported here, because onnx takes long to import and only a build needs it.
    from apps.adapters.embedders.minilm.onnx_graph import build_token_graph
    from apps.adapters.embedders.minilm.runtime import OnnxTokens

    graph = build_token_graph(merged(base, tuned))
    exact, made = numpy_encoder(tuned, base)(_PROBE), OnnxTokens(graph)(_PROBE)
    cosines = np.sum(exact * made, axis=1) / (np.linalg.norm(exact, axis=1) * np.linalg.norm(made, axis=1))
    if not cosines.min() >= _LOWEST_COSINE:  # "not >=", so that NaN is refused too
        raise WrongGraphError(f"The new graph's lowest cosine to the model is {cosines.min():.3f}.")
    return graph


def _read_or_build(cache_folder: Path | None, name: str, build: Callable[[], bytes]) -> bytes:
    if cache_folder is None:
        return build()
    try:
        return graph_file.read_or_build(cache_folder, build, name=graph_file.file_name(name))
    except OSError as error:
        logger.warning(
            "a classifier's folder cannot be used; every process builds its own graph",
            extra={"error": type(error).__name__},
        )
    return build()
