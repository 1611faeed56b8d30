"""Explain each hit's rank: the retrievers that found it, its score factors, and the relations that led to it."""

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
    relevance: Mapping[int, float],
) -> list[Hit]:
    """The memories of the answer, best first, each with its explanation.

    weights: of the score factors.  graph_weight: of the score carried along relations.  relevance: by memory id.
    """
    places = _places(rankings)
    return [
        Hit(
            memory=memories[one.id],
            score=one.score,
            relevance=relevance.get(one.id),
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
    """Memory id to its rank and score in each retriever that found it."""
    places: dict[int, dict[str, dict[str, float]]] = {}
    for name, ranking in rankings.items():
        for place, (memory_id, score) in enumerate(ranking, start=1):
            places.setdefault(memory_id, {})[name] = {"rank": place, "score": round(score, 6)}
    return places


def _matched_by(retrievers: Collection[str]) -> str:
    """``both`` for dense and lexical, ``vector`` or ``words`` for one of them, else the retriever that found it."""
    if not retrievers:
        return "context"  # it follows a turn that was found
    called = [name for retriever, name in (("dense", "vector"), ("lexical", "words")) if retriever in retrievers]
    return "both" if len(called) == 2 else called[0] if called else next(iter(retrievers))


def _step(step: Neighbour) -> dict[str, object]:
    """One step of the path, in the relation's own direction, whichever way it was followed."""
    ends = (step.node_id, step.memory_id) if step.is_forward else (step.memory_id, step.node_id)
    return {"from": ends[0], "to": ends[1], "type": step.type, "confidence": step.confidence}
