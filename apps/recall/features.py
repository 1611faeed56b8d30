"""Exact ranking features of decrypted candidates, computed in process, whichever retriever found them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.recall.question import Question, date_match
from apps.recall.ranking import Features
from text.answer_types import is_of_kind
from text.bm25 import bm25, idf


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """BM25 statistics of a space.  frequencies: question term to the number of memories that contain it."""

    frequencies: Mapping[str, int]
    documents: int
    average_length: float

    def score(self, question: Question, text_terms: Sequence[str]) -> float:
        return bm25(
            question.terms,
            text_terms,
            frequencies=self.frequencies,
            documents=self.documents,
            average_length=self.average_length,
        )

    def coverage(self, question: Question, *texts: Sequence[str]) -> float:
        """Share, 0..1, of the question's terms, weighted by idf, that are in any of the texts' terms."""
        weights = {term: idf(self.frequencies[term], self.documents) for term in question.terms}
        total = sum(weights.values())
        found = {term for text in texts for term in weights.keys() & set(text)}
        return sum(weights[term] for term in weights if term in found) / total if total else 0.0


@dataclass(slots=True, kw_only=True)  # not frozen, for speed, as Features
class Spoken:
    """The measured text of one turn.  vector: None if it has no embedding yet.  is_question: it ends with "?"."""

    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    is_question: bool


@dataclass(slots=True, kw_only=True)
class CandidateTurn(Spoken):
    """One opened memory.  actor, session: keyed tokens.  said_at: when it happened, or else when it was stored.

    stretch: the time range that it covers; set in a decrypted scan only, where a retriever reads it in process.
    """

    id: int
    text: Plaintext
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
    stretch: tuple[datetime, datetime] | None = None


def compute_features(
    turn: CandidateTurn,
    before: Spoken | None,
    question: Question,
    vector: NDArray[np.float32] | None,
    statistics: Statistics,
    *,
    session_token: int | None,
) -> Features:
    """before: the previous turn of its session.  vector: the question's.  session_token: of the preferred session."""
    has_previous = before is not None and before.vector is not None and vector is not None
    return Features(
        id=turn.id,
        cosine=_cosine(vector, turn.vector),
        previous_cosine=_cosine(vector, before.vector) if before else 0.0,
        similarity=_cosine(turn.vector, before.vector) if before else 0.0,
        has_previous=has_previous,
        words=statistics.score(question, turn.terms),
        previous_words=statistics.score(question, before.terms) if before else 0.0,
        coverage=statistics.coverage(question, turn.terms),
        coverage_in_context=statistics.coverage(question, turn.terms, before.terms if before else ()),
        asks_now=question.asks_now,
        is_actor=turn.actor in question.actors,
        from_assistant=turn.from_assistant,
        session=turn.session,
        in_session=turn.session is not None and turn.session == session_token,
        date_match=_time_match(question, turn.said_at),
        length=len(turn.terms),
        is_question=turn.is_question,
        follows_question=before is not None and before.is_question,
        is_expected=is_of_kind(question.expected, turn.text.reveal()),
        created_at=turn.created_at,
        importance=turn.importance,
        access_count=turn.access_count,
        type=turn.type,
        confidence=turn.confidence,
        last_accessed_at=turn.last_accessed_at,
        said_at=turn.said_at,
    )


def _time_match(question: Question, said_at: datetime) -> float:
    if question.window is not None:
        since, until = question.window
        return float(since <= said_at < until)
    return date_match(question.dates, said_at)


def is_question(text: str) -> bool:
    return text.rstrip().endswith("?")


def _cosine(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> float:
    """Cosine of unit vectors; 0 if one is missing."""
    return 0.0 if one is None or other is None else float(one @ other)
