"""The comparer of two statements in torch: an encoder with two heads, and its loss.

relation: from [CLS], the means of the later and the earlier statement, and their absolute difference, with a hidden
layer.
ended: from the mean of each word of the earlier statement.
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, gelu

from apps.adapters.classifiers.base import CHANGES, RELATIONS
from apps.adapters.embedders.minilm.weights import DIMENSIONS, ModelWeights
from training.changes import HOLDS, Change
from training.encoder import DROPOUT, Encoder, compared

HIDDEN: Final = 192
SMOOTHING: Final = 0.05
WORDS_WEIGHT: Final = 2.0
_LASTING: Final = [number for number, name in enumerate(RELATIONS) if name not in CHANGES]


class Comparer(nn.Module):
    def __init__(self, weights: ModelWeights) -> None:
        super().__init__()
        self.encoder = Encoder(weights)
        self.dropout = nn.Dropout(DROPOUT)
        self.heads = nn.ModuleDict(
            {
                "hidden": nn.Linear(4 * DIMENSIONS, HIDDEN),
                "relation": nn.Linear(HIDDEN, len(RELATIONS)),
                "ended": nn.Linear(DIMENSIONS, 1),
            }
        )

    def forward(self, batch: Sequence[Change]) -> tuple[Tensor, list[Tensor]]:
        rows = self.encoder([one.pair.ids for one in batch])
        both = []
        ended = []
        for row, one in zip(rows, batch, strict=True):
            both.append(compared(row, one.pair.later, one.pair.earlier))
            words = torch.stack([row[slice(*word)].mean(0) for word in one.pair.words])
            ended.append(self.heads["ended"](self.dropout(words))[:, 0])
        hidden = gelu(self.heads["hidden"](self.dropout(torch.stack(both))))
        return self.heads["relation"](hidden), ended

    def loss(self, batch: Sequence[Change]) -> Tensor:
        relations, ended = self(batch)
        right = torch.tensor([RELATIONS.index(one.relation) if one.relation != HOLDS else 0 for one in batch])
        losses = cross_entropy(relations, right, reduction="none", label_smoothing=SMOOTHING)
        holds = torch.tensor([one.relation == HOLDS for one in batch])
        losses = torch.where(holds, -relations.log_softmax(-1)[:, _LASTING].logsumexp(-1), losses)
        total = (losses * torch.tensor([one.weight for one in batch])).mean()
        words = [
            binary_cross_entropy_with_logits(logits, torch.tensor(one.ended, dtype=torch.float32))
            for logits, one in zip(ended, batch, strict=True)
            if one.relation in CHANGES
        ]
        return total + WORDS_WEIGHT * torch.stack(words).sum() / len(batch) if words else total
