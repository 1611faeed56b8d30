"""The comparer of two statements in torch: an encoder, begun with the updates of the reranker, its heads, and its loss.

relation: from [CLS], the means of the later and the earlier statement, and their absolute difference, with a hidden
layer.
ended: from the mean of each word of the earlier statement, whether it ended.
limits: from the same, whether it is the first and whether it is the last of the words that ended, as in reading
comprehension (Devlin et al. 2018).  It is learned beside the others and not part of the weights: as a choice of words
it is no better than "ended".
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, gelu

from apps.adapters.classifiers.base import CHANGES, RELATIONS
from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.adapters.embedders.minilm.weights import DIMENSIONS, ModelWeights
from training.changes import HOLDS, OVER, Change
from training.encoder import DROPOUT, Encoder, compared

HIDDEN: Final = 192
SMOOTHING: Final = 0.05
WORDS_WEIGHT: Final = 2.0
LIMITS_WEIGHT: Final = 0.5
# Numbers of the relations that each label leaves possible.
_POSSIBLE: Final = {name: [number] for number, name in enumerate(RELATIONS)} | {
    HOLDS: [number for number, name in enumerate(RELATIONS) if name not in CHANGES],
    OVER: [number for number, name in enumerate(RELATIONS) if name in CHANGES],
}


class Comparer(nn.Module):
    def __init__(self, weights: ModelWeights) -> None:
        super().__init__()
        self.encoder = Encoder(weights)
        self.encoder.begin_with(read_tuned("rerank"))
        self.dropout = nn.Dropout(DROPOUT)
        self.heads = nn.ModuleDict(
            {
                "hidden": nn.Linear(4 * DIMENSIONS, HIDDEN),
                "relation": nn.Linear(HIDDEN, len(RELATIONS)),
                "ended": nn.Linear(DIMENSIONS, 1),
            }
        )
        self.limits = nn.Linear(DIMENSIONS, 2)

    def forward(self, batch: Sequence[Change]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Logits of the relations, (pairs, 5), and for each pair those of its words, (words,) and (words, 2)."""
        rows = self.encoder([one.pair.ids for one in batch])
        both, ended, limits = [], [], []
        for row, one in zip(rows, batch, strict=True):
            both.append(compared(row, one.pair.later, one.pair.earlier))
            words = self.dropout(torch.stack([row[slice(*word)].mean(0) for word in one.pair.words]))
            ended.append(self.heads["ended"](words)[:, 0])
            limits.append(self.limits(words))
        hidden = gelu(self.heads["hidden"](self.dropout(torch.stack(both))))
        return self.heads["relation"](hidden), ended, limits

    def loss(self, batch: Sequence[Change]) -> Tensor:
        relations, ended, limits = self(batch)
        chances = relations.log_softmax(-1)
        right = [row[_POSSIBLE[one.relation]].logsumexp(0) for row, one in zip(chances, batch, strict=True)]
        losses = -(1 - SMOOTHING) * torch.stack(right) - SMOOTHING * chances.mean(-1)
        total = (losses * torch.tensor([one.weight for one in batch])).mean()
        words = [
            WORDS_WEIGHT * binary_cross_entropy_with_logits(logits, torch.tensor(one.ended, dtype=torch.float32))
            + LIMITS_WEIGHT * _limits_loss(ends, one.ended)
            for logits, ends, one in zip(ended, limits, batch, strict=True)
            if one.relation in {*CHANGES, OVER}
        ]
        return total + torch.stack(words).sum() / len(batch) if words else total


def _limits_loss(logits: Tensor, ended: Sequence[bool]) -> Tensor:
    """Negative log-likelihood that the first and the last word are those of one of the runs that ended; 0 for none."""
    framed = [False, *ended, False]
    first = [place for place, one in enumerate(ended) if one and not framed[place]]
    last = [place for place, one in enumerate(ended) if one and not framed[place + 2]]
    if not first:
        return logits.sum() * 0
    chances = logits.log_softmax(0)
    return -(chances[first, 0] + chances[last, 1]).logsumexp(0)
