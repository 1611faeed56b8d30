"""``python -m training.short``: fit the head that decides which short turns are worth keeping, and write its weights.

Multinomial logistic regression on what the reader of turns computes, at 8 bits, as it serves, beginning with the head
"keep" and held near it.  The reader itself stays as it is.  Takes torch.  Run it again after the reader has changed.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from apps.adapters.classifiers.base import OUTCOMES
from apps.adapters.classifiers.encoder import load_encoder
from apps.adapters.classifiers.turns import is_short, token_vectors
from apps.adapters.embedders.minilm.low_rank import FOLDER, read_tuned
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training.corpus import authors
from training.reader import SMOOTHING
from training.train import write_report, write_weights
from training.turns import Turn, short_of, turns_of

WORTH: Final = 0.5  # weight of a turn of SHORT.md to keep: most of what people say so shortly is not
DECAY: Final = 3e-3  # of the distance from the head "keep"

Example = tuple[NDArray[np.float32], int, float]  # input of the head, number of the outcome, weight
Head = dict[str, NDArray[np.float16]]


def examples(weights: Path) -> Iterator[Example]:
    """Each short turn of the ``train`` authors.  weights: the folder of the reader's."""
    folder, tuned = find_model_folder(), read_tuned("turns", weights)
    encode, tokenizer = load_encoder(tuned, folder, None), WordPiece(read_vocabulary(folder))
    for turn in _turns(tokenizer):
        (one,) = turn.sentences
        if one.outcome is not None:
            outcome, weight = one.outcome
            yield token_vectors(encode, turn.tokens)[slice(*one.tokens)].mean(0), OUTCOMES.index(outcome), weight


def _turns(tokenizer: WordPiece) -> Iterator[Turn]:
    for author in authors("train"):
        yield from short_of(author, tokenizer, worth=WORTH)
        for turn in turns_of(author, tokenizer):
            # One turn cannot show whether something is a repetition.
            is_known = turn.said is not None and all(one.reason != "redundant" for one in turn.said.dropped)
            if is_known and is_short(turn.text, [one.span for one in turn.sentences]):
                yield turn


def fit(found: Sequence[Example], weights: Path) -> Head:
    """The head's tensors by name."""
    torch.set_num_threads(1)
    tensors = read_tuned("turns", weights).tensors
    begin, bias = (torch.tensor(tensors[f"keep.{name}"], dtype=torch.float32) for name in ("weight", "bias"))
    given = torch.tensor(np.array([one[0] for one in found], np.float32))
    right, counts = torch.tensor([one[1] for one in found]), torch.tensor([one[2] for one in found])
    change, shift = torch.zeros_like(begin, requires_grad=True), bias.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([change, shift], max_iter=150, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = given @ (begin + change).T + shift
        losses = cross_entropy(logits, right, reduction="none", label_smoothing=SMOOTHING)
        total = (losses * counts).sum() / counts.sum() + DECAY * change.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    made = {"short.bias": shift, "short.weight": begin + change}
    return {name: tensor.detach().numpy().astype("<f2") for name, tensor in made.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.short", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where the weights are and go")
    options = parser.parse_args()
    write_weights(options.out, "short", fit(list(examples(options.out)), options.out))
    if options.out == FOLDER:
        write_report()


if __name__ == "__main__":
    main()
