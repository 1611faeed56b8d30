"""``python -m training.style``: fit the head that finds wishes about the style of answers, and write its weights.

A logistic regression on what the reader of turns computes, at 8 bits, as it serves.  The reader itself stays as it is,
so nothing else changes.  Takes torch.  Run it again after the reader has changed.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.classifiers.encoder import load_encoder
from apps.adapters.classifiers.turns import style_input, token_vectors
from apps.adapters.embedders.minilm.low_rank import FOLDER, read_tuned
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from training.corpus import Author, authors
from training.logistic import fit_logistic
from training.train import write_report, write_weights
from training.turns import Turn, turns_of, wishes_of

SPOKEN: Final = 4  # one turn in so many of those that were written for other questions
DECAY: Final = 1e-3

Example = tuple[NDArray[np.float32], float, float]  # input of the head, target, weight


def examples(weights: Path) -> Iterator[Example]:
    """Each sentence of the ``train`` authors of which it is known whether it is a wish about style.

    weights: the folder of the reader's.
    """
    folder, tuned = find_model_folder(), read_tuned("turns", weights)
    encode, tokenizer = load_encoder(tuned, folder, None), WordPiece(read_vocabulary(folder))
    for author in authors("train"):
        for turn in _turns(author, tokenizer):
            if not any(one.style[1] for one in turn.sentences):
                continue
            rows = token_vectors(encode, turn.tokens)
            whole = rows.mean(0)
            for one in turn.sentences:
                if one.style[1]:
                    yield style_input(rows[slice(*one.tokens)], whole), *one.style


def _turns(author: Author, tokenizer: WordPiece) -> Iterator[Turn]:
    yield from wishes_of(author, tokenizer)
    for number, turn in enumerate(turns_of(author, tokenizer)):
        if turn.kind != "spoken" or number % SPOKEN == 0:
            yield turn


def fit(found: Sequence[Example]) -> dict[str, NDArray[np.float16]]:
    """The head's tensors by name."""
    given, right, counts = (np.array(one, np.float32) for one in zip(*found, strict=True))
    weights, bias = fit_logistic(given, right, counts, decay=DECAY, least_spread=1e-3, steps=200)
    return {"style.bias": np.array([bias], "<f2"), "style.weight": weights[None, :].astype("<f2")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.style", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where the weights are and go")
    options = parser.parse_args()
    write_weights(options.out, "style", fit(list(examples(options.out))))
    if options.out == FOLDER:
        write_report()


if __name__ == "__main__":
    main()
