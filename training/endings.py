"""``python -m training.endings``: fit the heads that say whether an earlier statement is over or repeated.

Two logistic regressions on what the comparer computes, at 8 bits, as it serves, and on the relatedness of the two
statements.  The comparer itself stays as it is.  Writes their weights and prints OVER and REPEATED, which stand in
``apps/ingest/relatedness.py``.  Takes torch.  Run it again after the comparer has changed.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.classifiers.encoder import load_encoder
from apps.adapters.classifiers.pairs import hidden_layer, pair
from apps.adapters.embedders.local import FineTunedEmbedder
from apps.adapters.embedders.minilm.low_rank import FOLDER, read_tuned
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.ingest.relatedness import log_odds
from training.changes import related_of, repetitions
from training.corpus import authors
from training.logistic import fit_logistic
from training.train import write_report, write_weights

DECAY: Final = {"over": 0.03, "repeated": 0.003}
REDUNDANT: Final = 0.5  # weight of a turn that only repeats another


@dataclass(frozen=True, slots=True)
class Example:
    """row: input of the heads and the log-odds of relatedness.  weight: below 1 for whole turns, of which only the head
    "repeated" learns."""

    row: NDArray[np.float32]
    is_over: bool
    is_repeated: bool
    weight: float = 1.0


def examples(weights: Path) -> Iterator[Example]:
    """Each pair by the ``train`` authors of which the relation is known.  weights: the folder of the comparer's."""
    folder, tuned, embedder = find_model_folder(), read_tuned("pairs", weights), FineTunedEmbedder()
    encode, tokenizer = load_encoder(tuned, folder, None), WordPiece(read_vocabulary(folder))
    for author in authors("train"):
        known = [((one.later, one.earlier), (one.is_over, one.is_repeated, 1.0)) for one in author.endings]
        known += [((one.later, one.earlier), (one.is_over, False, 1.0)) for one in author.parallel]
        known += [(texts, (False, True, REDUNDANT)) for texts in repetitions(author)]
        chances = related_of([texts for texts, _ in known], embedder)
        for (texts, labels), related in zip(known, chances, strict=True):
            one = pair(*texts, tokenizer)
            if one.words and one.later[0] < one.later[1]:
                row = hidden_layer(tuned.tensors, encode(one.ids), one)
                yield Example(np.append(row, log_odds(related)).astype(np.float32), *labels)


def fit(found: Sequence[Example]) -> tuple[dict[str, NDArray[np.float16]], dict[str, float]]:
    """The heads' tensors by name, and the exponent of relatedness for each head."""
    statements = [one for one in found if one.weight == 1]
    given = {
        "over": [(one.row, one.is_over, one.weight) for one in statements],
        "repeated": [(one.row, one.is_repeated, one.weight) for one in found],
    }
    tensors: dict[str, NDArray[np.float16]] = {}
    exponents: dict[str, float] = {}
    for name, rows in given.items():
        columns = (np.array(one, np.float32) for one in zip(*rows, strict=True))
        weights, bias = fit_logistic(*columns, decay=DECAY[name], least_spread=1e-3, steps=200)
        tensors |= {f"{name}.bias": np.array([bias], "<f2"), f"{name}.weight": weights[None, :-1].astype("<f2")}
        exponents[name] = float(weights[-1])
    return tensors, exponents


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.endings", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where the weights are and go")
    options = parser.parse_args()
    heads, exponents = fit(list(examples(options.out)))
    write_weights(options.out, "endings", heads)
    print(*(f"{name.upper()} = {exponent:.2f}" for name, exponent in exponents.items()))
    if options.out == FOLDER:
        write_report()


if __name__ == "__main__":
    main()
