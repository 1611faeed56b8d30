"""Our own low-rank updates of all-MiniLM-L6-v2: read, verified, and merged into its weights.

Hu et al. 2021 (LoRA): a low-rank product B A is added to each matrix W.  It is merged once, so it costs nothing more.
``python -m training.train`` writes the updates.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from apps.adapters.embedders.minilm.weights import Array, Layer, Linear, ModelWeights, map_safetensors
from apps.adapters.errors import AdapterError

FOLDER: Final = Path(__file__).parents[2] / "weights"


@dataclass(frozen=True)
class Tuned:
    """Our own weights of a model.  digest: of the file.  tensors: by name, float32."""

    name: str
    digest: str
    tensors: Mapping[str, Array]

    @property
    def file_stem(self) -> str:
        """Start of the name of this model's graph in the cache."""
        return f"{self.name}-{self.digest[:16]}"


def read_tuned(name: str, folder: Path = FOLDER) -> Tuned:
    """Read our own weights.  Raises AdapterError for a file that is missing or does not match its checksum."""
    path = folder / f"{name}.safetensors"
    try:
        digests: dict[str, str] = json.loads((folder / "checksums.json").read_bytes())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        raise AdapterError(f"The model {name} cannot be read.", permanent=False) from error
    if digest != digests.get(name):
        raise AdapterError(f"The model {name} is not the one that was trained.", permanent=False)
    return Tuned(
        name=name, digest=digest, tensors={name: one.astype(np.float32) for name, one in map_safetensors(path).items()}
    )


def merged(base: ModelWeights, tuned: Tuned) -> ModelWeights:
    """The encoder's weights with our updates added."""
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
