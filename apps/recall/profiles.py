"""The ranking profiles: which formula ranks the candidates, and its weights.  Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from apps.recall.default_ranking import default_weights, highest_score, rank_default
from apps.recall.fusion import reciprocal_rank
from apps.recall.ranking import (
    RERANKED,
    Features,
    Ranked,
    Weights,
    latest_bonus,
    memorysync_weights,
    rank_memorysync,
    rank_salience,
    rank_typed,
    rerank,
    rerank_default,
)

PROFILES: Final = ("default", "memorysync", "rrf", "typed", "salience")

Ranking = Sequence[tuple[int, float]]


def weights_used(
    profile: str, candidates: Sequence[Features], asked: Weights | None = None, *, reranked: bool = False
) -> Weights:
    """The weight of each factor of a profile for these candidates, scaled so that no score exceeds 1.

    asked: override the profile's own; unknown names are ignored.  reranked: the cross-encoder read some.  Of
    profiles other than ``default`` the weights are then those before their scores were normalised.
    """
    own = _weights_of(profile, candidates, asked)
    if not reranked:
        return own
    if profile != "default":
        return {**own, "rerank": RERANKED}
    bonus = latest_bonus(candidates)
    weights = {**{name: (1 - RERANKED) * weight for name, weight in own.items()}, "rerank": RERANKED, "latest": bonus}
    return {name: weight / (1 + bonus) for name, weight in weights.items()}


def _weights_of(profile: str, candidates: Sequence[Features], asked: Weights | None) -> Weights:
    if profile == "rrf":
        return {"rrf": 1.0}
    if profile == "typed":
        return {"rrf": 1.0, "freshness": 1.0, "confidence": 1.0}
    if profile == "salience":
        return {"rrf": 1.0, "salience": 1.0}
    given = memorysync_weights(asked) if profile == "memorysync" else default_weights(candidates, asked)
    most = 1.0 if profile == "memorysync" else highest_score(given)
    return {name: weight / most for name, weight in given.items()}


def rank(
    profile: str,
    features: Sequence[Features],
    rankings: Mapping[str, Ranking],
    weights: Weights | None,
    now: datetime,
    relevance: Mapping[int, float] = MappingProxyType({}),
) -> list[Ranked]:
    """Rank by the named profile, then rerank with the cross-encoder's relevance.

    rankings: of each retriever, for the profiles that use ranks.
    """
    ranked = _rank(profile, features, rankings, weights, now)
    if profile == "default":
        return rerank_default(ranked, relevance, features)
    return rerank(ranked, relevance)


def _rank(
    profile: str,
    features: Sequence[Features],
    rankings: Mapping[str, Ranking],
    weights: Weights | None,
    now: datetime,
) -> list[Ranked]:
    if profile == "memorysync":
        return rank_memorysync(features, now=now, weights=weights)
    if profile in ("rrf", "typed", "salience"):
        fused = reciprocal_rank(_exact(name, ranking, features) for name, ranking in rankings.items())
        if profile == "typed":
            return rank_typed(features, fused, now=now)
        if profile == "salience":
            return rank_salience(features, fused, now=now)
        return [Ranked(id=one, score=score, factors={"rrf": score}) for one, score in fused]
    return rank_default(features, weights=weights)


def _exact(retriever: str, ranking: Ranking, features: Sequence[Features]) -> list[int]:
    """A retriever's ids ordered by exact scores, so that index rounding, which differs between keys, has no effect."""
    measured = {one.id for one in features}
    if retriever not in ("dense", "lexical"):
        return [memory_id for memory_id, _ in ranking if memory_id in measured]
    scores = {one.id: one.cosine if retriever == "dense" else one.words for one in features}
    found = (memory_id for memory_id, _ in ranking if memory_id in scores)
    return sorted(found, key=lambda memory_id: (-scores[memory_id], memory_id))
