"""Answers kept for a minute: what was asked and answered a moment ago is not searched for again.

Kept are ids and numbers, under a keyed digest of the question; no word of it or of an answer.  An answer is given again
only while its space is at the change it was made at, which every write raises, and its memories are re-opened and
must still be there: what left meanwhile makes it void.  Of this process alone.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from apps.recall.results import Explanation

MOST_PROJECTS: Final = 256  # that are kept answers for; of more, those asked in last


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer:
    """hits: (id, score, why), best first.  legs: the ways of finding that were taken."""

    hits: Sequence[tuple[int, float, Explanation]]
    legs: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """Where an answer is kept.  project: whose entries it counts among.  state: of the space when it was looked at."""

    project: Hashable
    question: bytes
    state: Hashable


@dataclass(frozen=True, slots=True)
class _Entry:
    state: Hashable
    at: datetime
    kept: CachedAnswer


class AnswerCache:
    """The newest RECALL_CACHE_ANSWERS of each project, each for RECALL_CACHE_SECONDS.  0 of either keeps none."""

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
