"""What a question may ask of whom, as claims are keyed."""

import pytest

from text.question_slots import MOST_PAIRS, asked_claims


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("Where do I live?", ("user", "location")),
        ("Where does my sister work?", ("user.sister", "employer")),
        ("What's my sister's name?", ("user.sister", "name")),
        ("What is my phone number?", ("user", "phone_number")),
        ("Where does Priya live now?", ("priya", "location")),
        ("Priya's birthday?", ("priya", "birthday")),
        ("What am I allergic to?", ("user", "allergy")),
        ("Who do I report to?", ("user", "reports_to")),
    ],
)
def test_the_pair_is_among_those_looked_up(question: str, pair: tuple[str, str]) -> None:
    assert pair in asked_claims(question)


def test_what_names_nobody_asks_of_nobody() -> None:
    assert asked_claims("how tall is the tower?") == []


def test_there_are_never_many_and_no_pair_twice() -> None:
    pairs = asked_claims(" ".join(f"my word{at} Name{at}" for at in range(200)))

    assert len(pairs) == len(set(pairs)) == MOST_PAIRS
