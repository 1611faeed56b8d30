"""``python -m training.relevance``: fit the relevance of hits, and report how well it is calibrated on unseen writers.

Every candidate of every question is an example, also of the questions that nothing answers: those that the writers
asked about what was never said, and those of ``nothing.jsonl``, which no life answers.  Takes torch.
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
from apps.recall.relevance import INPUTS, WEIGHTS_FILE, inputs
from training.corpus import Split, authors
from training.ranking import Asked, asked_in

REPORT: Final = Path(__file__).parent / "relevance_report.json"
SHOWN: Final = 10  # best candidates of a question, which a caller may see
DECAY: Final = 1e-4
FLOORS: Final = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1)
BINS: Final = 10
SHARE: Final = 50  # questions about nothing for each conversation


@dataclass(frozen=True, slots=True)
class Shown:
    """The best candidates of one question: inputs (candidates, INPUTS), which of them answer, and its category."""

    values: NDArray[np.float64]
    right: NDArray[np.bool_]
    category: str


def shown_in(split: Split, embedder: Embedder) -> list[Shown]:
    nothing = [one["ask"] for author in authors("train" if split == "train" else "test") for one in author.nothing]
    found = []
    for author in authors(split):
        for number, conversation in enumerate(author.conversations):
            about_nothing = [
                {"question": nothing[(SHARE * number + place) % len(nothing)], "category": "nothing", "gold": []}
                for place in range(SHARE)
            ]
            asked = asked_in({**conversation, "questions": [*conversation["questions"], *about_nothing]}, embedder)
            found += [_shown(one) for one in asked]
    return found


def _shown(one: Asked) -> Shown:
    values = dict(zip((each.id for each in one.candidates), inputs(one.candidates), strict=True))
    right = {one.candidates[place].id for place in one.right}
    best = [each.id for each in rank_default(one.candidates)[:SHOWN]]
    return Shown(
        np.array([values[place] for place in best], float).reshape(-1, len(INPUTS)),
        np.array([place in right for place in best], bool),
        one.category,
    )


def fit(shown: Sequence[Shown]) -> dict[str, float]:
    """The weight of each input, and the bias."""
    torch.set_num_threads(1)
    rows = torch.from_numpy(np.concatenate([one.values for one in shown]))
    right = torch.from_numpy(np.concatenate([one.right for one in shown]).astype(float))
    weights = torch.zeros(len(INPUTS) + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=400, line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimizer.zero_grad()
        raw = rows @ weights[:-1] + weights[-1]
        total = torch.nn.functional.binary_cross_entropy_with_logits(raw, right) + DECAY * weights[:-1].square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    made = weights.detach().numpy().round(4).tolist()
    return {**dict(zip(INPUTS, made[:-1], strict=True)), "bias": made[-1]}


def report(shown: Sequence[Shown], fitted: Mapping[str, float]) -> dict[str, Any]:
    """Expected calibration error (Guo et al. 2017), and what each floor would leave out.

    lost: share of the answers shown that would not be.  empty: share of the questions left without a hit, by category.
    """
    weights = np.array([fitted[name] for name in INPUTS])
    chances = [1 / (1 + np.exp(-(one.values @ weights + fitted["bias"]))) for one in shown]
    every, right = np.concatenate(chances), np.concatenate([one.right for one in shown])
    places = np.minimum((every * BINS).astype(int), BINS - 1)
    error = sum(
        abs(every[places == place].mean() - right[places == place].mean()) * (places == place).mean()
        for place in range(BINS)
        if (places == place).any()
    )
    return {
        "hits": len(every),
        "calibration_error": round(float(error), 4),
        "floors": {
            str(floor): {
                "lost": round(float((every[right] < floor).mean()), 4),
                "empty": _empty(shown, [(one < floor).all() for one in chances]),
            }
            for floor in FLOORS
        },
    }


def _empty(shown: Sequence[Shown], is_empty: Sequence[bool]) -> dict[str, float]:
    found: dict[str, list[bool]] = {}
    for one, empty in zip(shown, is_empty, strict=True):
        found.setdefault(one.category, []).append(empty)
    return {name: round(float(np.mean(found[name])), 3) for name in sorted(found)}


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
