"""The confidence formula, with the seed systems' own numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.types import TYPES, confidence

FRACTION = st.floats(0, 1)


@pytest.mark.parametrize(("times", "expected"), [(1, 0.65), (3, 0.75), (5, 0.85), (6, 0.85), (100, 0.85)])
def test_an_explicit_preference_grows_sure_by_repetition(times: int, expected: float) -> None:
    prior = TYPES["preference"].prior

    sure = confidence(source_strength=0.9, repetition_count=times, extractor_confidence=0.9, prior=prior)

    assert sure == pytest.approx(0.45 * 0.9 + 0.20 * min(1, (times - 1) / 4) + 0.25 * 0.9 + 0.10 * 0.2)
    assert sure == pytest.approx(expected)


def test_an_inferred_relation_stays_below_one_half() -> None:
    sure = confidence(source_strength=0.5, repetition_count=1, extractor_confidence=0.7, prior=TYPES["relation"].prior)

    assert round(sure, 2) == 0.41


@given(FRACTION, FRACTION, FRACTION, st.integers(1, 1000))
def test_it_is_a_fraction_and_never_falls_with_repetition(
    source: float, extractor: float, prior: float, times: int
) -> None:
    once, more = (
        confidence(source_strength=source, repetition_count=n, extractor_confidence=extractor, prior=prior)
        for n in (times, times + 1)
    )

    assert 0.0 <= once <= more <= 1.0
