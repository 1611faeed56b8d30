"""``python -m training.relevance``: fit the relevance of hits, and report how well it is calibrated on unseen writers.

Every candidate of every question is an example, also of the questions that nothing answers: those that the writers
asked about what was never said, and those of ``nothing.jsonl``, which no life answers.  A hidden layer, because what
makes a hit relevant adds up to less where nothing is near.  Takes torch.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.embedders.local import FineTunedEmbedder
from apps.recall.default_ranking import rank_default
from apps.recall.relevance import INPUTS, WEIGHTS_FILE, Network, inputs
from training.corpus import Split, about_nothing, authors
from training.ranking import Asked, asked_in

REPORT: Final = Path(__file__).parent / "relevance_report.json"
SHOWN: Final = 10  # best candidates of a question, which a caller may see
UNITS: Final = 8  # of the hidden layer
STEPS: Final = 400
RATE: Final = 0.03
DECAY: Final = 1e-5
FLOORS: Final = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
BINS: Final = 10
SHARE: Final = 50  # questions about nothing for each conversation


@dataclass(frozen=True, slots=True)
class Shown:
    """The best candidates of one question: inputs (candidates, INPUTS), which of them answer, and its category.

    alone: inputs of each that answers, in a shortlist of its own.
    """

    values: NDArray[np.float64]
    right: NDArray[np.bool_]
    alone: NDArray[np.float64]
    category: str


def shown_in(split: Split, embedder: Embedder) -> list[Shown]:
    nothing = about_nothing(split)
    found = []
    for author in authors(split):
        for number, conversation in enumerate(author.conversations):
            drawn = [nothing[(SHARE * number + place) % len(nothing)] for place in range(SHARE)]
            asked = asked_in({**conversation, "questions": [*conversation["questions"], *drawn]}, embedder)
            found += [_shown(one) for one in asked]
    return found


def _shown(one: Asked) -> Shown:
    values = dict(zip((each.id for each in one.candidates), inputs(one.candidates), strict=True))
    right = {one.candidates[place].id for place in one.right}
    best = [each.id for each in rank_default(one.candidates)[:SHOWN]]
    return Shown(
        np.array([values[place] for place in best], float).reshape(-1, len(INPUTS)),
        np.array([place in right for place in best], bool),
        np.array([inputs([each])[0] for each in one.candidates if each.id in right], float).reshape(-1, len(INPUTS)),
        one.category,
    )


def fit(shown: Sequence[Shown]) -> dict[str, Any]:
    """The weights, as ``apps.recall.relevance`` reads them."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = np.concatenate([one.values for one in shown])
    right = torch.from_numpy(np.concatenate([one.right for one in shown]).astype(float))
    middle, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = torch.from_numpy((rows - middle) / spread)
    first, last = torch.nn.Linear(len(INPUTS), UNITS).double(), torch.nn.Linear(UNITS, 1).double()
    network = torch.nn.Sequential(first, torch.nn.Tanh(), last)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=DECAY)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(network(scaled)[:, 0], right).backward()
        optimizer.step()
    weights = first.weight.detach().numpy() / spread
    return {
        "hidden": dict(zip(INPUTS, weights.T.round(4).tolist(), strict=True)),
        "hidden_bias": (first.bias.detach().numpy() - weights @ middle).round(4).tolist(),
        "output": last.weight[0].detach().numpy().round(4).tolist(),
        "bias": round(last.bias.item(), 4),
    }


def report(shown: Sequence[Shown], fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Expected calibration error (Guo et al. 2017), and what each floor would leave out.

    lost: share of the answers shown that would not be.  lost alone: the same in spaces that hold nothing else.  empty:
    share of the questions left without a hit, by category.  unanswered: share of all those that have an answer.
    """
    network = Network.of_json(fitted)
    chances = [network.chances(one.values) for one in shown]
    alone = np.concatenate([network.chances(one.alone) for one in shown])
    every, right = np.concatenate(chances), np.concatenate([one.right for one in shown])
    return {
        "hits": len(every),
        "calibration_error": round(calibration_error(every, right), 4),
        "floors": {
            str(floor): {
                "lost": round(float((every[right] < floor).mean()), 4),
                "lost alone": round(float((alone < floor).mean()), 4),
                **_empty(shown, [bool((one < floor).all()) for one in chances]),
            }
            for floor in FLOORS
        },
    }


def calibration_error(chances: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Expected calibration error of these probabilities, 0..1."""
    places = np.minimum((chances * BINS).astype(int), BINS - 1)
    return float(
        sum(
            abs(chances[places == place].mean() - right[places == place].mean()) * (places == place).mean()
            for place in range(BINS)
            if (places == place).any()
        )
    )


def _empty(shown: Sequence[Shown], is_empty: Sequence[bool]) -> dict[str, Any]:
    found: dict[str, list[bool]] = {}
    for one, empty in zip(shown, is_empty, strict=True):
        found.setdefault(one.category, []).append(empty)
    answered = [empty for name, each in found.items() if name not in ("never", "nothing") for empty in each]
    return {
        "unanswered": round(float(np.mean(answered)), 4),
        "empty": {name: round(float(np.mean(found[name])), 3) for name in sorted(found)},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.relevance", description=__doc__)
    parser.add_argument("--out", type=Path, default=WEIGHTS_FILE, metavar="FILE", help="where to write the weights")
    options = parser.parse_args(arguments)
    embedder = FineTunedEmbedder()
    fitted = fit(shown_in("train", embedder))
    options.out.write_text(json.dumps(fitted, indent=2) + "\n")
    made = {split: report(shown_in(split, embedder), fitted) for split in ("validation", "test")}
    print(json.dumps(made, indent=2))
    if options.out == WEIGHTS_FILE:
        REPORT.write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
