"""The default profile: a weighted sum of factors, with weights learned for each kind of space.  Pure.

``python -m training.ranking`` writes ``ranking_weights.json`` from our own labelled conversations (docs/adr/0036).
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from apps.recall.ranking import Features, Ranked, Weights, build_ranked, in_order, times_of

Kind = Literal["dialogue", "notes", "chat", "non_english"]

WEIGHTS_FILE: Final = Path(__file__).parent / "ranking_weights.json"
# Factors of a turn itself; the best sum of them in a session is the session's factor.
OWN: Final = ("semantic", "lexical", "coverage", "actor", "authored")
OTHER: Final = ("date", "length", "question", "answer", "expected", "continuity", "newest", "recent")
FACTORS: Final = (*OWN, "session", *OTHER)

PREVIOUS_COSINE, PREVIOUS_WORDS = 0.3, 0.2  # weight of the previous turn in a turn's own score
LONGEST: Final = 25  # content terms; more add nothing to the length factor
MONTH: Final = 30 * 86_400.0  # seconds; of candidates that lie closer together, the newest is hardly newer
LONG: Final = 20  # content terms of the average candidate of a chat; notes are shorter


def rank_default(candidates: Sequence[Features], *, weights: Weights | None = None) -> list[Ranked]:
    """Weighted sum of semantic, lexical and context factors, scaled so that no score exceeds 1.

    The previous turn is added here and not in the index, so that erasing it leaves no residue.
    """
    if not candidates:
        return []
    given = default_weights(candidates, weights)
    scale = 1 / highest_score(given)
    own = [{name: given[name] * value for name, value in values.items()} for values in own_values(candidates)]
    sums = [sum(parts.values()) for parts in own]
    best: defaultdict[int | None, float] = defaultdict(lambda: -math.inf)
    for one, total in zip(candidates, sums, strict=True):
        if one.session is not None:
            best[one.session] = max(best[one.session], total)
    ranked = []
    for one, parts, total, values in zip(candidates, own, sums, other_values(candidates), strict=True):
        factors = {
            **parts,
            "session": given["session"] * (best[one.session] if one.session is not None else total),
            **{name: given[name] * value for name, value in values.items()},
        }
        ranked.append(build_ranked(one.id, {name: scale * value for name, value in factors.items()}))
    return in_order(ranked)


def default_weights(candidates: Sequence[Features], asked: Weights | None) -> Weights:
    """The weights of these candidates' kind; ``asked`` overrides single ones."""
    return {name: (asked or {}).get(name, weight) for name, weight in learned_weights()[kind_of(candidates)].items()}


def kind_of(candidates: Sequence[Features]) -> Kind:
    """``non_english`` if most are in other languages, whose words say more than vectors of an English encoder.

    Else ``dialogue`` of several speakers without an assistant; else ``chat`` if the turns are long, or ``notes``.
    """
    if 2 * sum(one.is_english for one in candidates) < len(candidates):
        return "non_english"
    if not any(one.from_assistant for one in candidates) and len({one.speaker for one in candidates}) > 1:
        return "dialogue"
    return "chat" if sum(one.length for one in candidates) >= LONG * len(candidates) else "notes"


@cache
def learned_weights() -> Mapping[Kind, Weights]:
    found: Mapping[Kind, Weights] = json.loads(WEIGHTS_FILE.read_bytes())
    return found


def highest_score(given: Weights) -> float:
    """The highest possible score with these weights; 1 if all of them are 0."""
    most = sum(given[name] for name in OWN) * (1 + given["session"]) + given["length"] * math.log1p(LONGEST)
    most += sum(max(given[name], 0.0) for name in OTHER if name != "length")
    return most if most > 0 else 1.0


def own_values(candidates: Sequence[Features]) -> list[dict[str, float]]:
    """The unweighted factors ``OWN`` of each candidate.

    authored: said by a person, if an assistant said others.  Without one, unrelated memories have no common part of a
    score, which would outrank what relations carry; for the same reason ``length`` in ``other_values`` is relative.
    """
    has_assistant = any(one.from_assistant for one in candidates)
    most = max(one.words + PREVIOUS_WORDS * one.previous_words for one in candidates) or 1.0
    return [
        {
            "semantic": in_context(one),
            "lexical": (one.words + PREVIOUS_WORDS * one.previous_words) / most,
            "coverage": one.coverage_in_context,
            "actor": float(one.is_actor),
            "authored": float(has_assistant and not one.from_assistant),
        }
        for one in candidates
    ]


def other_values(candidates: Sequence[Features]) -> list[dict[str, float]]:
    """The unweighted factors ``OTHER`` of each candidate.

    length: above that of the shortest candidate.
    newest, recent: place in time from the oldest candidate, 0, to the newest, 1, for a question that asks what holds
    now, and for any other; 0 if it asks about the past.
    """
    times = [at.timestamp() for at in times_of(candidates)]
    first, last = min(times), max(times)
    shortest = min(map(length_of, candidates))
    values = []
    for one, at in zip(candidates, times, strict=True):
        place = (at - first) / max(last - first, MONTH)
        values.append({
            "date": one.date_match,
            "length": length_of(one) - shortest,
            "question": float(one.is_question),
            "answer": float(one.follows_question),
            "expected": float(one.is_expected),
            "continuity": float(one.in_session),
            "newest": place if one.asks_now else 0.0,
            "recent": 0.0 if one.asks_now or one.asks_past else place,
        })  # fmt: skip
    return values


def length_of(one: Features) -> float:
    """0 to log(1 + LONGEST)."""
    return math.log1p(min(one.length, LONGEST))


def in_context(one: Features) -> float:
    """cos(q, v + 0.3 p) of the question, this turn and the previous one, for unit v and p."""
    if not one.has_previous:
        return one.cosine
    norm = math.sqrt(1 + PREVIOUS_COSINE**2 + 2 * PREVIOUS_COSINE * one.similarity)
    return (one.cosine + PREVIOUS_COSINE * one.previous_cosine) / norm
