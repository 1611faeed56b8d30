"""An answer made of quotes."""

from hypothesis import given
from hypothesis import strategies as st

from apps.recall.synthesis import synthesize

TEXTS = {
    7: "The garden gate was painted green. Omar lent us the ladder for it.",
    3: "We decided to plant three apple trees.",
    9: "The gate squeaks.",
}


def test_quotes_are_exact_and_the_best_sentence_comes_first() -> None:
    made = synthesize(TEXTS, "Who lent us the ladder?")

    assert made.citations[0].memory_id == 7
    assert made.citations[0].quote == "Omar lent us the ladder for it."
    assert made.answer == " ".join(one.quote for one in made.citations)
    assert made.memories_used == 3


def test_what_is_said_twice_is_quoted_once() -> None:
    made = synthesize({1: "The gate squeaks.", 2: "the gate squeaks"}, "gate")

    assert [one.memory_id for one in made.citations] == [1]


def test_nothing_says_nothing() -> None:
    made = synthesize({}, "Who?")

    assert (made.answer, list(made.citations), made.memories_used) == ("", [], 0)


@given(st.dictionaries(st.integers(1), st.text(), max_size=8), st.one_of(st.none(), st.text()), st.integers(1, 5))
def test_every_quote_is_part_of_its_memory(texts: dict[int, str], question: str | None, most: int) -> None:
    made = synthesize(texts, question, most=most)

    assert len(made.citations) <= most
    assert all(one.quote in texts[one.memory_id] for one in made.citations)
    assert made == synthesize(texts, question, most=most)
