"""``python -m training.style``: fit the head that finds wishes about the style of answers, and write its weights.

A logistic regression on what the reader of turns computes, at 8 bits, as it serves.  The reader itself stays as it is,
so nothing else changes.  Takes torch.  Run it again after the reader has changed.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

from apps.adapters.classifiers.encoder import load_encoder
from apps.adapters.classifiers.turns import style_input
from apps.adapters.embedders.minilm.low_rank import FOLDER, read_tuned
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training.corpus import Author, Split, authors
from training.train import REPORT, write
from training.turns import Turn, turns_of, wishes_of

SPOKEN: Final = 4  # one turn in so many of those that were written for other questions
DECAY: Final = 1e-3

Example = tuple[NDArray[np.float32], float, float]  # input of the head, target, weight


def examples(split: Split, weights: Path = FOLDER) -> Iterator[Example]:
    """Each sentence of which it is known whether it is a wish about style."""
    folder, tuned = find_model_folder(), read_tuned("turns", weights)
    encode, tokenizer = load_encoder(tuned, folder, None), WordPiece(read_vocabulary(folder))
    for author in authors(split):
        for turn in _turns(author, tokenizer):
            if not any(one.style[1] for one in turn.sentences):
                continue
            rows = np.concatenate([encode(ids)[1:-1] for ids in turn.tokens.windows()])
            for one in turn.sentences:
                if one.style[1]:
                    yield style_input(rows, one.tokens), *one.style


def _turns(author: Author, tokenizer: WordPiece) -> Iterator[Turn]:
    yield from wishes_of(author, tokenizer)
    for number, turn in enumerate(turns_of(author, tokenizer)):
        if turn.kind != "spoken" or number % SPOKEN == 0:
            yield turn


def fit(found: Sequence[Example]) -> dict[str, NDArray[np.float16]]:
    """The head's tensors by name."""
    torch.set_num_threads(1)
    given = np.stack([one for one, _, _ in found])
    mean, spread = given.mean(0), given.std(0) + 1e-3
    rows, wanted = torch.tensor((given - mean) / spread), torch.tensor([right for _, right, _ in found])
    counts = torch.tensor([weight for _, _, weight in found])
    weights = torch.zeros(given.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        losses = binary_cross_entropy_with_logits(rows @ weights[:-1] + weights[-1], wanted, reduction="none")
        total = (losses * counts).mean() + DECAY * weights[:-1].square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    made = weights.detach().numpy()
    scaled = made[:-1] / spread
    bias = made[-1] - scaled @ mean
    return {"style.bias": np.array([bias], "<f2"), "style.weight": scaled[None, :].astype("<f2")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.style", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where the weights are and go")
    options = parser.parse_args()
    checksums = options.out / "checksums.json"
    digests = json.loads(checksums.read_bytes())
    digests["style"] = write(options.out / "style.safetensors", fit(list(examples("train", options.out))))
    checksums.write_text(json.dumps(digests, indent=2) + "\n")
    print(f"style.safetensors {digests['style']}")
    if options.out == FOLDER:
        from training.report import report

        REPORT.write_text(json.dumps(report("validation"), indent=2) + "\n")


if __name__ == "__main__":
    main()
