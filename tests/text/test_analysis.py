"""Analyses of texts: what ranking reads in place of a text."""

from hypothesis import given
from hypothesis import strategies as st

from text.analysis import VERSION, TextAnalysis, countable
from text.answer_types import kinds_of
from text.irregular import BASES
from text.terms import normalised, terms

SAID = st.lists(
    st.sampled_from([*BASES, *BASES.values(), "dying", "skis", "Yes", "Ana's", "the", "herons", "hero"]), max_size=20
)
TEXT = SAID.map(" ".join) | st.text(max_size=80)


@given(said=TEXT, asked=TEXT)
def test_terms_are_counted_as_whole_terms(said: str, asked: str) -> None:
    wanted, found = set(terms(asked)), terms(said)

    analysis = TextAnalysis.of(said)

    assert analysis.length == len(found)
    assert analysis.count(countable(wanted)) == {term: found.count(term) for term in wanted & set(found)}


@given(text=TEXT)
def test_an_analysis_is_read_as_it_was_written(text: str) -> None:
    analysis = TextAnalysis.of(text)

    assert TextAnalysis.from_bytes(analysis.to_bytes()) == analysis
    assert TextAnalysis.of(text, terms(text)) == analysis
    assert (analysis.kinds, analysis.is_question) == (kinds_of(text), text.rstrip().endswith("?"))


@given(one=TEXT, other=TEXT)
def test_fingerprints_are_equal_where_normalised_texts_are(one: str, other: str) -> None:
    same = TextAnalysis.of(one).fingerprint == TextAnalysis.of(other).fingerprint

    assert same == (normalised(one) == normalised(other))
    assert TextAnalysis.of(f"  {one.upper().lower()} ").fingerprint == TextAnalysis.of(one.upper().lower()).fingerprint


def test_an_analysis_of_another_version_is_not_read() -> None:
    raw = TextAnalysis.of("I keep two hives.").to_bytes()

    assert TextAnalysis.from_bytes(bytes([VERSION + 1]) + raw[1:]) is None
    assert TextAnalysis.from_bytes(b"") is None


def test_an_analysis_does_not_print_its_text() -> None:
    assert "hive" not in repr(TextAnalysis.of("I keep two hives."))
