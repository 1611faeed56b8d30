"""A mark stands in place of words, and the rest stays letter by letter."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.marking import MARK, marked, merged, places

SAID = "I live in York with my wife Anna and our twins."


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        ([], SAID),
        ([(10, 14)], "I live in … with my wife Anna and our twins."),
        ([(0, 14)], "… with my wife Anna and our twins."),
        ([(0, 6), (7, 14)], "… with my wife Anna and our twins."),
        ([(28, 32), (10, 14)], "I live in … with my wife … and our twins."),
        ([(33, 46), (36, 99)], "I live in York with my wife Anna …"),
        ([(5, 5)], SAID),
    ],
)
def test_words_are_replaced_by_a_mark(spans: list[tuple[int, int]], shown: str) -> None:
    assert marked(SAID, spans) == shown


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


@given(st.text(alphabet="ab …\n", max_size=60), SPANS)
def test_what_no_span_covers_stays_in_order(text: str, spans: list[tuple[int, int]]) -> None:
    covered = {at for start, end in spans for at in range(start, end)}
    kept = [char for at, char in enumerate(text) if at not in covered and char not in f"{MARK} "]

    assert [char for char in marked(text, spans) if char not in f"{MARK} "] == kept


@given(SPANS)
def test_merged_spans_are_apart_and_cover_the_same(spans: list[tuple[int, int]]) -> None:
    found = merged(spans)

    assert {at for one in spans for at in range(*one)} == {at for one in found for at in range(*one)}
    assert all(one[1] < other[0] for one, other in pairwise(found))


@given(st.text(alphabet="ab …\n", max_size=60), SPANS, st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_a_span_of_what_is_shown_is_found_in_what_was_said(
    text: str, spans: list[tuple[int, int]], wanted: tuple[int, int]
) -> None:
    text = text.replace(MARK, "c")
    ended = [(start, min(end, len(text))) for start, end in spans if start < len(text)]
    shown = marked(text, ended)

    found = places(text, ended, [wanted])

    assert "".join(text[start:end] for start, end in found) == shown[slice(*wanted)].replace(MARK, "")
    assert not {at for one in found for at in range(*one)} & {at for one in ended for at in range(*one)}


def test_a_span_around_a_mark_is_two_in_what_was_said() -> None:
    assert places(SAID, [(10, 14)], [(7, 20)]) == [(7, 10), (14, 23)]
