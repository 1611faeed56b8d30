"""Score candidates by their features, in factors that sum to the score, and adjust a ranking.  Pure.

``default_ranking`` has the default profile, ``profiles`` the choice between them.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.memories.decay import days_since, half_life_of, liveliness, salience, salience_factor


@dataclass(slots=True, kw_only=True)  # not frozen: a recall makes a hundred, and freezing would double the cost
class Features:
    """Ranking features of one opened candidate.

    cosine, previous_cosine: of it and of the previous turn, with the question.  similarity: between those two turns.
    words, previous_words: exact BM25.  coverage, coverage_in_context: share, 0..1, of the question's words by weight
    (idf) that are in it, and in it or the previous turn.  The previous turn's values are 0 at the start of a session.
    asks_now, asks_past: the question asks what holds now, or about the past.
    speaker: keyed token.  follows_question: the previous turn is a question.  is_expected: it contains an answer of the
    expected kind.
    is_english: no other language was detected in it.  has_vector: false until it is embedded; its cosine is 0.
    """

    id: int
    cosine: float = 0.0
    previous_cosine: float = 0.0
    similarity: float = 0.0
    has_previous: bool = False
    words: float = 0.0
    previous_words: float = 0.0
    coverage: float = 0.0
    coverage_in_context: float = 0.0
    asks_now: bool = False
    asks_past: bool = False
    speaker: int | None = None
    is_actor: bool = False
    from_assistant: bool = False
    session: int | None = None
    in_session: bool = False
    date_match: float = 0.0
    length: int = 0
    is_question: bool = False
    follows_question: bool = False
    is_expected: bool = False
    is_english: bool = True
    created_at: datetime
    importance: float = 0.5
    access_count: int = 0
    type: str = "fact"
    confidence: float = 1.0
    last_accessed_at: datetime | None = None
    said_at: datetime | None = None
    has_vector: bool = True


@dataclass(slots=True, kw_only=True)
class Ranked:
    """factors: the weighted parts; they sum to ``score``."""

    id: int
    score: float
    factors: Mapping[str, float]


Weights = Mapping[str, float]

MEMORYSYNC: Weights = {"semantic": 0.40, "cluster": 0.20, "recency": 0.15, "importance": 0.15, "usage": 0.10}

RECENCY_HALF_LIFE_HOURS = 72.0
SHORT = 15  # content terms; what is longer says more than one contradiction is about
NEAR = 0.8  # share of a memory's score from which a memory against it answers the same question
RERANKED = 0.6  # share of the cross-encoder in a reranked score
TIE = 1e-9  # scores that differ by less are equal
LEAST_ODDS, MOST_ODDS = -32.0, 28.0  # further apart than most are, so that the ranking counts beside them
NEARLY = 1.7  # log-odds below those of the best, with which a memory answers nearly as well
LATEST, LATEST_NOW = 0.01, 0.04  # added for the latest of these; if the question asks what holds now
BEHIND = 1e-6  # score gap between a summary and its sources, and between a memory and the one against it


def memorysync_weights(asked: Weights | None) -> Weights:
    """The profile's weights with those ``asked``, scaled to sum to 1."""
    given = {name: (asked or {}).get(name, weight) for name, weight in MEMORYSYNC.items()}
    total = sum(given.values()) or 1.0
    return {name: value / total for name, value in given.items()}


def rank_memorysync(candidates: Sequence[Features], *, now: datetime, weights: Weights | None = None) -> list[Ranked]:
    """hybrid = 0.40 semantic + 0.20 cluster + 0.15 recency + 0.15 importance + 0.10 usage (contract 10.6).

    Each factor is min-max normalised over the candidates, or raw if all are equal; weights are normalised to sum to 1.
    A memory's cluster is the candidates of its session.
    """
    if not candidates:
        return []
    given = memorysync_weights(weights)
    sessions: defaultdict[int | None, list[float]] = defaultdict(list)
    for one in candidates:
        sessions[one.session].append(one.cosine)
    columns = {
        "semantic": [max(0.0, min(1.0, one.cosine)) for one in candidates],
        "cluster": [
            ((sum(sessions[one.session]) / len(sessions[one.session]) if one.session else one.cosine) + 1) / 2
            for one in candidates
        ],
        "recency": [_recency(one.created_at, now) for one in candidates],
        "importance": [one.importance for one in candidates],
        "usage": [min(1.0, math.log1p(one.access_count) / 5) for one in candidates],
    }
    normalised = {name: _min_max(values) for name, values in columns.items()}
    return in_order(
        [
            build_ranked(one.id, {name: given[name] * normalised[name][at] for name in MEMORYSYNC})
            for at, one in enumerate(candidates)
        ]
    )


def rank_typed(candidates: Sequence[Features], fused: Sequence[tuple[int, float]], *, now: datetime) -> list[Ranked]:
    """Reciprocal rank x freshness x confidence (seed 003).  Freshness decays with the half-life of the memory's type.

    fused: (id, score) by reciprocal rank.  Each factor is the loss that it causes, so that factors sum to the product.
    """
    known = {one.id: one for one in candidates}
    ranked = []
    for memory_id, score in fused:
        one = known[memory_id]
        days = days_since(one.created_at, one.last_accessed_at, now=now)
        fresh = liveliness(days, half_life_days=half_life_of(one.type), access_count=one.access_count)
        factors = {
            "rrf": score,
            "freshness": score * (fresh - 1),
            "confidence": score * fresh * (one.confidence - 1),
        }
        ranked.append(build_ranked(memory_id, factors))
    return in_order(ranked)


def rank_salience(candidates: Sequence[Features], fused: Sequence[tuple[int, float]], *, now: datetime) -> list[Ranked]:
    """Reciprocal rank x (0.5 + 0.5 x salience): important and recently used memories come first (seed-systems 3.8).

    fused: (id, score) by reciprocal rank.
    """
    known = {one.id: one for one in candidates}
    ranked = []
    for memory_id, score in fused:
        one = known[memory_id]
        value = salience(
            importance=one.importance,
            days=days_since(one.said_at or one.created_at, one.last_accessed_at, now=now),
            half_life_days=half_life_of(one.type),
            access_count=one.access_count,
        )
        ranked.append(build_ranked(memory_id, {"rrf": score, "salience": score * (salience_factor(value) - 1)}))
    return in_order(ranked)


def rerank(ranked: Sequence[Ranked], relevance: Mapping[int, float]) -> list[Ranked]:
    """0.6 x cross-encoder relevance + 0.4 x score, min-max over the candidates (seed 002; seed-systems R11).

    relevance: memory id to 0..1, for the memories that the model scored; the others count as 0.  Factors are scaled
    too, so that they still sum to the score.
    """
    if not relevance or not ranked:
        return list(ranked)
    low, high = min(one.score for one in ranked), max(one.score for one in ranked)
    scale = (1 - RERANKED) / (high - low) if high - low > TIE else 0.0
    return in_order(
        [
            build_ranked(one.id, {
                **{name: scale * value for name, value in one.factors.items()},
                "least": -scale * low,
                "rerank": RERANKED * relevance.get(one.id, 0.0),
            })
            for one in ranked
        ]
    )  # fmt: skip


def rerank_default(
    ranked: Sequence[Ranked], relevance: Mapping[int, float], candidates: Sequence[Features]
) -> list[Ranked]:
    """0.6 x what the cross-encoder says + 0.4 x score + a bonus for the latest that answers nearly as well as the best.

    Of two values of the same thing the current one thus leads.  What the cross-encoder says is its log-odds, from
    LEAST_ODDS, 0, to MOST_ODDS, 1; 0 for what it did not read.  Scores are not normalised, so that those of several
    spaces can be compared, but scaled so that none exceeds 1.  Factors still sum to the score.
    """
    times = {one.id: at for one, at in zip(candidates, times_of(candidates), strict=True) if one.id in relevance}
    if not times:
        return list(ranked)
    odds = {one: _log_odds(relevance[one]) for one in times}
    nearly = max(odds.values()) - NEARLY
    near = [one for one in times if odds[one] >= nearly]
    last = max(times[one] for one in near)
    latest = {one for one in near if times[one] == last}
    bonus = latest_bonus(candidates)
    whole = 1 + bonus
    return in_order(
        [
            build_ranked(one.id, {
                **{name: (1 - RERANKED) * value / whole for name, value in one.factors.items()},
                "rerank": RERANKED * _said(odds[one.id]) / whole if one.id in odds else 0.0,
                "latest": bonus / whole if one.id in latest else 0.0,
            })
            for one in ranked
        ]
    )  # fmt: skip


def times_of(candidates: Sequence[Features]) -> list[datetime]:
    """When each was said.  What lies ahead, such as an appointment, is no newer than the newest memory."""
    if not candidates:
        return []
    newest = max(one.created_at for one in candidates)
    return [min(one.said_at or one.created_at, newest) for one in candidates]


def latest_bonus(candidates: Sequence[Features]) -> float:
    return LATEST_NOW if any(one.asks_now for one in candidates) else LATEST


def _said(odds: float) -> float:
    return min(max((odds - LEAST_ODDS) / (MOST_ODDS - LEAST_ODDS), 0.0), 1.0)


def _log_odds(chance: float) -> float:
    within = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(within / (1 - within))


def _recency(created_at: datetime, now: datetime) -> float:
    hours = max(0.0, (now - created_at).total_seconds() / 3600)
    return math.exp(-hours * math.log(2) / RECENCY_HALF_LIFE_HOURS)


def _min_max(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values] if high > low else list(values)


def build_ranked(memory_id: int, factors: Mapping[str, float]) -> Ranked:
    """A memory whose score is the sum of its factors."""
    return Ranked(id=memory_id, score=sum(factors.values()), factors=factors)


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first; ties by the semantic factor, then by the newer id."""
    return sorted(ranked, key=lambda one: (-one.score, -one.factors.get("semantic", 0.0), -one.id))


def behind_their_sources(ranked: Sequence[Ranked], sources: Mapping[int, Sequence[int]]) -> list[Ranked]:
    """The ranking with each summary moved just behind the last of its own sources in it.

    sources: summary id to source ids.  The loss is a factor of its own, so that factors still sum to the score.
    """
    scores = {one.id: one.score for one in ranked}
    placed = []
    for one in ranked:
        lowest = min((scores[source] for source in sources.get(one.id, ()) if source in scores), default=math.inf)
        if one.score >= lowest:
            one = _moved(one, lowest - BEHIND, "sources")
        placed.append(one)
    return in_order(placed)


def lift(ranked: Sequence[Ranked], carried: Mapping[int, float]) -> Sequence[Ranked]:
    """Raise each memory's score to what relations carry to it, if that is higher; other memories are unchanged.

    carried: memory id to score.
    """
    own = {one.id: one for one in ranked}
    improved = []
    for memory_id, score in carried.items():
        one = own.get(memory_id, Ranked(id=memory_id, score=0.0, factors={}))
        if score > one.score:
            improved.append(Ranked(id=memory_id, score=score, factors={**one.factors, "graph": score - one.score}))
    if not improved:
        return ranked
    moved = {one.id for one in improved}
    return in_order([*(one for one in ranked if one.id not in moved), *improved])


def may_fall(candidates: Sequence[Features]) -> set[int]:
    """The ids of those that another may come before because it contradicts them: none if the past is asked about."""
    return {one.id for one in candidates if not one.asks_past and one.length <= SHORT}


def lower(ranked: Sequence[Ranked], against: Mapping[int, Sequence[int]]) -> Sequence[Ranked]:
    """Move each memory just behind the best of those against it whose score is at least NEAR of its own.

    Those with less answer another question.  against: memory id to ids.
    """
    if not against:
        return ranked
    own = {one.id: one.score for one in ranked}
    lowered: dict[int, float] = {}
    # The newest first: what is against a memory is mostly newer, and may itself have moved.
    for weak in sorted(against.keys() & own.keys(), reverse=True):
        near = [lowered.get(one, own[one]) for one in against[weak] if one in own and own[one] >= NEAR * own[weak]]
        floor = max(near, default=math.inf) - BEHIND
        if floor < own[weak]:
            lowered[weak] = floor
    return in_order([_moved(one, lowered[one.id], "contradiction") if one.id in lowered else one for one in ranked])


def _moved(one: Ranked, score: float, factor: str) -> Ranked:
    """The memory with another score; the difference is a factor of this name."""
    return build_ranked(one.id, {**one.factors, factor: score - one.score})
