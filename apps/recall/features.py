"""Exact ranking features of decrypted candidates, computed in process, whichever retriever found them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from apps.recall.question import Question, date_match
from apps.recall.ranking import Features
from text.analysis import TextAnalysis, countable
from text.bm25 import idf, weighted_bm25


class Statistics:
    """BM25 statistics of a space for the terms of one question.

    frequencies: question term, in the question's order, to the number of memories that contain it.
    """

    def __init__(self, *, frequencies: Mapping[str, int], documents: int, average_length: float) -> None:
        self._weights: Final = {term: idf(frequency, documents) for term, frequency in frequencies.items()}
        self._total: Final = sum(self._weights.values())
        self._average_length: Final = average_length
        self._asked: Final = countable(self._weights)

    @classmethod
    def of_turns(cls, turns: Sequence["ScannedTurn"], question: Question) -> Self:
        """Of a space of which every turn is known."""
        asked = countable(question.terms)
        frequencies = Counter(term for turn in turns for term in turn.analysis.count(asked))
        return cls(
            frequencies={term: frequencies[term] for term in question.terms},
            documents=len(turns),
            average_length=sum(turn.analysis.length for turn in turns) / max(1, len(turns)),
        )

    def measure(self, analysis: TextAnalysis, vector: NDArray[np.float32] | None) -> "Spoken":
        found, words = analysis.count(self._asked), 0.0
        if found:
            words = weighted_bm25(self._weights, found, analysis.length, average_length=self._average_length)
        return Spoken(analysis=analysis, found=found, words=words, vector=vector)

    def coverage(self, found: Collection[str]) -> float:
        """Share, 0..1, of the question's terms, weighted by idf, that are among these."""
        if not found or not self._total:
            return 0.0
        return sum(weight for term, weight in self._weights.items() if term in found) / self._total


@dataclass(slots=True, kw_only=True)  # not frozen, for speed, as Features
class Spoken:
    """The text of one turn, measured for a question.

    found: the question's terms in it, and how often.  words: exact BM25.  vector: None if it has no embedding yet.
    """

    analysis: TextAnalysis
    found: Mapping[str, int]
    words: float
    vector: NDArray[np.float32] | None


@dataclass(slots=True)
class CandidateTurn:
    """One memory.  Its fields are in the order of the columns of ``shortlist``, from the id on.

    actor, session: keyed tokens.  said_at: when it happened, or else when it was stored.
    """

    id: int
    actor: int | None
    from_assistant: bool
    session: int | None
    said_at: datetime
    created_at: datetime
    importance: float
    access_count: int
    type: str
    confidence: float
    last_accessed_at: datetime | None
    is_summary: bool


@dataclass(slots=True, kw_only=True)
class ScannedTurn(CandidateTurn):
    """A turn read before the question is known, of a space that is searched in process.

    analysis: of its text.  vector: None if it has no embedding yet.  stretch: the time range that it covers.
    """

    analysis: TextAnalysis
    vector: NDArray[np.float32] | None
    stretch: tuple[datetime, datetime] | None


def compute_features(
    turn: CandidateTurn,
    said: Spoken,
    before: Spoken | None,
    question: Question,
    vector: NDArray[np.float32] | None,
    statistics: Statistics,
    *,
    session_token: int | None,
) -> Features:
    """said, before: the turn, and the previous turn of its session.  vector: the question's.  session_token: of the
    preferred session."""
    has_previous = before is not None and before.vector is not None and vector is not None
    coverage = statistics.coverage(said.found)
    return Features(
        id=turn.id,
        cosine=_cosine(vector, said.vector),
        previous_cosine=_cosine(vector, before.vector) if before else 0.0,
        similarity=_cosine(said.vector, before.vector) if before else 0.0,
        has_previous=has_previous,
        words=said.words,
        previous_words=before.words if before else 0.0,
        coverage=coverage,
        coverage_in_context=statistics.coverage(said.found.keys() | before.found.keys())
        if before and before.found
        else coverage,
        asks_now=question.asks_now,
        asks_past=question.asks_past,
        speaker=turn.actor,
        is_actor=turn.actor in question.actors,
        from_assistant=turn.from_assistant,
        session=turn.session,
        in_session=turn.session is not None and turn.session == session_token,
        date_match=_time_match(question, turn.said_at),
        length=said.analysis.length,
        is_question=said.analysis.is_question,
        follows_question=before is not None and before.analysis.is_question,
        is_english=said.analysis.is_english,
        is_expected=bool(question.expected & said.analysis.kinds),
        created_at=turn.created_at,
        importance=turn.importance,
        access_count=turn.access_count,
        type=turn.type,
        confidence=turn.confidence,
        last_accessed_at=turn.last_accessed_at,
        said_at=turn.said_at,
        has_vector=said.vector is not None,
    )


def _time_match(question: Question, said_at: datetime) -> float:
    if question.window is not None:
        since, until = question.window
        return float(since <= said_at < until)
    return date_match(question.dates, said_at)


def _cosine(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> float:
    """Cosine of unit vectors; 0 if one is missing."""
    return 0.0 if one is None or other is None else float(one @ other)
