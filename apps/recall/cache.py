"""Short-lived answer cache of one process, so that a repeated question is not searched for again.

An entry holds ids and numbers under a keyed digest of the question, and no text.  It is valid only while its space has
had no write since (``CacheKey.state``).  A hit reopens the memories, and a missing memory invalidates the entry.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from apps.recall.results import Explanation

MOST_PROJECTS: Final = 256  # with cached answers; beyond that, the least recently written is evicted


@dataclass(frozen=True, slots=True)
class CachedHit:
    """A hit without its memory."""

    memory_id: int
    score: float
    explanation: Explanation
    relevance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """hits: best first.  legs: the retrievers that ran."""

    hits: Sequence[CachedHit]
    legs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """project: whose quota the entry counts against.  state: version of the space that the answer was read from."""

    project: Hashable
    question: bytes
    state: Hashable


@dataclass(frozen=True, slots=True)
class _Entry:
    state: Hashable
    at: datetime
    kept: CachedAnswer


class AnswerCache:
    """LRU cache of RECALL_CACHE_ANSWERS per project, each for RECALL_CACHE_SECONDS.  0 for either disables it."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._projects: Final[OrderedDict[Hashable, OrderedDict[bytes, _Entry]]] = OrderedDict()

    def get(self, place: CacheKey, *, now: datetime) -> CachedAnswer | None:
        with self._lock:
            answers = self._projects.get(place.project)
            entry = answers.get(place.question) if answers else None
            if answers is None or entry is None:
                return None
            age = now - entry.at
            if entry.state != place.state or not timedelta() <= age < timedelta(seconds=settings.RECALL_CACHE_SECONDS):
                del answers[place.question]
                return None
            answers.move_to_end(place.question)
            return entry.kept

    def put(self, place: CacheKey, kept: CachedAnswer, *, now: datetime) -> None:
        if not (settings.RECALL_CACHE_SECONDS > 0 and settings.RECALL_CACHE_ANSWERS > 0):
            return
        with self._lock:
            answers = self._projects.setdefault(place.project, OrderedDict())
            self._projects.move_to_end(place.project)
            answers[place.question] = _Entry(place.state, now, kept)
            answers.move_to_end(place.question)
            while len(answers) > settings.RECALL_CACHE_ANSWERS:
                answers.popitem(last=False)
            while len(self._projects) > MOST_PROJECTS:
                self._projects.popitem(last=False)

    def drop(self, place: CacheKey) -> None:
        with self._lock:
            self._projects.get(place.project, OrderedDict()).pop(place.question, None)

    def clear(self) -> None:
        with self._lock:
            self._projects.clear()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._projects.values()))


answers: Final = AnswerCache()
