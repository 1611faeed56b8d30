"""What is kept of answers, and for how long: seed 002's numbers, 60 seconds and 100 entries of a project."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.recall.cache import MOST_PROJECTS, AnswerCache, CachedAnswer, CacheKey
from apps.recall.results import Explanation

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
WHY = Explanation(matched_by="both", factors={}, weights={}, legs={})


def place(question: int = 1, *, project: int = 1, state: int = 7) -> CacheKey:
    return CacheKey(project=project, question=question.to_bytes(16, "big"), state=state)


def kept(memory_id: int = 5) -> CachedAnswer:
    return CachedAnswer(hits=[(memory_id, 0.5, WHY)], legs=["dense"])


@pytest.fixture
def cache() -> AnswerCache:
    return AnswerCache()


@pytest.mark.parametrize(("seconds", "is_there"), [(0, True), (59.9, True), (60, False), (3600, False), (-1, False)])
def test_an_answer_is_kept_for_sixty_seconds(seconds: float, is_there: bool, cache: AnswerCache) -> None:
    """R12."""
    cache.put(place(), kept(), now=NOW)

    found = cache.get(place(), now=NOW + timedelta(seconds=seconds))

    assert (found == kept()) is is_there
    assert len(cache) == is_there


def test_a_hundred_answers_of_a_project_are_kept_those_given_last(cache: AnswerCache) -> None:
    """R12."""
    for question in range(100):
        cache.put(place(question), kept(), now=NOW)
    cache.get(place(0), now=NOW)

    cache.put(place(100), kept(), now=NOW)
    cache.put(place(1, project=2), kept(), now=NOW)

    assert len(cache) == 101
    assert cache.get(place(0), now=NOW)
    assert cache.get(place(1), now=NOW) is None
    assert cache.get(place(1, project=2), now=NOW)


def test_another_state_of_the_space_makes_it_void(cache: AnswerCache) -> None:
    cache.put(place(), kept(), now=NOW)

    assert cache.get(place(state=8), now=NOW) is None
    assert cache.get(place(), now=NOW) is None


def test_no_more_projects_are_kept_than_there_is_room_for(cache: AnswerCache) -> None:
    for project in range(MOST_PROJECTS + 3):
        cache.put(place(project=project), kept(), now=NOW)

    assert len(cache) == MOST_PROJECTS
    assert cache.get(place(project=2), now=NOW) is None


@pytest.mark.parametrize("setting", ["RECALL_CACHE_SECONDS", "RECALL_CACHE_ANSWERS"])
def test_nought_keeps_nothing(setting: str, cache: AnswerCache, settings: Any) -> None:
    setattr(settings, setting, 0)

    cache.put(place(), kept(), now=NOW)

    assert len(cache) == 0
