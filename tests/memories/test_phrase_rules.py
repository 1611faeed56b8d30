"""Rules of words, by which the tenant's own types are recognised."""

import time

import pytest

from apps.memories.phrase_rules import BadTypeRule, PhraseRule


def wording(*words: str, unless: tuple[str, ...] = (), key_prefix: str = "") -> PhraseRule:
    return PhraseRule(
        name="rule", type="medication", sources=("fact",), words=words, unless=unless, key_prefix=key_prefix
    )


@pytest.mark.parametrize(
    ("words", "text", "fits"),
    [
        (("must not",), "You MUST  not open the door.", True),
        (("must not",), "He must nothing.", False),
        (("cannot",), "I cannot.", True),
        (("cannot",), "I can not.", False),
        (("prescrib*",), "It was prescribed in May.", True),
        (("prescrib*",), "A subprescribed thing.", False),
        (("# mg",), "I take 2.5 mg of it.", True),
        (("# mg",), "I take some mg of it.", False),
        (("can't",), "I can’t eat nuts.", True),
        (("a.c",), "abc", False),
        (("über",), "ÜBER alles", True),
    ],
)
def test_a_phrase_is_whole_words_in_any_case(words: tuple[str, ...], text: str, fits: bool) -> None:
    assert wording(*words).fits("fact", None, text) is fits


def test_only_the_named_types_are_looked_at() -> None:
    assert wording("pill").fits("fact", None, "a pill")
    assert not wording("pill").fits("event", None, "a pill")


def test_words_and_the_beginning_of_a_key_must_both_hold_where_both_are_given() -> None:
    both = wording("pill", key_prefix="user.health")

    assert both.fits("fact", "user.health.pill", "a pill")
    assert not both.fits("fact", "user.home", "a pill")
    assert not both.fits("fact", None, "a pill")
    assert not both.fits("fact", "user.health.pill", "a potion")
    assert wording(key_prefix="user.health").fits("fact", "user.health.pill", "a potion")


def test_an_exception_outweighs_the_words() -> None:
    assert not wording("pill", unless=("pillow",)).fits("fact", None, "a pill under the pillow")


@pytest.mark.parametrize(
    "broken",
    [
        wording(),
        wording(""),
        wording("*"),
        wording("x" * 65),
        wording(*(str(number) for number in range(65))),
        wording("pill", unless=(" ",)),
        wording(key_prefix="k" * 65),
    ],
)
def test_what_tells_nothing_or_too_much_is_refused(broken: PhraseRule) -> None:
    with pytest.raises(BadTypeRule):
        broken.check()


def test_no_phrase_takes_long_to_look_for() -> None:
    patient = wording("a* a* a* a* a* a* b", "# # # # # x")

    started = time.perf_counter()
    assert not patient.fits("fact", None, "a " * 5_000 + "1 " * 5_000)

    assert time.perf_counter() - started < 1.0
