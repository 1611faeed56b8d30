"""What is told of a text without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.digest import count_tokens, digest_of, figures, keeps_everything, key_points, names, sentences, topics


def test_sentences_are_cut_at_stops_and_lines_and_not_at_abbreviations() -> None:
    text = "Dr. Lee is in at 9.30 a.m. today. Bring the card!\nNo parking? 明日は休み。またね"

    assert sentences(text) == [
        "Dr. Lee is in at 9.30 a.m. today.", "Bring the card!", "No parking?", "明日は休み。", "またね",
    ]  # fmt: skip


@given(st.text())
def test_sentences_are_parts_of_the_text_and_leave_out_nothing_but_space(text: str) -> None:
    found = sentences(text)

    assert all(one in text and one.strip() for one in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("tea", 1), ("unbelievable", 2), ("in 2026.", 4), ("お茶", 2), ("a, b", 3)]
)
def test_tokens_are_counted_by_pieces(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.lists(st.text()))
def test_tokens_of_lines_add_up(lines: list[str]) -> None:
    assert count_tokens("\n".join(lines)) == sum(count_tokens(line) for line in lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Anna moved to New York in May.", ["Anna", "New York"]),
        ("Dinner with Omar's sister is on Friday.", ["Omar"]),
        ("I think the NASA talk was good.", ["NASA"]),
        ("The tea is cold. Please warm it.", []),
    ],
)
def test_names_are_words_with_capitals_that_no_rule_of_spelling_gave_them(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_figures_are_kept_as_written() -> None:
    assert figures("Pay 1,250.50 on 2026-05-01 at 9:30, 15% off, room B12") == [
        "1,250.50", "2026-05-01", "9:30", "15%", "B12",
    ]  # fmt: skip


def test_key_points_are_the_sentences_that_name_most_in_their_order() -> None:
    text = "It was fine. Omar paid 40 euros. We laughed. Lea Marti flew to Rome. It rained on 3 May."

    assert key_points(text) == ["Omar paid 40 euros.", "Lea Marti flew to Rome.", "It rained on 3 May."]
    assert key_points("Only one thing.") == []


def test_topics_come_from_the_key_and_the_tags() -> None:
    assert topics("user.allergy.tree_nuts", ["health", "allergy"]) == ["allergy", "tree nuts", "health"]
    assert topics(None, []) == []


def test_a_summary_that_drops_a_name_or_a_figure_is_found_out() -> None:
    texts = ["Omar paid 40 euros.", "He flew with Lea to Rome."]

    assert keeps_everything("Omar paid 40 euros and flew with Lea to Rome.", texts)
    assert not keeps_everything("Omar paid and flew with Lea to Rome.", texts)
    assert not keeps_everything("Omar paid 40 euros and flew to Rome.", texts)


def test_gist_of_a_long_text_is_read_from_its_beginning() -> None:
    text = "Omar paid 40 euros. " * 4_000

    made = digest_of(text, key="user.debt", tags=["money"])

    assert (list(made.entities), list(made.topics)) == (["Omar"], ["debt", "money"])
    assert abs(made.tokens - count_tokens(text)) < 100
