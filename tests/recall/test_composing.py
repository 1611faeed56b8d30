"""A prompt with memories in it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.recall.composing import HEADING, PINNED_HEADING, PROFILE_HEADING, Composed, Line, question_of
from apps.recall.composing import compose as compose_lines
from tests.makers import NOW
from text.digest import count_tokens

TEXTS = ["I live in Lisbon.", "I work as a nurse and like the early shift.", "I eat no nuts."]


def compose(template: str, texts: Sequence[str], *, max_tokens: int | None = None) -> Composed:
    return compose_lines(template, [Line(text=text) for text in texts], max_tokens=max_tokens)


@pytest.mark.parametrize("place", ["{memories}", "{{memories}}", "{{ memories }}"])
def test_memories_stand_where_the_place_is(place: str) -> None:
    made = compose(f"Known:\n{place}\nPlan my day.", TEXTS[:2])

    assert made.prompt == f"Known:\n- {TEXTS[0]}\n- {TEXTS[1]}\nPlan my day."
    assert (list(made.used), made.truncated) == ([0, 1], False)
    assert made.tokens == count_tokens(made.prompt)


def test_memories_stand_in_front_where_there_is_no_place() -> None:
    assert compose("Plan my day.", TEXTS[:1]).prompt == f"{HEADING}\n- {TEXTS[0]}\n\nPlan my day."
    assert compose("Plan my day.", []).prompt == "Plan my day."


def test_what_a_memory_says_is_no_place_and_no_reference() -> None:
    made = compose("{memories}", ["say {memories} and \\1 and {{memories}}"])

    assert made.prompt == "- say {memories} and \\1 and {{memories}}"


def test_a_text_that_does_not_fit_is_left_out_whole_and_a_shorter_one_still_fits() -> None:
    budget = count_tokens(f"Plan my day.\n- {TEXTS[0]}\n- {TEXTS[2]}")

    made = compose("{memories}\nPlan my day.", TEXTS, max_tokens=budget)

    assert (list(made.used), made.truncated) == ([0, 2], True)
    assert made.tokens <= budget


def test_a_template_over_the_budget_is_not_cut() -> None:
    made = compose("Plan a long day for me. {memories}", TEXTS, max_tokens=2)

    assert (list(made.used), made.truncated) == ([], True)
    assert made.prompt.startswith("Plan a long day for me.")


@given(st.text(), st.lists(st.text(), max_size=6), st.integers(1, 60))
def test_budget_holds_and_no_text_is_split(template: str, texts: list[str], budget: int) -> None:
    made = compose(template, texts, max_tokens=budget)

    assert made.tokens == count_tokens(made.prompt)
    assert not made.used or made.tokens <= budget
    assert all(f"- {' '.join(texts[at].split())}" in made.prompt for at in made.used)  # one line each


def test_question_of_a_template_is_the_rest_of_it() -> None:
    assert question_of("Known: {memories}\nWhere do I live?") == "Known: Where do I live?"
    assert question_of("{{memories}} {memories}") == ""


def test_dates_precede_what_is_relevant_and_not_the_standing_profile() -> None:
    lines = [
        Line(text="I eat no nuts.", said_at=NOW, heading=PROFILE_HEADING),
        Line(text="I live\nin Lisbon.", said_at=NOW),
        Line(text="I ran a marathon.", said_at=NOW, happened_at=NOW - timedelta(days=1)),
    ]

    made = compose_lines("{memories}\nPlan my day.", lines)

    assert made.prompt == (
        f"{PROFILE_HEADING}\n- I eat no nuts.\n\n{HEADING}\n- [said {NOW:%Y-%m-%d}] I live in Lisbon.\n"
        f"- [on {NOW - timedelta(days=1):%Y-%m-%d}] I ran a marathon.\nPlan my day."
    )
    assert made.tokens == count_tokens(made.prompt)


@pytest.mark.parametrize("template", ["{memories} Plan my day.", "Plan my day."])
@given(kinds=st.lists(st.sampled_from([0, 1, 2]), max_size=6), budget=st.integers(1, 80))
def test_budget_includes_the_headings_that_are_needed(template: str, kinds: list[int], budget: int) -> None:
    headings = (PINNED_HEADING, PROFILE_HEADING, HEADING)
    lines = [Line(text="I eat no nuts.", said_at=NOW, heading=headings[kind]) for kind in sorted(kinds)]

    made = compose_lines(template, lines, max_tokens=budget)

    kept = [lines[at] for at in made.used]
    assert not kept or made.tokens <= budget
    for heading in (PINNED_HEADING, PROFILE_HEADING):
        assert made.prompt.count(heading) == any(line.heading == heading for line in kept)
    assert made.prompt.count(str(Line(text="I eat no nuts.", said_at=NOW))) == sum(
        line.heading != PROFILE_HEADING for line in kept
    )
