"""Explanations: why each hit is where it is, by retrievers that found it, by factors, and by the path to it."""

from collections.abc import Collection, Mapping

from apps.edges.opened import Neighbour
from apps.memories.opened import OpenedMemory
from apps.recall.ranking import Ranked, Weights
from apps.recall.ranking_step import Scored
from apps.recall.related import Related
from apps.recall.results import Explanation, Hit
from apps.recall.search import Ranking

Places = Mapping[str, Mapping[str, float]]  # by the retriever's name: the rank, from 1, and the raw score


def explain_hits(
    scored: Scored,
    memories: Mapping[int, OpenedMemory],
    rankings: Mapping[str, Ranking],
    *,
    weights: Weights,
    graph_weight: float,
) -> list[Hit]:
    """The memories of the answer, best first, each with its reason.

    weights: of the factors.  graph_weight: of what a path carries.
    """
    places = _places(rankings)
    return [
        Hit(
            memory=memories[one.id],
            score=one.score,
            explanation=_explain(one, places.get(one.id, {}), weights, scored.related, graph_weight=graph_weight),
        )
        for one in scored.kept
    ]


def _explain(one: Ranked, places: Places, weights: Weights, related: Related, *, graph_weight: float) -> Explanation:
    reached = related.reached.get(one.id)
    against = related.contradicted.get(one.id)
    return Explanation(
        matched_by="graph" if reached else _matched_by(places),
        factors=one.factors,
        weights={**weights, "graph": graph_weight} if reached else weights,
        legs=places,
        path=[_step(step) for step in reached.path] if reached else (),
        hop=len(reached.path) if reached else 0,
        boosts=[{"name": "contradiction", "memory_ids": against, "amount": one.factors.get("contradiction", 0.0)}]
        if against
        else (),
    )


def _places(rankings: Mapping[str, Ranking]) -> dict[int, dict[str, dict[str, float]]]:
    """Where each retriever has each memory, by the memory's id."""
    places: dict[int, dict[str, dict[str, float]]] = {}
    for name, ranking in rankings.items():
        for place, (memory_id, score) in enumerate(ranking, start=1):
            places.setdefault(memory_id, {})[name] = {"rank": place, "score": round(score, 6)}
    return places


def _matched_by(retrievers: Collection[str]) -> str:
    """By meaning and by words, or by one of them, or else by what did find it."""
    if not retrievers:
        return "context"  # the turn after one that was found
    called = [name for retriever, name in (("dense", "vector"), ("lexical", "words")) if retriever in retrievers]
    return "both" if len(called) == 2 else called[0] if called else next(iter(retrievers))


def _step(step: Neighbour) -> dict[str, object]:
    """As the relation points, whichever way it was followed."""
    ends = (step.node_id, step.memory_id) if step.is_forward else (step.memory_id, step.node_id)
    return {"from": ends[0], "to": ends[1], "type": step.type, "confidence": step.confidence}
