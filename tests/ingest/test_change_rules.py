"""What two scored statements come to: which words are over, and who may say so."""

import math
from dataclasses import replace

import pytest

from apps.adapters.classifiers.base import CHANGES, RELATIONS, ChangeScores, WordScore
from apps.ingest.change_rules import (
    Effect,
    StatementChange,
    Sureness,
    change_of,
    is_beside,
    may_change,
    says_nothing,
)
from apps.ingest.relatedness import RELATION, SUREST, corrected

YORK = "I live in York, with my wife Anna."
HULL = "We moved to Hull."
SURENESS = Sureness(ends=0.75, outdates=0.5, repeats=0.9, word=0.5)


def scores(earlier: str, *over: str, **relations: float) -> ChangeScores:
    """Each of the words ``over`` is surely over."""
    words, at = [], 0
    for word in earlier.split():
        at = earlier.index(word, at)
        words.append(WordScore(at, at + len(word), 0.9 if word.strip(".,") in over else 0.1))
        at += len(word)
    chance = sum(relations.get(name, 0.0) for name in CHANGES)
    every = dict.fromkeys(RELATIONS, 0.0) | relations
    return ChangeScores(relations=every, over=chance, repeated=every["repeats"], words=words)


def words_of(change: StatementChange | None, earlier: str) -> list[str]:
    return [earlier[start:end] for start, end in change.words] if change else []


def test_the_words_that_are_over_end_without_the_punctuation_around_them() -> None:
    change = change_of(HULL, YORK, scores(YORK, "York", replaces=0.7, ends=0.2), SURENESS)

    assert change is not None
    assert (change.effect, words_of(change, YORK)) == (Effect.ENDS, ["York"])


def test_of_several_runs_the_surest_ends_with_a_doubtful_word_between() -> None:
    earlier = "I teach maths at Hill Road School and I drive an old Volvo."
    over = scores(earlier, "at", "Hill", "School", "Volvo", replaces=0.9)

    assert words_of(change_of("x", earlier, over, SURENESS), earlier) == ["at Hill Road School"]


def test_a_run_ends_with_its_clause() -> None:
    earlier = "My sister teaches in Porto, and I live in Utrecht."
    over = scores(earlier, "teaches", "Porto", "I", "live", "in", "Utrecht", replaces=0.9)

    assert words_of(change_of("x", earlier, over, SURENESS), earlier) == ["I live in Utrecht"]


def test_a_clause_of_what_is_spoken_of_ends_before_a_surer_one() -> None:
    earlier = "I take metformin every morning, and my dog is called Rex."
    over = scores(earlier, "metformin", "every", "morning", "Rex", ends=0.9)

    assert words_of(change_of("Our dog died last week.", earlier, over, SURENESS), earlier) == ["Rex"]
    assert words_of(change_of("He died last week.", earlier, over, SURENESS), earlier) == ["metformin every morning"]


def test_a_verb_for_the_end_names_no_clause() -> None:
    earlier = "I play the cello in the town orchestra, and I gave up alcohol in 2019."
    over = scores(earlier, "cello", "alcohol", "2019", ends=0.9)

    assert words_of(change_of("I gave up the cello.", earlier, over, SURENESS), earlier) == ["cello"]


def test_no_clause_ends_in_the_place_of_the_one_that_is_spoken_of() -> None:
    earlier = "I take metformin every morning, and my dog is called Rex."
    over = scores(earlier, "metformin", "every", "morning", ends=0.9)

    assert change_of("Our dog died last week.", earlier, over, SURENESS) == StatementChange(effect=Effect.OUTDATES)


def test_where_nothing_is_left_to_say_all_of_it_ends() -> None:
    change = change_of(HULL, "I live in York.", scores("I live in York.", "York", replaces=0.9), SURENESS)

    assert change == StatementChange(effect=Effect.ENDS)


def test_what_is_marked_already_is_not_ended_twice() -> None:
    earlier = "I live in … with Anna and work at the mill."
    change = change_of("x", earlier, scores(earlier, "…", "mill", replaces=0.9), SURENESS)

    assert words_of(change, earlier) == ["mill"]


@pytest.mark.parametrize(
    ("relations", "over", "effect"),
    [
        ({"replaces": 0.6}, ["York"], Effect.OUTDATES),
        ({"replaces": 0.9}, [], Effect.OUTDATES),
        ({"replaces": 0.4, "adds": 0.6}, ["York"], None),
        ({"adds": 1.0}, [], None),
        ({"repeats": 0.8}, [], None),
    ],
    ids=["not sure", "no words", "not likely", "more of it", "perhaps the same"],
)
def test_what_is_not_sure_ends_nothing(relations: dict[str, float], over: list[str], effect: Effect | None) -> None:
    change = change_of(HULL, YORK, scores(YORK, *over, **relations), SURENESS)

    assert (change.effect if change else None, change.words if change else ()) == (effect, ())


@pytest.mark.parametrize(
    ("later", "earlier", "effect"),
    [
        ("My favourite cake is tiramisu.", "My favourite tea is oolong.", None),
        ("My favorite food is pizza and I live in Hull.", "My favorite color is blue.", None),
        ("My favourite cake is tiramisu.", "My favourite tea is oolong and I live in Hull.", Effect.OUTDATES),
        ("I hate oolong.", "My favourite tea is oolong.", Effect.OUTDATES),
    ],
)
def test_a_favourite_of_another_kind_ends_none(later: str, earlier: str, effect: Effect | None) -> None:
    change = change_of(later, earlier, scores(earlier, replaces=0.9), SURENESS)

    assert (change.effect if change else None) == effect


@pytest.mark.parametrize(
    ("later", "earlier", "effect"),
    [
        ("I switched from Postgres to SQLite.", "I bank with Triodos.", None),
        ("I switched from Postgres to SQLite.", "I use Postgres for my side project.", Effect.OUTDATES),
        ("We moved the office from Hull to York.", "Our office is in Hull.", Effect.OUTDATES),
        ("I switched from Postgres to SQLite, and I changed my bank.", "I bank with Triodos.", Effect.OUTDATES),
        ("I moved to York.", "I live in Hull.", Effect.OUTDATES),
    ],
)
def test_a_change_that_names_what_it_ends_ends_nothing_else(later: str, earlier: str, effect: Effect | None) -> None:
    change = change_of(later, earlier, scores(earlier, replaces=0.9), SURENESS)

    assert (change.effect if change else None) == effect


@pytest.mark.parametrize("relation", ["adds", "unrelated"])
def test_an_end_and_a_repetition_are_less_likely_where_the_relation_is_another(relation: str) -> None:
    given = replace(scores(YORK, **{relation: 1.0}), over=0.5, repeated=0.5)

    found = corrected(given, 0.5)

    assert found.over == found.repeated == pytest.approx(1 / (1 + math.exp(RELATION * SUREST)))


def test_a_likely_relation_and_relatedness_of_a_half_change_nothing() -> None:
    given = replace(scores(YORK, replaces=0.5, repeats=0.5), over=0.3, repeated=0.7)

    found = corrected(given, 0.5)

    assert (found.over, found.repeated) == pytest.approx((0.3, 0.7))
    assert corrected(given, 0.9).over > 0.3 > corrected(given, 0.2).over


def test_another_value_of_a_slot_with_several_values_stands_beside_a_claim() -> None:
    claims = {"many_valued": True, "has_slot": True}

    assert is_beside(Effect.ENDS, 0.8, **claims)
    assert is_beside(Effect.OUTDATES, 1.0, **claims)
    assert not is_beside(Effect.ENDS, 0.95, **claims)
    assert not is_beside(Effect.ENDS, 0.8, many_valued=False, has_slot=True)
    assert not is_beside(Effect.ENDS, 0.8, many_valued=True, has_slot=False)


@pytest.mark.parametrize(
    ("later", "effect"),
    [
        ("York it is, where Anna and I live.", Effect.REPEATS),
        ("My wife Anna and I live in York, in Bootham.", None),
        ("My wife Anna and I have lived in York for 9 years.", None),
    ],
)
def test_the_same_again_has_no_name_and_no_number_that_is_new(later: str, effect: Effect | None) -> None:
    change = change_of(later, YORK, scores(YORK, repeats=0.95), SURENESS)

    assert (change.effect if change else None) == effect


@pytest.mark.parametrize(
    "said",
    ["We moved to Hull.", "moved to hull last week lol", "Did you know? We moved to Hull.", "I'm 41 now"],
)
def test_an_assertion_may_change_what_was_said(said: str) -> None:
    assert may_change(said)


@pytest.mark.parametrize(
    "said",
    [
        "Did we move to Hull?",
        "What if we moved to Hull?",
        "is it true that anna moved to hull",
        '"We moved to Hull," said Maud.',
        "> We moved to Hull.",
        "Fwd: We moved to Hull.",
        "Suppose we moved to Hull.",
        "Maybe we should move to Hull one day.",
        'Look what Bob sent: "I no longer live in York."',
        "What if we pretend? I live in Hull.",
        "assistant: You live in Hull now.",
        "> hi\nWe moved to Hull.",
        "",
    ],
)
def test_what_asserts_nothing_may_not(said: str) -> None:
    assert not may_change(said)


@pytest.mark.parametrize(
    "text",
    [
        "I live in ….",
        "We currently drive …",
        "My … is …",
        "…",
        "still working at …",
        "…, from the 1 of July.",
        "I live … since 2019",
        "…, on Friday at 10:00",
    ],
)
def test_a_statement_without_its_object_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in … with Anna.",
        "I have a dog and …",
        "The rent is … until 2027",
        "My sister lives in …",
        "… at the mill",
    ],
)
def test_what_stood_beside_it_still_says_something(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize(
    ("later", "earlier", "ended"),
    [
        ("My favourite tea is genmaicha these days, not oolong.", "My favourite tea is oolong.", ""),
        ("Correction: my dog Biscuit is a whippet, not a greyhound.", "My dog Biscuit is a greyhound.", ""),
        ("My favourite colour is blue.", "My favourite colour is green.", ""),
        ("The key hangs in the hall, not in the shed.", "We have a boat and the key hangs in the shed.",
         "the key hangs in the shed."),
    ],
)  # fmt: skip
def test_what_is_said_to_be_wrong_or_has_one_value_ends_however_unsure_the_classifier_is(
    later: str, earlier: str, ended: str
) -> None:
    change = change_of(later, earlier, scores(earlier), SURENESS)

    assert change is not None
    assert (change.effect, "".join(words_of(change, earlier))) == (Effect.ENDS, ended)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("I work at Siemens, not at Bosch.", "My brother works at Bosch."),
        ("My sister's dog is a whippet, not a greyhound.", "My dog Biscuit is a greyhound."),
        ("I drink tea, not coffee.", "I drink coffee in the morning."),
        ("It is not oolong.", "My favourite tea is oolong."),
        ("Her favourite colour is blue.", "My favourite colour is green."),
        ("My favourite colour is green.", "My favourite colour is green."),
    ],
)
def test_what_is_said_of_something_else_to_be_wrong_does_not(later: str, earlier: str) -> None:
    assert change_of(later, earlier, scores(earlier), SURENESS) is None
