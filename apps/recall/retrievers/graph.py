"""Along relations: from what was found best to what it is related to, and on from there (contract 10.7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.edges.opened import Neighbour
from apps.edges.types import factor_of

NAME: Final = "graph"
SEEDS: Final = 8  # memories from which to set out
FRONTIER: Final = 32  # memories of each hop from which to go on
DECAY: Final = 0.6  # of what is passed on, with each hop
# By the depth asked for: the memories found themselves, those two steps away, those three.
HOPS: Final = {1: 0, 2: 2, 3: 3}

Steps = Callable[[Sequence[int]], Sequence[Neighbour]]


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory at the end of a path.  score: the seed's, times confidence, type's factor and decay of each step."""

    score: float
    path: tuple[Neighbour, ...] = ()


def follow(steps: Steps, seeds: Mapping[int, float], *, hops: int) -> dict[int, Reached]:
    """The memories within so many steps of the seeds, each by the path that passes most on to it.

    steps: from these memories to those that may be seen.  seeds: id to score.  Ends on cycles, since every step loses.
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
