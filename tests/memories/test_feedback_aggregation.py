"""What signals amount to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.feedback_aggregation import RECENT, STEPS, Signal, moved, trend_of

signals = st.lists(st.sampled_from(list(Signal)), max_size=RECENT)


def test_few_signals_say_nothing_yet() -> None:
    trend = trend_of([Signal.NEGATIVE, Signal.NEGATIVE])

    assert (trend.momentum, trend.multiplier, trend.recent_count) == ("neutral", 1.0, 2)


def test_one_voice_amplifies_and_two_damp() -> None:
    agreed = trend_of([Signal.POSITIVE] * 5)
    mixed = trend_of([Signal.POSITIVE, Signal.NEGATIVE] * 5)

    assert (agreed.momentum, agreed.consistency, agreed.multiplier) == ("positive", 1.0, 2.0)
    assert (mixed.momentum, mixed.consistency, mixed.multiplier) == ("neutral", 0.0, 0.5)


def test_a_judgement_outweighs_what_was_only_noticed() -> None:
    assert trend_of([Signal.NEGATIVE, Signal.RETRIEVED, Signal.RETRIEVED]).momentum == "negative"


@given(signals=signals)
def test_trend_is_within_its_bounds_and_order_is_nothing_to_it(signals: list[Signal]) -> None:
    trend = trend_of(signals)

    assert 0.0 <= trend.consistency <= 1.0
    assert 0.5 <= trend.multiplier <= 2.0
    assert trend_of(signals[::-1]) == trend


@given(start=st.floats(0.05, 1.0), signals=signals, signal=st.sampled_from(list(Signal)))
def test_importance_moves_the_right_way_and_stays_within_its_bounds(
    start: float, signals: list[Signal], signal: Signal
) -> None:
    after = moved(start, signal, trend_of([*signals, signal][-RECENT:]))

    assert 0.05 <= after <= 1.0
    assert (after - start) * STEPS[signal] >= -1e-6


@pytest.mark.parametrize(("start", "signal", "expected"), [(0.5, "positive", 0.55), (0.5, "ignored", 0.49)])
def test_first_signal_moves_by_its_step(start: float, signal: str, expected: float) -> None:
    assert moved(start, Signal(signal), trend_of([Signal(signal)])) == expected
