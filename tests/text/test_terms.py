"""Text to terms, and BM25 against numbers made by hand and by a slower way."""

import math
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.bm25 import bm25, bm25_parameters
from text.terms import (
    _UNSPACED,
    MAX_TERMS,
    STOP_WORDS,
    TF_CAP,
    _words,
    indexed,
    normalised,
    rounded_length,
    terms,
)

WORD = st.sampled_from(["heron", "lock", "river", "bee", "mill"])
TEXT = st.lists(WORD, max_size=30)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The herons were nesting beside the locks.", ["heron", "nest", "besid", "lock"]),
        ("What is it that you are?", []),
        ("Ana's bike, Ana’s bike", ["ana", "bike", "ana", "bike"]),
        ("the O'Brien house", ["obrien", "hous"]),
        ("I don't and I'll and we've", []),
        ("C3PO met R2-D2 in 2024", ["c3po", "meet", "r2", "d2", "2024"]),
        ("We went there, and she has gone with the children.", ["go", "go", "child"]),
        ("snake_case", ["snake", "case"]),
        ("Ｆｕｌｌ width ﬁsh", ["full", "width", "fish"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("", []),
        ("\0 \u200b !?", []),
    ],
)
def test_terms(text: str, found: list[str]) -> None:
    assert terms(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("東京でsushi", ["東京", "京で", "sushi"]),
        ("สวัสดี", terms("สวัสดี")),
    ],
)
def test_scripts_without_spaces_are_found_by_pairs(text: str, found: list[str]) -> None:
    assert terms(text) == found
    assert terms(text)


@given(text=st.text(max_size=300))
def test_any_text_has_terms_that_are_words(text: str) -> None:
    assert all(term and term not in {"", " "} for term in terms(text))


@given(text=st.text(max_size=60) | st.text(alphabet="aB9é_ '’\"-sdlt", max_size=60))
def test_words_are_runs_of_letters_and_digits_joined_by_single_apostrophes(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", folded)
    wanted = [re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", word).replace("'", "").replace("’", "") for word in words]

    if not _UNSPACED.search(folded):
        assert _words(text) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Lisbon.", "  i LIVE  in\tlisbon "),
        ("I live in Lisbon!", "I live in Lisbon…"),
        ("Ｌｉｓｂｏｎ", "Lisbon"),
    ],
)
def test_case_spacing_width_and_a_full_stop_make_no_other_text(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_a_question_is_another_text_than_a_statement() -> None:
    assert normalised("I live in Lisbon?") != normalised("I live in Lisbon.")


@given(text=st.text(max_size=100))
def test_what_is_normalised_stays_as_it_is_but_for_its_end(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_the_index_caps_how_often_and_how_many() -> None:
    assert indexed(["bee"] * 9 + ["mill"]) == {"bee": TF_CAP, "mill": 1}
    assert list(indexed([str(number) for number in range(5000)])) == [str(number) for number in range(MAX_TERMS)]


@given(count=st.integers(0, 32_000))
def test_a_length_is_rounded_by_less_than_an_eighth(count: int) -> None:
    assert abs(rounded_length(count) - count) <= 0.0625 * count
    assert rounded_length(count) <= rounded_length(count + 1) <= 32_000


def test_short_lengths_are_exact_and_steps_are_an_eighth_at_most() -> None:
    assert [rounded_length(count) for count in range(17)] == list(range(17))
    steps = sorted({rounded_length(count) for count in range(1, 32_000)})
    assert all(after - before <= max(1, before / 8) for before, after in pairwise(steps))
    assert rounded_length(10**6) == 32_000  # fits the column


# -- BM25 --------------------------------------------------------------------------------------------------------------


def test_bm25_by_hand() -> None:
    # Ten short texts, k1 = 0.9, b = 0.4; "bee" in two of them, twice in this one of five terms where ten are usual.
    idf = math.log(1 + (10 - 2 + 0.5) / (2 + 0.5))
    norm = 0.9 * (1 - 0.4 + 0.4 * 5 / 10)
    expected = idf * 2 * 1.9 / (2 + norm)

    score = bm25(
        ["bee"], ["bee", "mill", "bee", "lock", "river"], frequencies={"bee": 2}, documents=10, average_length=10
    )

    assert score == pytest.approx(expected)
    assert round(score, 4) == 2.0699


def test_long_texts_are_normalised_more() -> None:
    assert bm25_parameters(39.9) == (0.9, 0.4)
    assert bm25_parameters(40) == (1.2, 0.75)


@given(query=TEXT, corpus=st.lists(TEXT, min_size=1, max_size=8))
def test_bm25_is_what_the_textbook_says(query: list[str], corpus: list[list[str]]) -> None:
    average = sum(map(len, corpus)) / len(corpus)
    frequencies = {term: sum(term in text for text in corpus) for term in query}

    for text in corpus:
        score = bm25(query, text, frequencies=frequencies, documents=len(corpus), average_length=average)
        assert score == pytest.approx(_textbook(query, text, corpus, average))
        assert score >= 0


def _textbook(query: list[str], text: list[str], corpus: list[list[str]], average: float) -> float:
    k1, b = (0.9, 0.4) if average < 40 else (1.2, 0.75)
    total = 0.0
    for term in set(query):
        tf = text.count(term)
        n = len([one for one in corpus if term in one])
        if tf:
            total += (
                math.log((len(corpus) + 1) / (n + 0.5)) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / average))
            )
    return total


@given(text=TEXT, query=TEXT)
def test_the_order_of_a_text_does_not_change_a_bit_of_its_score(text: list[str], query: list[str]) -> None:
    frequencies = dict.fromkeys(query, 1)

    one, other = (
        bm25(query, each, frequencies=frequencies, documents=9, average_length=7.0) for each in (text, text[::-1])
    )

    assert one == other


def test_an_empty_index_scores_without_dividing_by_zero() -> None:
    assert bm25(["bee"], [], frequencies={"bee": 0}, documents=0, average_length=0.0) == 0.0
    assert bm25(["bee"], ["bee"], frequencies={"bee": 1}, documents=1, average_length=0.0) >= 0.0


def test_stop_words_are_as_they_come_out_of_a_text() -> None:
    assert all(word == word.casefold() for word in STOP_WORDS)
    assert Counter(terms(" ".join(STOP_WORDS))) == Counter()
