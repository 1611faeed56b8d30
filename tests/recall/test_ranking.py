"""Ranking profiles against the formulas they are made of."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.recall.default_ranking import FACTORS, LONG, PREVIOUS_COSINE, kind_of, learned_weights, rank_default
from apps.recall.profiles import weights_used
from apps.recall.ranking import MEMORYSYNC, Features, Ranked, behind_their_sources, rank_memorysync

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FRACTION = st.floats(0, 1)
COSINE = st.floats(-1, 1)
FEATURES = st.builds(
    Features, id=st.integers(1, 10**6), cosine=COSINE, previous_cosine=COSINE, similarity=st.floats(-0.9, 1),
    has_previous=st.booleans(), words=st.floats(0, 40), previous_words=st.floats(0, 40), is_actor=st.booleans(),
    from_assistant=st.booleans(), session=st.sampled_from([None, 1, 2]), in_session=st.booleans(),
    date_match=FRACTION, length=st.integers(0, 4000), is_question=st.booleans(),
    follows_question=st.booleans(), is_expected=st.booleans(), coverage=FRACTION, coverage_in_context=FRACTION,
    asks_now=st.booleans(),
    created_at=st.integers(-40_000, 40_000).map(lambda hours: NOW - timedelta(hours=hours)),
    importance=FRACTION, access_count=st.integers(0, 10**6),
)  # fmt: skip
POOLS = st.lists(FEATURES, min_size=1, max_size=12, unique_by=lambda one: one.id)
WEIGHTS = st.none() | st.dictionaries(st.sampled_from([*FACTORS, *MEMORYSYNC, "unknown"]), st.floats(0, 10))


def one(memory_id: int = 1, **fields: Any) -> Features:
    return Features(id=memory_id, **{"created_at": NOW, **fields})


def by_id(ranked: list[Ranked]) -> dict[int, Ranked]:
    return {each.id: each for each in ranked}


@given(pool=POOLS, weights=WEIGHTS)
def test_the_factors_sum_to_the_score_and_the_best_comes_first(pool: list[Features], weights: Any) -> None:
    for ranked in (rank_default(pool, weights=weights), rank_memorysync(pool, now=NOW, weights=weights)):
        assert {each.id for each in ranked} == {each.id for each in pool}
        assert all(each.score == pytest.approx(sum(each.factors.values())) for each in ranked)
        assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)


@given(pool=POOLS, weights=WEIGHTS)
def test_the_weights_shown_are_those_used(pool: list[Features], weights: Any) -> None:
    assert weights_used("memorysync", pool, weights).keys() == MEMORYSYNC.keys()
    assert weights_used("default", pool, weights).keys() == set(FACTORS)
    for ranked in rank_memorysync(pool, now=NOW, weights=weights):
        shown = weights_used("memorysync", pool, weights)
        assert all(-1e-9 <= ranked.factors[name] <= shown[name] + 1e-9 for name in MEMORYSYNC)


def test_every_kind_has_a_weight_for_every_factor_and_none_below_zero_for_a_turns_own() -> None:
    for weights in learned_weights().values():
        assert weights.keys() == set(FACTORS)
        assert all(weights[name] >= 0 for name in ("semantic", "lexical", "coverage", "actor", "authored", "session"))


def test_the_kind_follows_the_speakers_and_the_length_of_turns() -> None:
    spoken = [one(1, length=6, speaker=7), one(2, length=8, speaker=8)]
    answered = [*spoken, one(3, length=7, from_assistant=True)]

    assert kind_of(spoken) == "dialogue"
    assert kind_of(spoken[:1]) == "notes"
    assert kind_of(answered) == "notes"
    assert kind_of([replace(each, length=LONG) for each in answered]) == "chat"


def test_a_question_about_now_counts_a_turns_place_in_time_by_its_own_weight() -> None:
    turns = [one(n, created_at=NOW - 5 * timedelta(days=10 - n)) for n in (1, 6, 10)]
    weights = {name: float(name in ("newest", "recent")) for name in FACTORS}

    asked = by_id(rank_default([replace(each, asks_now=True) for each in turns], weights=weights))
    other = by_id(rank_default(turns, weights=weights))

    assert [asked[n].factors["newest"] for n in (1, 6, 10)] == pytest.approx([0, 5 / 9 / 2, 1 / 2])
    assert all(each.factors["recent"] == 0 for each in asked.values())
    assert [other[n].factors["recent"] for n in (1, 6, 10)] == pytest.approx([0, 5 / 9 / 2, 1 / 2])

    past = rank_default([replace(each, asks_past=True) for each in turns], weights=weights)
    assert {each.score for each in past} == {0}


def test_the_newest_of_candidates_of_one_day_is_hardly_newer() -> None:
    turns = [one(n, created_at=NOW + timedelta(hours=n)) for n in (1, 2)]
    weights = {name: float(name == "recent") for name in FACTORS}

    assert [each.score for each in rank_default(turns, weights=weights)] == pytest.approx([1 / 24 / 30, 0])


def test_nothing_ranked_is_nothing() -> None:
    assert rank_default([]) == []
    assert rank_memorysync([], now=NOW) == []


# -- the MemorySync formula --------------------------------------------------------------------------------------------


def test_a_single_candidate_keeps_its_raw_factors() -> None:
    (ranked,) = rank_memorysync(
        [one(cosine=0.6, created_at=NOW - timedelta(hours=72), importance=0.8, access_count=9)], now=NOW
    )

    assert ranked.factors == pytest.approx(
        {
            "semantic": 0.40 * 0.6,
            "cluster": 0.20 * 0.8,  # (0.6 + 1) / 2
            "recency": 0.15 * 0.5,  # one half-life
            "importance": 0.15 * 0.8,
            "usage": 0.10 * math.log(10) / 5,
        }
    )


def test_where_there_is_spread_the_worst_gets_nothing_and_the_best_the_whole_weight() -> None:
    ranked = by_id(rank_memorysync([one(1, cosine=0.2), one(2, cosine=0.3), one(3, cosine=0.6)], now=NOW))

    assert [ranked[memory_id].factors["semantic"] for memory_id in (1, 2, 3)] == pytest.approx([0.0, 0.1, 0.4])


def test_where_there_is_no_spread_a_factor_stays_raw() -> None:
    ranked = rank_memorysync([one(1, cosine=0.2), one(2, cosine=0.6)], now=NOW)

    assert [each.factors["importance"] for each in ranked] == pytest.approx([0.15 * 0.5] * 2)
    assert [each.factors["recency"] for each in ranked] == pytest.approx([0.15] * 2)


def test_a_cosine_below_zero_means_nothing() -> None:
    (ranked,) = rank_memorysync([one(cosine=-0.5)], now=NOW)

    assert ranked.factors["semantic"] == 0


def test_the_cluster_of_a_memory_is_its_session() -> None:
    pool = [one(1, cosine=0.9, session=5), one(2, cosine=0.1, session=5), one(3, cosine=0.4)]

    ranked = by_id(rank_memorysync(pool, now=NOW))

    # Means 0.5, 0.5 and 0.4: the two of the session are the best, the third the worst.
    assert [ranked[memory_id].factors["cluster"] for memory_id in (1, 2, 3)] == pytest.approx([0.2, 0.2, 0.0])


def test_a_memory_from_the_future_is_no_newer_than_now() -> None:
    (ranked,) = rank_memorysync([one(created_at=NOW + timedelta(days=3))], now=NOW)

    assert ranked.factors["recency"] == pytest.approx(0.15)


def test_given_weights_are_normalised_with_those_not_given() -> None:
    weights = weights_used("memorysync", [one()], {"semantic": 1.4, "unknown": 9.0})

    assert weights == pytest.approx(
        {"semantic": 0.70, "cluster": 0.10, "recency": 0.075, "importance": 0.075, "usage": 0.05}
    )


def test_weights_of_nothing_give_nothing() -> None:
    (ranked,) = rank_memorysync([one(cosine=0.7)], now=NOW, weights=dict.fromkeys(MEMORYSYNC, 0.0))

    assert ranked.score == 0


def test_ties_go_to_the_closer_then_to_the_newer_id() -> None:
    alike = [one(memory_id, cosine=0.5) for memory_id in (3, 7, 5)]
    level = [one(1, cosine=0.2, importance=1.0), one(2, cosine=0.6, importance=0.0)]

    assert [each.id for each in rank_memorysync(alike, now=NOW)] == [7, 5, 3]
    weights = dict.fromkeys(MEMORYSYNC, 0.0) | {"semantic": 0.5, "importance": 0.5}
    assert [each.id for each in rank_memorysync(level, now=NOW, weights=weights)] == [2, 1]


# -- words and meaning in context --------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1))
def test_the_meaning_in_context_is_the_cosine_with_the_turn_and_a_part_of_the_one_before(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(3, 16))
    query, turn, before = (vector / np.linalg.norm(vector) for vector in vectors)
    mixed = turn + PREVIOUS_COSINE * before
    expected = float(query @ mixed / np.linalg.norm(mixed))
    features = one(
        cosine=float(query @ turn), previous_cosine=float(query @ before), similarity=float(turn @ before),
        has_previous=True,
    )  # fmt: skip

    (ranked,) = rank_default([features])

    assert ranked.factors["semantic"] == pytest.approx(weights_used("default", [features])["semantic"] * expected)


def test_the_meaning_in_context_by_hand() -> None:
    # q = (1, 0), v = (0.6, 0.8), p = (0, 1): v + 0.3 p = (0.6, 1.1), of length √1.57.
    features = one(cosine=0.6, previous_cosine=0.0, similarity=0.8, has_previous=True)

    (ranked,) = rank_default([features])

    weight = weights_used("default", [features])["semantic"]
    assert ranked.factors["semantic"] == pytest.approx(weight * 0.6 / math.sqrt(1.57))


def test_words_count_relative_to_the_best_of_the_pool() -> None:
    pool = [one(1, words=4.0), one(2, words=1.0, previous_words=2.0), one(3)]

    ranked = by_id(rank_default(pool, weights={"lexical": 0.3}))

    weight = weights_used("default", pool, {"lexical": 0.3})["lexical"]
    shares = [ranked[memory_id].factors["lexical"] / weight for memory_id in (1, 2, 3)]
    assert shares == pytest.approx([1.0, (1.0 + 0.2 * 2.0) / 4.0, 0.0])


def test_without_a_word_in_common_nothing_divides_by_zero() -> None:
    assert rank_default([one(cosine=0.4)])[0].factors["lexical"] == 0


@given(pool=POOLS)
def test_no_score_exceeds_one(pool: list[Features]) -> None:
    # Three cosines drawn apart may fit no three vectors; of those that do, the one before never lifts one above 1.
    pool = [replace(each, has_previous=False) for each in pool]

    assert all(each.score <= 1 + 1e-9 for each in rank_default(pool) + rank_memorysync(pool, now=NOW))


def test_summary_stands_behind_its_sources_and_says_what_that_costs() -> None:
    given = {9: 0.9, 1: 0.8, 2: 0.5, 3: 0.4}
    ranked = [Ranked(id=one, score=score, factors={"semantic": score}) for one, score in given.items()]

    placed = behind_their_sources(ranked, {9: [1, 2, 77]})

    assert [one.id for one in placed] == [1, 2, 9, 3]
    assert all(math.isclose(sum(one.factors.values()), one.score) for one in placed)
    assert behind_their_sources(ranked, {}) == ranked


def test_candidates_in_other_languages_rank_by_their_words_more() -> None:
    english = [one(number, cosine=0.5) for number in range(5)]
    others = [one(number, cosine=0.5, is_english=False) for number in range(5, 11)]

    assert kind_of([*english, *others]) == "non_english"
    assert kind_of([*english, *others[1:]]) == "notes"
    assert learned_weights()["non_english"]["lexical"] > 2 * learned_weights()["notes"]["lexical"]
