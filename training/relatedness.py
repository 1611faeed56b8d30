"""``python -m training.relatedness``: fit the quick look at pairs, and print its weights and what it lets through.

A statement that changes or repeats another, against the nearest of others by the same author.  Takes torch.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.classifiers.base import CHANGES
from apps.adapters.embedders.local import LocalEmbedder
from apps.ingest.relatedness import FEATURES, Words, features
from training.corpus import Author, Split, authors
from training.logistic import fit_logistic

SEED: Final = 1
CHANGES_OR_REPEATS: Final = CHANGES | {"repeats"}
POOL: Final = {"train": 40, "validation": 100, "test": 100}  # other statements that are searched
NEAREST: Final = {"train": 3, "validation": 8, "test": 8}
NEITHER: Final = 0.3  # weight of a pair labelled "adds" or "unrelated": in doubt it should be compared
DECAY: Final = 1e-4
KEPT: Final = (0.95, 0.92, 0.88)


@dataclass(frozen=True, slots=True)
class Look:
    """A pair to classify.  statement: identifies its later statement."""

    features: tuple[float, ...]
    is_related: bool
    is_stranger: bool
    statement: str


def looks(split: Split) -> list[Look]:
    embedder, order = LocalEmbedder(), random.Random(SEED)  # noqa: S311  no secret
    return [one for author in authors(split) if author.pairs for one in _looks(author, split, embedder, order)]


def _looks(author: Author, split: Split, embedder: LocalEmbedder, order: random.Random) -> Iterator[Look]:
    pool = [pair.earlier for pair in author.pairs] + [said.text for said in author.utterances if said.kept]
    there, new = embedder.embed(pool), embedder.embed([pair.later for pair in author.pairs])
    words = [Words.of(text) for text in pool]
    for place, pair in enumerate(author.pairs):
        cosines, later = there @ new[place], Words.of(pair.later)
        others = [n for n in order.sample(range(len(pool)), min(POOL[split], len(pool))) if n != place]
        nearest = sorted(others, key=lambda n: -float(cosines[n]))[: NEAREST[split]]
        for n in (place, *nearest):
            yield Look(
                features=features(later, words[n], float(cosines[n])),
                is_related=n == place and pair.relation in CHANGES_OR_REPEATS,
                is_stranger=n != place,
                statement=pair.id,
            )


def fit(found: Sequence[Look]) -> tuple[list[float], float]:
    """(weights by feature, bias)."""
    given, right = _arrays(found)
    counts = np.array([1.0 if one.is_related or one.is_stranger else NEITHER for one in found], np.float32)
    weights, bias = fit_logistic(given, right, counts, decay=DECAY, least_spread=1e-6, steps=400)
    return [round(float(one), 3) for one in weights], round(bias, 3)


def _arrays(found: Sequence[Look]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.array([one.features for one in found], np.float32), np.array(
        [one.is_related for one in found], np.float32
    )


def main() -> None:
    weights, bias = fit(looks("train"))
    found = looks("validation")
    given, right = _arrays(found)
    chances = 1 / (1 + np.exp(-(given @ np.array(weights, np.float32) + bias)))
    statements = len({one.statement for one in found})
    thresholds = {kept: float(np.quantile(chances[right > 0], 1 - kept)) for kept in KEPT}
    through = {
        f"{kept} of the related, from {at:.3f}": round(float((chances >= at).sum()) / statements, 2)
        for kept, at in thresholds.items()
    }
    print(
        json.dumps(
            {"weights": dict(zip(FEATURES, weights, strict=True)), "bias": bias, "pairs read": through}, indent=2
        )
    )


if __name__ == "__main__":
    main()
