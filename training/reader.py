"""The reader of turns in torch: an encoder with five heads, and its loss.

Inputs of the heads: keep and forbidden use the mean of a sentence's tokens, types the mean of a statement's tokens,
secret each token, and turn the mean and maximum of all tokens of the turn.
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from apps.adapters.classifiers.base import OUTCOMES, TYPES
from apps.adapters.embedders.minilm.weights import DIMENSIONS, ModelWeights
from training.encoder import DROPOUT, Encoder
from training.turns import Turn

RANK: Final = 32  # of its updates: 16 keeps more junk and misses more secrets
SMOOTHING: Final = 0.05
TYPE_WEIGHT: Final = 2.0


class Reader(nn.Module):
    def __init__(self, weights: ModelWeights) -> None:
        super().__init__()
        self.encoder = Encoder(weights, rank=RANK)
        self.dropout = nn.Dropout(DROPOUT)
        self.heads = nn.ModuleDict(
            {
                "keep": nn.Linear(DIMENSIONS, len(OUTCOMES)),
                "types": nn.Linear(DIMENSIONS, len(TYPES)),
                "forbidden": nn.Linear(DIMENSIONS, 1),
                "secret": nn.Linear(DIMENSIONS, 1),
                "turn": nn.Linear(2 * DIMENSIONS, 1),
            }
        )

    def loss(self, batch: Sequence[Turn]) -> Tensor:
        rows = self.encoder.texts([turn.tokens for turn in batch])
        sentences = [
            (one, rows[n][slice(*one.tokens)].mean(0)) for n, turn in enumerate(batch) for one in turn.sentences
        ]
        vectors = self.dropout(torch.stack([vector for _, vector in sentences]))
        total = self._keep_loss([one.outcome for one, _ in sentences], vectors)
        total = total + _weighted(self.heads["forbidden"](vectors)[:, 0], [one.forbidden for one, _ in sentences])
        whole = torch.stack([torch.cat([row.mean(0), row.max(0).values]) for row in rows])
        logits = self.heads["turn"](self.dropout(whole))[:, 0]
        total = total + binary_cross_entropy_with_logits(logits, torch.tensor([turn.forbidden for turn in batch]))
        total = total + self._secret_loss(batch, rows)
        typed = [
            (rows[n][slice(*reached)].mean(0), types) for n, turn in enumerate(batch) for reached, types in turn.types
        ]
        if typed:
            logits = self.heads["types"](self.dropout(torch.stack([vector for vector, _ in typed])))
            right = torch.tensor([[types.get(name, 0.0) for name in TYPES] for _, types in typed])
            total = total + TYPE_WEIGHT * binary_cross_entropy_with_logits(logits, right)
        return total

    def _keep_loss(self, outcomes: Sequence[tuple[str, float] | None], vectors: Tensor) -> Tensor:
        known = [(n, outcome) for n, outcome in enumerate(outcomes) if outcome is not None]
        if not known:
            return torch.zeros(())
        logits = self.heads["keep"](vectors[[n for n, _ in known]])
        right = torch.tensor([OUTCOMES.index(name) for _, (name, _) in known])
        losses = cross_entropy(logits, right, reduction="none", label_smoothing=SMOOTHING)
        return (losses * torch.tensor([weight for _, (_, weight) in known])).sum() / len(outcomes)

    def _secret_loss(self, batch: Sequence[Turn], rows: Sequence[Tensor]) -> Tensor:
        """The mean over turns, so that a long turn counts as much as a short one; the rest weighs twice the secret."""
        losses = []
        for turn, row in zip(batch, rows, strict=True):
            if turn.secret_weight == 0 or (turn.forbidden and turn.secret is None):
                continue
            logits = self.heads["secret"](self.dropout(row))[:, 0]
            right = torch.zeros(len(logits))
            if turn.secret is not None:
                right[slice(*turn.secret)] = 1.0
            each = binary_cross_entropy_with_logits(logits, right, reduction="none")
            inside = each[right > 0].mean() if turn.secret is not None else torch.zeros(())
            losses.append(turn.secret_weight * (each[right == 0].sum() / max(1, int((right == 0).sum())) * 2 + inside))
        return torch.stack(losses).sum() / len(batch) if losses else torch.zeros(())


def _weighted(logits: Tensor, right: Sequence[tuple[float, float]]) -> Tensor:
    losses = binary_cross_entropy_with_logits(logits, torch.tensor([value for value, _ in right]), reduction="none")
    return (losses * torch.tensor([weight for _, weight in right])).mean()
