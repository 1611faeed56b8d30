"""Retrieval scores of a ranking against its gold set, and their mean over questions.  Pure functions."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

CUTS = (1, 5, 10, 40)


def score(ranking: Sequence[Hashable], gold: Sequence[Hashable]) -> dict[str, float]:
    """any@k, all@k and frac@k (share of the gold set found) for k in CUTS, and NDCG@10 with binary gains.

    Each in 0..1.  The ideal ranking has the gold set in the first places.  gold: not empty.
    """
    wanted = set(gold)
    places = [place for place, item in enumerate(dict.fromkeys(ranking)) if item in wanted]
    scores: dict[str, float] = {}
    for cut in CUTS:
        found = sum(place < cut for place in places)
        scores[f"any@{cut}"] = float(found > 0)
        scores[f"all@{cut}"] = float(found == len(wanted))
        scores[f"frac@{cut}"] = found / len(wanted)
    gain = sum(1 / math.log2(place + 2) for place in places if place < 10)
    scores["ndcg@10"] = gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    return scores


def mean(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    totals: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            totals[name].append(value)
    return {name: sum(values) / len(values) for name, values in totals.items()}
