"""Reading a question: its voice, its names, its dates."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.plaintext import Plaintext
from apps.recall.question import (
    MAX_CHARACTERS,
    AskedDate,
    ask,
    asked_dates,
    asked_window,
    date_match,
    words_that_may_name,
)


def first_person(text: str, *names: str) -> str:
    return ask(Plaintext(text), participants=names).first_person.reveal()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where does Caroline live?", "Where does I live?"),
        ("What is Caroline's job?", "What is my job?"),
        ("What is caroline’s job?", "What is my job?"),
        ("When did Caroline say that she met her friend?", "When did I say that I met my friend?"),
        ("Who told Caroline about him?", "Who told I about me?"),
        ("Who is Carolineson?", "Who is Carolineson?"),
    ],
)
def test_the_one_person_named_is_put_into_the_first_person(asked: str, said: str) -> None:
    assert first_person(asked, "caroline") == said


def test_of_two_people_pronouns_are_left_alone() -> None:
    assert (
        first_person("Did Caroline meet Melanie at her house?", "caroline", "melanie") == "Did I meet I at her house?"
    )


def test_who_does_not_speak_here_stays_who_they_are() -> None:
    assert first_person("What did Napoleon say to her?") == "What did Napoleon say to her?"


def test_a_name_of_signs_is_a_name_and_no_pattern() -> None:
    assert first_person("What did a.c say? abc?", "a.c") == "What did I say? abc?"


def test_names_are_not_looked_up_as_words_unless_there_is_nothing_else() -> None:
    assert ask(Plaintext("Where did Caroline hike?"), participants=("caroline",)).terms == ["hike"]
    assert ask(Plaintext("Caroline?"), participants=("caroline",)).terms == ["carolin"]


def test_words_that_may_name_are_each_there_once_without_possessive() -> None:
    assert words_that_may_name("Did Ana’s boss meet ANA, Bo or 4 x?") == ["did", "ana", "boss", "meet", "bo", "or"]


def test_only_so_many_words_are_tried_as_names() -> None:
    assert len(words_that_may_name(" ".join(f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"))) == 64


def test_the_rest_of_a_very_long_question_is_not_read() -> None:
    long = ask(Plaintext("parcel " * MAX_CHARACTERS + "heron"))

    assert "heron" not in long.terms
    assert len(long.first_person.reveal()) == MAX_CHARACTERS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what happened on 7 May 2023?", [AskedDate(2023, 5, 7)]),
        ("what happened on the 7th of May, 2023?", [AskedDate(2023, 5, 7)]),
        ("what happened on May 7th?", [AskedDate(None, 5, 7)]),
        ("between 1 June and June 3, 2024", [AskedDate(None, 6, 1), AskedDate(2024, 6, 3)]),
        ("what did we plan in May?", [AskedDate(None, 5, None)]),
        ("what did we plan for May 2023?", [AskedDate(2023, 5, None)]),
        ("late december 2022", [AskedDate(2022, 12, None)]),
        ("the August party", [AskedDate(None, 8, None)]),
        ("what happened in 2019?", [AskedDate(2019, None, None)]),
        ("what may happen, and may I come?", []),
        ("May I ask something?", []),
        ("order 20231 of 99 parcels", []),
        ("where do I live?", []),
    ],
)
def test_dates_are_read_as_far_as_they_are_said(text: str, found: list[AskedDate]) -> None:
    assert asked_dates(text) == found


def at(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "when", "match"),
    [
        (AskedDate(2023, 5, 7), at(2023, 5, 7), 1.0),
        (AskedDate(2023, 5, 7), at(2023, 5, 8), 1.0),
        (AskedDate(2023, 5, 7), at(2023, 5, 14), 0.7),
        (AskedDate(2023, 5, 7), at(2023, 6, 7), 0.3),
        (AskedDate(2023, 5, 7), at(2023, 6, 8), 0.0),
        (AskedDate(2023, 5, 7), at(2024, 5, 7), 0.0),
        (AskedDate(2022, 12, 31), at(2023, 1, 1), 1.0),  # over the turn of the year
        (AskedDate(None, 12, 31), at(2023, 1, 1), 1.0),
        (AskedDate(None, 1, 1), at(2022, 12, 28), 0.7),
        (AskedDate(None, 2, 29), at(2024, 2, 29), 1.0),
        (AskedDate(2023, 2, 29), at(2023, 2, 28), 0.0),  # no such day
        (AskedDate(None, 13, 1), at(2023, 1, 1), 0.0),
        (AskedDate(None, 5, None), at(2023, 5, 30), 1.0),
        (AskedDate(None, 5, None), at(2023, 6, 10), 0.5),  # told in the first days of the next month
        (AskedDate(None, 5, None), at(2023, 6, 11), 0.0),
        (AskedDate(2022, 12, None), at(2023, 1, 5), 0.5),
        (AskedDate(2022, 12, None), at(2022, 1, 5), 0.0),
        (AskedDate(2023, 5, None), at(2024, 5, 5), 0.0),
        (AskedDate(2023, None, None), at(2023, 5, 7), 0.3),
        (AskedDate(2023, None, None), at(2024, 5, 7), 0.0),
    ],
)
def test_a_time_fits_a_date_the_less_the_further_it_is(asked: AskedDate, when: datetime, match: float) -> None:
    assert date_match([asked], when) == match


def test_of_several_dates_the_best_fit_counts_and_without_one_nothing_does() -> None:
    assert date_match([AskedDate(2001, None, None), AskedDate(2023, 5, 7)], at(2023, 5, 7)) == 1.0
    assert date_match([], at(2023, 5, 7)) == 0.0
    assert date_match([AskedDate(2023, 5, 7)], None) == 0.0


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar_are_no_trouble(year: int) -> None:
    assert date_match([AskedDate(None, 12, 31)], at(year, 12, 31)) == 1.0
    assert date_match([AskedDate(None, 1, 1)], at(year, 1, 1)) == 1.0


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Why did we move?", "analytical"),
        ("summarise the week", "analytical"),
        ("Where do I live?", "factual"),
        ("how many parcels came", "factual"),
        ("tell me a story", "conversational"),
    ],
)
def test_intents(text: str, intent: str) -> None:
    assert ask(Plaintext(text)).intent == intent


@given(text=st.text(max_size=200), names=st.lists(st.text(min_size=1, max_size=8), max_size=3))
def test_any_question_can_be_read(text: str, names: list[str]) -> None:
    question = ask(Plaintext(text), participants=names)

    assert 0.0 <= date_match(question.dates, at(2026, 11, 21)) <= 1.0


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("What happened last Tuesday?", (2026, 11, 17), (2026, 11, 17)),
        ("What happened yesterday?", (2026, 11, 20), (2026, 11, 20)),
        ("What did I do last week?", (2026, 11, 9), (2026, 11, 15)),
        ("What happened 3 days ago?", (2026, 11, 18), (2026, 11, 18)),
        ("What did we do last month?", (2026, 10, 1), (2026, 10, 31)),
    ],
)
def test_a_time_is_asked_about_by_how_long_ago_it_was(
    asked: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    begin, end = asked_window(asked, datetime(2026, 11, 21, 12, tzinfo=UTC)) or (None, None)

    assert (begin, end) == (datetime(*first, tzinfo=UTC), datetime(*last, tzinfo=UTC) + timedelta(days=1))


@pytest.mark.parametrize("asked", ["What happened on 7 May 2023?", "Where do I live?", "What happened long ago?"])
def test_of_a_date_or_of_no_time_there_is_no_window(asked: str) -> None:
    assert asked_window(asked, datetime(2026, 11, 21, 12, tzinfo=UTC)) is None
