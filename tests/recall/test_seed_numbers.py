"""Every number that the seed systems publish and that exists here, each with its source.

T1 to T25 are seed 000's features, R1 to R20 seed 002's, A1 to A9 seed 001's, Y1 to Y14 seed 003's.
"""

from datetime import UTC, datetime, timedelta

import pytest

from apps.memories.decay import (
    SALIENCE_AT_LEAST,
    boost,
    days_since,
    freshness,
    half_life_of,
    liveliness,
    salience,
    salience_factor,
)
from apps.memories.types import TYPES, confidence
from apps.recall.fusion import K, reciprocal_rank
from apps.recall.ranking import RERANKED, Features, Ranked, rank_salience, rank_typed, rerank

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


# --- reciprocal rank fusion: k = 60 (T12, R9) -------------------------------------------------------------------------


def test_found_first_by_two_legs_of_weight_two_and_one() -> None:
    """T12: topic (weight 2) and keyword, rank 1 each: 2/61 + 1/61 = 0.04918.  A leg of weight two counts as two."""
    ((_, score),) = reciprocal_rank([[7], [7], [7]])

    assert K == 60
    assert score == pytest.approx(0.04918, abs=5e-6)


def test_found_first_by_topic_and_second_by_keyword() -> None:
    """T12: topic 1, keyword 2: 2/61 + 1/62 = 0.04892."""
    scores = dict(reciprocal_rank([[7], [7], [8, 7]]))

    assert scores[7] == pytest.approx(0.04892, abs=5e-6)


# --- confidence: min(1, 0.45 s + 0.20 r + 0.25 e + 0.10 t) (Y7) -------------------------------------------------------


@pytest.mark.parametrize(("times", "expected"), [(1, 0.65), (3, 0.75), (5, 0.85)])
def test_confidence_of_a_preference_said_so_many_times(times: int, expected: float) -> None:
    """Y7, worked example: s 0.9, e 0.9, t 0.20; r is 0 at the first mention, 0.5 at three, 1 at five."""
    sure = confidence(source_strength=0.9, repetition_count=times, extractor_confidence=0.9, prior=0.20)

    assert sure == pytest.approx(expected)


def test_confidence_is_never_more_than_one() -> None:
    """Y7: min(1, …)."""
    assert confidence(source_strength=1, repetition_count=99, extractor_confidence=1, prior=1) == 1.0


@pytest.mark.parametrize(
    ("type_", "prior"), [("preference", 0.20), ("fact", 0.15), ("entity", 0.12), ("relation", 0.10), ("event", 0.08)]
)
def test_prior_of_a_type(type_: str, prior: float) -> None:
    """Y7: priors t."""
    assert TYPES[type_].prior == prior


def test_an_explicit_preference_passes_the_gate_and_an_inferred_relation_does_not() -> None:
    """Seed-systems 3.4, step 8: 0.65 and 0.41, with the gate at 0.50 between them."""
    relation = confidence(source_strength=0.5, repetition_count=1, extractor_confidence=0.7, prior=0.10)

    assert round(relation, 2) == 0.41


# --- freshness: 2^(-days / half-life) (Y8) ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "days"), [("entity", 365), ("fact", 180), ("relation", 180), ("preference", 90), ("event", 30)]
)
def test_half_life_of_a_type(type_: str, days: float) -> None:
    """Y8: half-lives in days."""
    assert half_life_of(type_) == days
    assert freshness(days, half_life_days=half_life_of(type_)) == 0.5


@pytest.mark.parametrize(
    ("type_", "days", "expected"), [("event", 180, 0.015625), ("fact", 180, 0.5), ("fact", 360, 0.25)]
)
def test_freshness_of_a_type_after_so_many_days(type_: str, days: float, expected: float) -> None:
    """Y8: an event at 180 days is 0.016, six half-lives."""
    assert freshness(days, half_life_days=half_life_of(type_)) == expected


# --- access boost: min(3, 1.2^accesses) (Y9) --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "expected"), [(0, 1.0), (5, 2.48832), (6, 2.985984), (7, 3.0), (8, 3.0), (10**9, 3.0)]
)
def test_boost_after_so_many_accesses(times: int, expected: float) -> None:
    """Y9: five give 2.488, six 2.986, and from seven on it is 3."""
    assert boost(times) == pytest.approx(expected)


def test_an_event_of_45_days_is_lifted_by_five_accesses() -> None:
    """Y9: 0.354 x 2.488 = 0.88."""
    fresh = freshness(45, half_life_days=half_life_of("event"))

    assert fresh == pytest.approx(0.3536, abs=5e-5)
    assert fresh * boost(5) == pytest.approx(0.8798, abs=5e-5)
    assert liveliness(45, half_life_days=30, access_count=5) == fresh * boost(5)


def test_boosted_freshness_weighs_no_more_than_one() -> None:
    """Seed-systems 3.9, no. 26: the raw value may exceed 1, the score takes it clamped."""
    assert freshness(0, half_life_days=30) * boost(5) > 1
    assert liveliness(0, half_life_days=30, access_count=5) == 1.0


def test_what_was_recalled_today_is_fresh_however_old() -> None:
    """Y8: days since the last access."""
    assert days_since(NOW - timedelta(days=400), NOW, now=NOW) == 0
    assert days_since(NOW - timedelta(days=400), None, now=NOW) == 400


# --- salience (3.8) ---------------------------------------------------------------------------------------------------


def test_salience_is_importance_times_boosted_freshness() -> None:
    """Seed-systems 3.8: importance x min(1, 2^(-d/tau) x min(3, 1.2^n))."""
    assert salience(importance=0.8, days=45, half_life_days=30, access_count=5) == pytest.approx(0.8 * 0.8798, abs=5e-5)
    assert salience(importance=0.8, days=0, half_life_days=30, access_count=9) == 0.8


def test_salience_reorders_and_never_erases() -> None:
    """Seed-systems 3.8: floor 0.05, used as 0.5 + 0.5 x salience."""
    assert salience(importance=0.8, days=10_000, half_life_days=7, access_count=0) == SALIENCE_AT_LEAST == 0.05
    assert (salience_factor(0.05), salience_factor(1.0)) == (0.525, 1.0)


# --- the typed profile (3.8) ------------------------------------------------------------------------------------------


def test_the_typed_profile_is_reciprocal_rank_times_freshness_times_confidence() -> None:
    """Seed-systems 3.8, the surface of seed 003."""
    old = NOW - timedelta(days=180)
    fact = Features(id=1, created_at=old, type="fact", confidence=0.65)
    event = Features(id=2, created_at=old, type="event", confidence=0.65)

    first, second = rank_typed([fact, event], [(2, 2 / 61), (1, 2 / 62)], now=NOW)

    assert (first.id, second.id) == (1, 2)
    assert first.score == pytest.approx(2 / 62 * 0.5 * 0.65)
    assert second.score == pytest.approx(2 / 61 * 0.015625 * 0.65)
    assert all(one.score == pytest.approx(sum(one.factors.values())) for one in (first, second))


def test_the_salience_profile_is_reciprocal_rank_times_one_half_and_half_of_salience() -> None:
    """Seed-systems 3.8, the surface of seed 002, without its reranker."""
    dull = Features(id=1, created_at=NOW, importance=0.0)
    vital = Features(id=2, created_at=NOW, importance=1.0)

    first, second = rank_salience([dull, vital], [(1, 2 / 61), (2, 2 / 62)], now=NOW)

    assert (first.id, first.score) == (2, pytest.approx(2 / 62))
    assert (second.id, second.score) == (1, pytest.approx(2 / 61 * 0.525))


def test_a_cross_encoder_has_six_tenths_of_the_say() -> None:
    """R11: 0.6 x reranker + 0.4 x normalised reciprocal rank; min-max over the candidates."""
    fused = [
        Ranked(id=n, score=score, factors={"rrf": score}) for n, score in ((1, 2 / 61), (2, 1.5 / 61), (3, 1 / 61))
    ]

    ranked = rerank(fused, {1: 0.1, 2: 0.5, 3: 0.9})

    assert RERANKED == 0.6
    scores = {one.id: one.score for one in ranked}
    assert scores == pytest.approx({1: 0.6 * 0.1 + 0.4, 2: 0.6 * 0.5 + 0.4 * 0.5, 3: 0.6 * 0.9})
    assert [one.id for one in ranked] == [3, 2, 1]
    assert all(one.score == pytest.approx(sum(one.factors.values())) for one in ranked)


def test_what_a_cross_encoder_did_not_read_stays_behind_what_it_did() -> None:
    """R11: it may be given the best alone."""
    fused = [Ranked(id=n, score=1 / (60 + n), factors={"rrf": 1 / (60 + n)}) for n in range(1, 6)]

    assert [one.id for one in rerank(fused, {1: 0.0, 2: 0.0, 3: 0.5})] == [3, 1, 2, 4, 5]
    assert rerank(fused, {}) == fused
    assert [one.id for one in rerank(fused[:1], {1: 0.5})] == [1]


# --- lifetimes, identity ----------------------------------------------------------------------------------------------


def test_a_task_lasts_a_day_unless_told_otherwise() -> None:
    """T3: ttl 86 400 s by default, of tasks alone."""
    assert {name: one.ttl_seconds for name, one in TYPES.items() if one.ttl_seconds} == {"task": 86_400}
