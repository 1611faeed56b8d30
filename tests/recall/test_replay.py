"""A trace as JSON and back, and the order that it gives."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from apps.recall.profiles import PROFILES
from apps.recall.ranking import Features
from apps.recall.replay import Trace, first_of_each, rank

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def features(memory_id: int, cosine: float, **more: float) -> Features:
    return Features(id=memory_id, cosine=cosine, created_at=NOW - timedelta(days=memory_id), words=cosine, **more)  # type: ignore[arg-type]


TRACE = Trace(
    now=NOW,
    profile="default",
    limit=3,
    weights={"lexical": 0.5},
    rankings={"dense": [(1, 0.9), (2, 0.8)], "slot": [(4, 1.0)]},
    cut=["temporal"],
    features=[features(1, 0.9), features(2, 0.8), features(3, 0.75), features(4, 0.2)],
    carried={4: 0.95},
    behind={1: [3]},
    sources={2: [3]},
    alike={2: 0, 3: 0},
    relevance={},
    ids=[4, 3],
    scores=[0.95, 0.5],
)


@pytest.mark.parametrize("profile", PROFILES)
def test_through_json_it_gives_the_same_order(profile: str) -> None:
    trace = replace(TRACE, profile=profile)

    again = Trace.of_json(orjson.loads(orjson.dumps(trace.as_json(), option=orjson.OPT_NON_STR_KEYS)))

    assert again == trace
    assert again.replay() == trace.replay()


def test_relations_contradictions_summaries_and_repetitions_take_part() -> None:
    plain = [one.id for one in rank("default", TRACE.features, TRACE.rankings, TRACE.weights, NOW)]

    assert plain == [1, 2, 3, 4]
    assert [one.id for one in TRACE.replay()] == [4, 3, 1]


def test_of_what_says_the_same_the_first_is_left() -> None:
    ranked = rank("default", TRACE.features, {}, None, NOW)

    assert [one.id for one in first_of_each(ranked, {1: 0, 2: 1, 3: 1, 4: 0})] == [1, 2]


@pytest.mark.parametrize("profile", ["default", "memorysync"])
def test_what_a_cross_encoder_said_takes_part_and_survives_json(profile: str) -> None:
    said = {1: 0.000_1, 2: 0.000_1, 3: 0.999_9}
    trace = replace(TRACE, profile=profile, carried={}, behind={}, sources={}, alike={}, relevance=said)

    again = Trace.of_json(orjson.loads(orjson.dumps(trace.as_json(), option=orjson.OPT_NON_STR_KEYS)))

    assert [one.id for one in again.replay()] == [3, 1, 2]


def test_a_contradicted_memory_is_behind_the_one_against_it_again() -> None:
    near = [features(1, 0.8), features(2, 0.7)]
    trace = replace(TRACE, features=near, carried={}, behind={1: [2]}, sources={}, alike={})

    assert [one.id for one in trace.replay()] == [2, 1]
