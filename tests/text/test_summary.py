"""A summary made of sentences."""

from hypothesis import given
from hypothesis import strategies as st

from text.digest import keeps_everything
from text.summary import MOST_LINES, summary_of

TEXTS = [
    "It was a fine day. Omar paid 40 euros for the boat.",
    "We laughed. Lea Marti flew to Rome on 3 May.",
    "Omar paid 40 euros for the boat.",
]


def test_summary_has_of_each_text_the_sentence_that_names_most_each_once() -> None:
    assert summary_of(TEXTS, lossless=False) == "Omar paid 40 euros for the boat.\nLea Marti flew to Rome on 3 May."


def test_lossless_summary_leaves_out_only_what_another_sentence_says() -> None:
    assert summary_of(TEXTS, lossless=True) == (
        "It was a fine day.\nOmar paid 40 euros for the boat.\nWe laughed.\nLea Marti flew to Rome on 3 May."
    )


def test_summary_has_an_end() -> None:
    assert len(summary_of([f"Room {n} is green." for n in range(99)], lossless=False).splitlines()) == MOST_LINES


@given(st.lists(st.text(), max_size=6))
def test_lossless_summary_keeps_each_name_and_figure_and_is_always_the_same(texts: list[str]) -> None:
    made = summary_of(texts, lossless=True)

    assert keeps_everything(made, texts)
    assert made == summary_of(texts, lossless=True)
    assert summary_of(texts, lossless=False) == summary_of(texts, lossless=False)
