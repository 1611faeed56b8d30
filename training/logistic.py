"""Logistic regression on standardized features, by L-BFGS, with an L2 penalty.  Takes torch."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

Rows = NDArray[np.float32]


def fit_logistic(
    given: Rows, right: Rows, counts: Rows, *, decay: float, least_spread: float, steps: int
) -> tuple[Rows, float]:
    """(weights, bias) for features as given.

    given: (examples, features).  right: targets, 0 or 1.  counts: weights of the examples.  decay: of the penalty.
    least_spread: added to each feature's standard deviation.  steps: at most.
    """
    torch.set_num_threads(1)
    mean, spread = given.mean(0), given.std(0) + least_spread
    rows, wanted, weighed = torch.tensor((given - mean) / spread), torch.tensor(right), torch.tensor(counts)
    weights = torch.zeros(given.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=steps, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        losses = binary_cross_entropy_with_logits(rows @ weights[:-1] + weights[-1], wanted, reduction="none")
        total = (losses * weighed).mean() + decay * weights[:-1].square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    made = weights.detach().numpy()
    scaled = made[:-1] / spread
    return scaled, float(made[-1] - scaled @ mean)
