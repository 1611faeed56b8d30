"""Bridge entities: the second step of a question over two.

"Who does Sarah work for, and what is their role?" is answered by "Sarah works for Marcus" and by "Marcus is the head of
procurement", which shares no word with the question.  The first names an entity that the question does not name, so
whatever else is known of this entity rises towards the first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.edges.opened import Neighbour
from apps.entities.mentions import entities_named_in, memories_sharing
from apps.recall.ranking import Features, Ranked
from apps.recall.retrievers.graph import Reached
from apps.recall.search import Search

TYPE: Final = "same_entity"  # of the step in a path; no relation is stored
SEEDS: Final = 2  # best memories whose entities are followed
LONGEST: Final = 25  # content terms of a memory at either end; a longer text mentions much that it is not about
COMMON: Final = 20  # an entity that more memories mention leads nowhere
LIFT: Final = 0.8  # share of the distance to the seed's score that a memory rises, if no other has the entity
SPREAD: Final = 0.3  # how fast that falls with the logarithm of how many have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A memory that shares an entity with a seed.  strength, 0..1: how far it rises towards the seed's score."""

    seed_id: int
    memory_id: int
    strength: float


def is_short(one: Features) -> bool:
    """Whether a memory is short enough for either end of a bridge."""
    return one.length <= LONGEST


def seeds_of(ranked: Sequence[Ranked], features: Sequence[Features]) -> list[int]:
    """The ids of the best memories that are short enough."""
    short = {one.id for one in features if is_short(one)}
    return [one.id for one in ranked[:SEEDS] if one.id in short]


def find_bridges(search: Search, seed_ids: Sequence[int]) -> list[Bridge]:
    """The bridges from these memories, by entities that the question does not name.  A sealed space has none."""
    shared = memories_sharing(
        search.scope,
        search.space,
        seed_ids,
        where=search.where,
        values=search.values,
        limit=COMMON,
        now=search.now,
    )
    if not shared:
        return []
    named = entities_named_in(search.scope, search.space, search.cipher, search.question.text.reveal(), now=search.now)
    return [
        Bridge(
            seed_id=one.memory_id,
            memory_id=one.other_id,
            strength=LIFT / (1 + SPREAD * math.log(one.mentions)),
        )
        for one in shared
        if one.entity_id not in named
    ]


def cross(ranked: Sequence[Ranked], bridges: Sequence[Bridge]) -> dict[int, Reached]:
    """The memories that rise over a bridge, with their new scores: between their own and the seed's.

    What fits the question better by itself stays ahead, among memories of the same entity.
    """
    own = {one.id: one.score for one in ranked}
    reached: dict[int, Reached] = {}
    for one in bridges:
        if one.seed_id not in own or one.memory_id not in own or own[one.memory_id] >= own[one.seed_id]:
            continue
        score = own[one.memory_id] + one.strength * (own[one.seed_id] - own[one.memory_id])
        if one.memory_id not in reached or score > reached[one.memory_id].score:
            step = Neighbour(
                node_id=one.seed_id, memory_id=one.memory_id, edge_id=0, type=TYPE, confidence=round(one.strength, 6),
                is_forward=True,
            )  # fmt: skip
            reached[one.memory_id] = Reached(score, (step,))
    return reached
