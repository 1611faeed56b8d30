"""Kinds of answer that questions expect."""

import pytest

from text.answer_types import kinds_expected, kinds_of


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did Ana move?", "I moved last spring, in the first week of the holidays."),
        ("How long have they known each other?", "We met in 2016."),
        ("How many dogs has she got?", "My two dogs sleep on the sofa."),
        ("How often does he swim?", "I go there twice."),
        ("Who taught her to sail?", "My uncle Pedro did."),
        ("Where does he live?", "I found a flat in Porto."),
        ("Which band did they see?", "We saw the Herons play."),
    ],
)
def test_an_answer_of_the_kind_that_is_asked_for_is_seen(question: str, text: str) -> None:
    assert kinds_expected(question) & kinds_of(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did Ana move?", "I moved to a flat by the river."),
        ("How many dogs has she got?", "My dogs sleep on the sofa."),
        ("Where does he live?", "I found a flat. It is small."),
        ("Why did she leave?", "I left two jobs in Porto last year."),
        ("", "Last year in Porto."),
    ],
)
def test_without_one_or_without_a_hint_nothing_is_expected(question: str, text: str) -> None:
    assert not kinds_expected(question) & kinds_of(text)
