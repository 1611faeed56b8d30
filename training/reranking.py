"""``python -m training.reranking``: fit what the reranker adds to relevance, and report how it does on unseen writers.

It reads the best candidates of each question as recall does, by the code that serves, at 8 bits.  Neither model has
learned from the ``validation`` writers, whose questions the weights are fitted on, but for those about nothing; the
``test`` writers are only measured.  Takes torch, as the lists do.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.minilm.low_rank import read_tuned
from apps.adapters.rerankers.local import LocalReranker
from apps.recall.ranking import build_ranked, rerank_default
from apps.recall.relevance import REREAD_FILE, RereadWeights, log_odds
from training.corpus import Split
from training.ranking import mean_of, scores_of
from training.relevance import calibration_error
from training.reranker import Ranked, ranked_in

REPORT: Final = Path(__file__).parent / "reranking_report.json"
READ: Final = (10, 20)
SHOWN: Final = 10  # best candidates of a question, which a caller may see
FLOORS: Final = (0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1)
STEPS: Final = 50  # of Newton's method
PATIENCE: Final = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Read:
    """A question, and the reranker's scores of its best candidates."""

    asked: Ranked
    scores: Sequence[float]

    @property
    def relevance(self) -> NDArray[np.float64]:
        """Of the shown ones, without the reranker."""
        return np.array([each.relevance for each in self.asked.candidates[: len(self.scores)]][:SHOWN])

    @property
    def shown(self) -> NDArray[np.float64]:
        """The reranker's scores of these."""
        return np.array(self.scores[:SHOWN])

    @property
    def right(self) -> NDArray[np.bool_]:
        return np.array([each.is_right for each in self.asked.candidates[: len(self.scores)]][:SHOWN])


def read(split: Split) -> list[Read]:
    reranker = LocalReranker()
    return [
        Read(one, reranker.score(one.question, [each.text for each in one.candidates][: max(READ)], seconds=PATIENCE))
        for one in ranked_in(split)
        if one.candidates
    ]


def fit(found: Sequence[Read]) -> RereadWeights:
    """Logistic regression over the shown candidates, by Newton's method."""
    used = [one for one in found if one.asked.category != "nothing"]
    relevance, scores = (np.concatenate([getattr(one, name) for one in used]) for name in ("relevance", "shown"))
    right = np.concatenate([one.right for one in used]).astype(float)
    rows = np.stack([np.ones(len(right)), log_odds(relevance), log_odds(scores)], axis=1)
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows
        weights += np.linalg.solve(curvature, rows.T @ (right - chances))
    bias, of_relevance, of_score = weights.round(4).tolist()
    return RereadWeights(bias=bias, relevance=of_relevance, score=of_score)


def report(found: Sequence[Read], weights: RereadWeights) -> dict[str, Any]:
    """Figures in percent with the best 10 or 20 read, by kind and category of the questions that have an answer.

    floors: share of the questions left without a hit, by category, without and with the reranker.
    """
    by: defaultdict[str, defaultdict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        if not one.asked.answers:
            continue
        for name in ("all", one.asked.kind, one.asked.category):
            by[name]["0"].append(_figures(one.asked, {}))
            for count in READ:
                by[name][str(count)].append(_figures(one.asked, dict(enumerate(one.scores[:count]))))
    ways = {
        "without": [one.relevance for one in found],
        "with": [weights.chances(one.relevance, one.shown) for one in found],
    }
    right = np.concatenate([one.right for one in found])
    return {
        "read": {name: {count: mean_of(rows) for count, rows in each.items()} for name, each in sorted(by.items())},
        "calibration_error": {
            name: round(calibration_error(np.concatenate(chances), right), 4) for name, chances in ways.items()
        },
        "floors": {
            name: {str(floor): _empty(found, chances, floor) for floor in FLOORS} for name, chances in ways.items()
        },
    }


def _figures(one: Ranked, relevance: Mapping[int, float]) -> list[float]:
    before = [build_ranked(place, {"score": each.score}) for place, each in enumerate(one.candidates)]
    features = [replace(each.features, id=place) for place, each in enumerate(one.candidates) if each.features]
    ranked = rerank_default(before, relevance, features)
    return scores_of([one.candidates[each.id].is_right for each in ranked], one.answers)


def _empty(found: Sequence[Read], chances: Sequence[NDArray[np.float64]], floor: float) -> dict[str, float]:
    by: defaultdict[str, list[bool]] = defaultdict(list)
    for one, each in zip(found, chances, strict=True):
        by["answered" if one.asked.answers else one.asked.category].append(bool((each < floor).all()))
    return {name: round(100 * float(np.mean(empty)), 1) for name, empty in sorted(by.items())}


def main() -> None:
    seen: dict[Split, list[Read]] = {"validation": read("validation"), "test": read("test")}
    weights = fit(seen["validation"])
    REREAD_FILE.write_text(json.dumps(asdict(weights), indent=2) + "\n")
    made: dict[str, Any] = {"weights": read_tuned("rerank").digest}
    made |= {split: report(found, weights) for split, found in seen.items()}
    text = json.dumps(made, indent=2)
    print(text)
    REPORT.write_text(text + "\n")


if __name__ == "__main__":
    main()
