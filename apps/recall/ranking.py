"""The ranking profiles: from what is known of each candidate to a score, and the parts that sum to it.  Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is known of one opened candidate.

    cosine, previous_cosine: with the question.  similarity: of the memory with the previous one of its session.
    words, previous_words: exact BM25.  Those of the previous are 0 at the start of a session.
    """

    id: int
    cosine: float = 0.0
    previous_cosine: float = 0.0
    similarity: float = 0.0
    has_previous: bool = False
    words: float = 0.0
    previous_words: float = 0.0
    is_actor: bool = False
    from_assistant: bool = False
    session: int | None = None
    in_session: bool = False
    date_match: float = 0.0
    length: int = 0
    ends_with_question: bool = False
    created_at: datetime
    importance: float = 0.5
    access_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """factors: the weighted parts; they sum to ``score``."""

    id: int
    score: float
    factors: Mapping[str, float]


Weights = Mapping[str, float]

# Found by measuring on dialogue and on assistant chats: score fusion, not reciprocal ranks (docs/adr/0004).
DIALOGUE: Weights = {
    "semantic": 1.0, "lexical": 0.30, "actor": 0.10, "authored": 0.0, "session": 0.20, "date": 0.25, "length": 0.04,
    "question": -0.05, "continuity": 0.05,
}  # fmt: skip
ASSISTANT_CHAT: Weights = {**DIALOGUE, "lexical": 0.30, "authored": 0.20, "session": 0.0, "question": 0.0}
MEMORYSYNC: Weights = {"semantic": 0.40, "cluster": 0.20, "recency": 0.15, "importance": 0.15, "usage": 0.10}

PREVIOUS_COSINE, PREVIOUS_WORDS = 0.3, 0.35  # how much of the previous turn is read into a turn
RECENCY_HALF_LIFE_HOURS = 72.0
PROFILES = ("default", "memorysync", "rrf")


def rank_default(candidates: Sequence[Features], *, weights: Weights | None = None) -> list[Ranked]:
    """Score fusion of meaning and words in context.  Which weights: a space where an assistant speaks wants others.

    The previous turn is read in here and not written into the index, so that erasing it leaves no residue.
    """
    if not candidates:
        return []
    is_chat = any(one.from_assistant for one in candidates)
    given = {**(ASSISTANT_CHAT if is_chat else DIALOGUE), **(weights or {})}
    most = max(one.words + PREVIOUS_WORDS * one.previous_words for one in candidates) or 1.0
    partial: dict[int, dict[str, float]] = {}
    for one in candidates:
        partial[one.id] = {
            "semantic": given["semantic"] * _in_context(one),
            "lexical": given["lexical"] * (one.words + PREVIOUS_WORDS * one.previous_words) / most,
            "actor": given["actor"] * one.is_actor,
            "authored": given["authored"] * (not one.from_assistant),
        }
    best: defaultdict[int | None, float] = defaultdict(lambda: -math.inf)
    for one in candidates:
        if one.session is not None:
            best[one.session] = max(best[one.session], sum(partial[one.id].values()))
    ranked = []
    for one in candidates:
        own = sum(partial[one.id].values())
        factors = partial[one.id] | {
            "session": given["session"] * (best[one.session] if one.session is not None else own),
            "date": given["date"] * one.date_match,
            "length": given["length"] * math.log1p(min(one.length, 25)),
            "question": given["question"] if one.ends_with_question else 0.0,
            "continuity": given["continuity"] * one.in_session,
        }
        ranked.append(_ranked(one.id, factors))
    return _sorted(ranked)


def rank_memorysync(candidates: Sequence[Features], *, now: datetime, weights: Weights | None = None) -> list[Ranked]:
    """hybrid = 0.40 semantic + 0.20 cluster + 0.15 recency + 0.15 importance + 0.10 usage (contract 10.6).

    Each factor is min-max normalised over the candidates, raw where there is no spread; weights given are normalised
    to sum to 1.  The cluster of a memory is its session among the candidates.
    """
    if not candidates:
        return []
    given = {**MEMORYSYNC, **{name: value for name, value in (weights or {}).items() if name in MEMORYSYNC}}
    total = sum(given.values()) or 1.0
    given = {name: value / total for name, value in given.items()}
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
    return _sorted(
        [
            _ranked(one.id, {name: given[name] * normalised[name][at] for name in MEMORYSYNC})
            for at, one in enumerate(candidates)
        ]
    )


def _in_context(one: Features) -> float:
    """cos(q, v + 0.3 p), for unit v and p: the previous turn read into this one, at its own length."""
    if not one.has_previous:
        return one.cosine
    norm = math.sqrt(1 + PREVIOUS_COSINE**2 + 2 * PREVIOUS_COSINE * one.similarity)
    return (one.cosine + PREVIOUS_COSINE * one.previous_cosine) / norm


def _recency(created_at: datetime, now: datetime) -> float:
    hours = max(0.0, (now - created_at).total_seconds() / 3600)
    return math.exp(-hours * math.log(2) / RECENCY_HALF_LIFE_HOURS)


def _min_max(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values] if high > low else list(values)


def _ranked(memory_id: int, factors: Mapping[str, float]) -> Ranked:
    return Ranked(id=memory_id, score=sum(factors.values()), factors=factors)


def _sorted(ranked: list[Ranked]) -> list[Ranked]:
    """Best first; ties by meaning, then the newer id."""
    return sorted(ranked, key=lambda one: (-one.score, -one.factors.get("semantic", 0.0), -one.id))
