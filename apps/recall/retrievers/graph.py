"""Graph retriever: follow relations from the best memories found (contract 10.7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.edges.opened import Neighbour
from apps.edges.types import factor_of

NAME: Final = "graph"
SEEDS: Final = 8  # memories to start from
FRONTIER: Final = 32  # memories of each hop that are followed further
DECAY: Final = 0.6  # factor on the score at each hop
# Requested depth to the number of hops.
HOPS: Final = {1: 0, 2: 2, 3: 3}

Steps = Callable[[Sequence[int]], Sequence[Neighbour]]


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory at the end of a path.  score: the seed's, times confidence, type factor and DECAY of each step."""

    score: float
    path: tuple[Neighbour, ...] = ()


def follow(steps: Steps, seeds: Mapping[int, float], *, hops: int) -> dict[int, Reached]:
    """The memories within ``hops`` steps of the seeds, each with the path that carries the highest score to it.

    steps: returns the visible neighbours of these memories.  seeds: id to score.  Cycles end, as every step lowers it.
    """
    best = dict(seeds)
    reached: dict[int, Reached] = {}
    frontier = {seed: Reached(score) for seed, score in seeds.items()}
    for _ in range(hops):
        if not frontier:
            break
        met: dict[int, Reached] = {}
        for step in steps(list(frontier)):
            before = frontier[step.node_id]
            score = before.score * step.confidence * factor_of(step.type) * DECAY
            if score > best.get(step.memory_id, 0.0):
                best[step.memory_id] = score
                met[step.memory_id] = Reached(score, (*before.path, step))
        reached |= met
        strongest = sorted(met.items(), key=lambda one: (-one[1].score, -one[0]))
        frontier = dict(strongest[:FRONTIER])
    return reached
