"""Names as they are compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.names import ALIKE, likeness, may_be_one, normalised, short_forms, slug, trigrams


@pytest.mark.parametrize(
    ("one", "other"),
    [("Priya Sharma", "priya  SHARMA"), ("the EM", "EM"), ("Dr. Osei", "Osei"), ("Müller", "MULLER"), ("Tom's", "Tom"),
     ("P. Sharma", "P Sharma"), ("C++", "c++")],
)  # fmt: skip
def test_these_are_one_name(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [("priya", "priya sharma", True), ("p sharma", "priya sharma", True), ("priya sharma", "priya patel", False),
     ("paul sharma", "priya sharma", False), ("p sharma", "q sharma", False), ("ana de la cruz", "ana cruz", True)],
)  # fmt: skip
def test_who_may_be_one_person(one: str, other: str, are: bool) -> None:
    assert may_be_one(one, other) == may_be_one(other, one) == are


def test_short_forms_are_of_full_names() -> None:
    assert list(short_forms("priya sharma")) == ["priya", "p sharma"]
    assert list(short_forms("priya")) == list(short_forms("p sharma")) == []


def test_the_threshold_lets_the_order_of_words_and_little_else_pass() -> None:
    def alike(one: str, other: str) -> float:
        return likeness(trigrams(normalised(one)), trigrams(normalised(other)))

    assert alike("Featherstonehaugh Bartholomew", "Bartholomew Featherstonehaugh") == 1.0
    assert alike("Bartholomew Featherstonehaugh", "Bartholomew Featherstonehaughs") >= ALIKE
    assert alike("Anna Weber", "Anna Webber") < ALIKE
    assert alike("Tom", "Tim") < 0.5


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_a_share(one: str, other: str) -> None:
    grams = trigrams(normalised(one)), trigrams(normalised(other))

    assert 0.0 <= likeness(*grams) == likeness(*reversed(grams)) <= 1.0
    assert slug(one).startswith("e_")
    assert normalised(normalised(one)) == normalised(one)
