"""The encoder in torch: the package's frozen layers, with a trainable low-rank update for each matrix.

BERT encoder (Devlin et al. 2018) with the weights of all-MiniLM-L6-v2; updates as in LoRA (Hu et al. 2021).  Matrix
products use bfloat16, which AMX makes several times as fast; residual sums and trained parameters are float32.  Running
a model does not need this module.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from apps.adapters.classifiers.base import Span
from apps.adapters.classifiers.tokens import Tokens
from apps.adapters.embedders.minilm.low_rank import Tuned
from apps.adapters.embedders.minilm.weights import (
    DIMENSIONS,
    HEADS,
    LAYER_NORM_EPSILON,
    Layer,
    Linear,
    ModelWeights,
    Norm,
)

Item = TypeVar("Item")

RANK: Final = 16
SCALE: Final = 2.0
DROPOUT: Final = 0.1
NO_TOKEN: Final = -1e4  # added to attention scores of padding, so that it gets no attention
CHUNK: Final = 16  # windows that run through the encoder together
MATRICES: Final = ("qkv", "attention_out", "up", "down")


def compared(row: Tensor, first: Span, second: Span) -> Tensor:
    """As ``apps.adapters.classifiers.heads.compared``."""
    one, other = row[slice(*first)].mean(0), row[slice(*second)].mean(0)
    return torch.cat([row[0], one, other, (one - other).abs()])


def in_chunks(items: Sequence[Item], run: Callable[[list[Item]], Tensor], *, length: Callable[[Item], int]) -> Tensor:
    """What ``run`` returns of all items, in their order.  Those of similar length run together, so that little is
    padding."""
    order = sorted(range(len(items)), key=lambda place: length(items[place]))
    found = [run([items[place] for place in order[at : at + CHUNK]]) for at in range(0, len(order), CHUNK)]
    return torch.cat(found)[torch.tensor(order).argsort()]


class Changed(nn.Module):
    """x W + b as in the package, plus the trained SCALE * B A x."""

    def __init__(self, weights: Linear, rank: int) -> None:
        super().__init__()
        rows, columns = weights.matrix.shape
        self.register_buffer("matrix", torch.from_numpy(np.array(weights.matrix)).bfloat16())
        self.register_buffer("bias", torch.from_numpy(np.array(weights.bias)).bfloat16())
        self.a = nn.Parameter(torch.randn(rank, rows) * 0.02)
        self.b = nn.Parameter(torch.zeros(columns, rank))

    def forward(self, rows: Tensor) -> Tensor:
        flat = rows.bfloat16().flatten(0, 1)
        change = torch.addmm(self.bias, flat @ self.a.T.bfloat16(), (self.b.T * SCALE).bfloat16())
        return torch.addmm(change, flat, self.matrix).view(*rows.shape[:-1], -1)


def _norm(weights: Norm) -> nn.LayerNorm:
    made = nn.LayerNorm(len(weights.scale), eps=LAYER_NORM_EPSILON)
    with torch.no_grad():
        made.weight.copy_(torch.from_numpy(np.array(weights.scale)))
        made.bias.copy_(torch.from_numpy(np.array(weights.shift)))
    return made.requires_grad_(False)


class Block(nn.Module):
    """One layer."""

    def __init__(self, weights: Layer, dropout: float, rank: int) -> None:
        super().__init__()
        self.qkv, self.attention_out = Changed(weights.qkv, rank), Changed(weights.attention_out, rank)
        self.up, self.down = Changed(weights.up, rank), Changed(weights.down, rank)
        self.attention_norm, self.norm = _norm(weights.attention_norm), _norm(weights.norm)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """rows: (windows, tokens, 384).  mask: (windows, 1, 1, tokens), 0 for a token, NO_TOKEN for padding."""
        count, length, _ = rows.shape
        query, key, value = (
            part.view(count, length, HEADS, -1).transpose(1, 2) for part in self.qkv(rows).split(DIMENSIONS, dim=-1)
        )
        scores = (query / math.sqrt(DIMENSIONS // HEADS)) @ key.transpose(-1, -2) + mask
        attended = (scores.softmax(-1) @ value).transpose(1, 2).reshape(count, length, DIMENSIONS)
        rows = self.attention_norm(rows + self.dropout(self.attention_out(attended)))
        return self.norm(rows + self.dropout(self.down(nn.functional.gelu(self.up(rows)))))


class Encoder(nn.Module):
    """All six layers."""

    def __init__(self, weights: ModelWeights, dropout: float = DROPOUT, rank: int = RANK) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(layer, dropout, rank) for layer in weights.layers])
        self._words = torch.from_numpy(np.array(weights.words))
        self._positions = torch.from_numpy(np.array(weights.positions))
        self._norm = _norm(weights.norm)

    def forward(self, windows: Sequence[Sequence[int]]) -> Tensor:
        """windows: token ids with [CLS] and [SEP].  Returns (windows, most tokens, 384), padded at the end."""
        most = max(len(ids) for ids in windows)
        rows = torch.zeros(len(windows), most, DIMENSIONS)
        mask = torch.full((len(windows), 1, 1, most), NO_TOKEN, dtype=torch.bfloat16)
        for place, ids in enumerate(windows):
            rows[place, : len(ids)] = self._norm(self._words[list(ids)] + self._positions[: len(ids)])
            mask[place, ..., : len(ids)] = 0
        for block in self.blocks:
            rows = block(rows, mask)
        return rows

    def texts(self, batch: Sequence[Tokens]) -> list[Tensor]:
        """For each text (tokens, 384), without the special tokens of its windows."""
        windows = [list(tokens.windows()) for tokens in batch]
        rows = iter(self([ids for one in windows for ids in one]))
        return [torch.cat([next(rows)[1 : len(ids) - 1] for ids in one]) for one in windows]

    def begin_with(self, tuned: Tuned) -> None:
        """Start from the updates of another model."""
        for number, block in enumerate(self.blocks):
            for name in MATRICES:
                changed = getattr(block, name)
                with torch.no_grad():
                    changed.a.copy_(torch.from_numpy(tuned.tensors[f"layers.{number}.{name}.a"]))
                    changed.b.copy_(torch.from_numpy(tuned.tensors[f"layers.{number}.{name}.b"]) / SCALE)

    def changes(self) -> dict[str, Tensor]:
        """The trained parameters by name, in the form that ``apps.adapters.embedders.minilm.low_rank`` reads."""
        found: dict[str, Tensor] = {}
        for number, block in enumerate(self.blocks):
            for name in MATRICES:
                changed = getattr(block, name)
                found[f"layers.{number}.{name}.a"] = changed.a
                found[f"layers.{number}.{name}.b"] = changed.b * SCALE
        return found
