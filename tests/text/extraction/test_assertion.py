"""Statements that leave out "I" are told from questions without a question mark."""

import pytest

from text.extraction.assertion import asks


@pytest.mark.parametrize(
    "low",
    [
        "had my last shift at greggs today, i have left there.",
        "had the dog put to sleep on saturday",
        "ok, did the transfer, mick has his money",
        "did the bas last night",
        "have the results, i passed",
    ],
)
def test_a_statement_without_its_subject_is_no_question(low: str) -> None:
    assert not asks(low)


@pytest.mark.parametrize(
    "low",
    ["did the parcel come", "did my brother call you", "had my keys turned up?", "do we have milk"],
)
def test_a_question_without_its_mark_is_one(low: str) -> None:
    assert asks(low)
