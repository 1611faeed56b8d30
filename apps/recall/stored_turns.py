"""The hot leg: the newest stored turns, decrypted and ranked by words for one response.  Nothing of it is cached."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.core.plaintext import Plaintext
from apps.history import turns
from apps.history.turns import OpenedTurn
from apps.projects.scope import Scope
from apps.recall.concurrency import computing
from apps.recall.question import ask
from apps.recall.results import Filters
from text.bm25 import bm25_parameters, idf, weighted_bm25
from text.terms import terms

NEWEST: Final = 200  # turns of each space that are looked at
LOOKED_AT: Final = 8_000  # characters of a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTurn:
    """score: 0 to 1, above 0: its BM25 as a share of the most that any text could have."""

    turn: OpenedTurn
    score: float


def search_turns(
    scope: Scope, query: Plaintext, *, filters: Filters | None = None, limit: int, now: datetime
) -> list[FoundTurn]:
    """Those of the newest stored turns of the scope's spaces that share words with the query, best first.

    filters: only session_id, since and until apply.  Equal scores: the newest first.
    """
    filters = filters or Filters()
    words = list(dict.fromkeys(ask(query).terms))
    found = []
    with computing():
        for part in scope.parts():
            said = turns.read(part, filters.session_id, source=None, limit=NEWEST, now=now).turns
            found += _ranked([one for one in said if _is_wanted(one, filters)], words)
    return sorted(found, key=lambda one: (-one.score, -one.turn.id))[:limit]


def _is_wanted(turn: OpenedTurn, filters: Filters) -> bool:
    return (
        not turn.is_withheld
        and (filters.since is None or turn.created_at >= filters.since)
        and (filters.until is None or turn.created_at <= filters.until)
    )


def _ranked(said: Sequence[OpenedTurn], words: Sequence[str]) -> list[FoundTurn]:
    texts = [terms(one.content.reveal()[:LOOKED_AT]) for one in said]
    average_length = sum(map(len, texts)) / max(len(texts), 1)
    sets = [set(text) for text in texts]
    weights = {word: idf(sum(word in one for one in sets), len(sets)) for word in words}
    most = sum(weights.values()) * (bm25_parameters(average_length)[0] + 1)
    found = []
    for turn, text in zip(said, texts, strict=True):
        counts = {word: text.count(word) for word in words}
        score = weighted_bm25(weights, counts, len(text), average_length=average_length)
        if score > 0:
            found.append(FoundTurn(turn=turn, score=score / most))
    return found
