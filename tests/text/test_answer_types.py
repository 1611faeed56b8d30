"""Kinds of answer that questions expect."""

import pytest

from text.answer_types import asks_about_now, asks_about_the_past, kinds_expected, kinds_of


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


@pytest.mark.parametrize(
    "question",
    [
        "When did Ana move?",
        "where was she before Porto",
        "Didn’t he have a boat?",
        "how many cats had they",
        "who gave me the clock?",
        "which doctor looked at my knee",
        "What did the bus cost a year ago?",
    ],
)
def test_question_about_the_past_is_seen(question: str) -> None:
    assert asks_about_the_past(question)
    assert not asks_about_now(question)


@pytest.mark.parametrize(
    ("question", "is_now"),
    [
        ("Where does Ana live?", False),
        ("what do I pay for the mooring", False),
        ("which bed do I sleep in", False),
        ("what speed does the boat make", False),
        ("dentist phone number", False),
        ("where did they settle in the end", True),
        ("what was her weight at last count", True),
    ],
)
def test_question_about_what_holds_is_not_about_the_past(question: str, is_now: bool) -> None:
    assert not asks_about_the_past(question)
    assert asks_about_now(question) == is_now
