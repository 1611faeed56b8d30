"""What a turn yields: kept, refused, typed."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.ingest.rules.finding import Finding
from apps.ingest.rules.reader import read_turn

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)  # a Wednesday


def read(text: str, **options: object) -> list[Finding]:
    return read_turn(text, now=NOW, **options)  # type: ignore[arg-type]  # forwarded as they come


def kept(text: str) -> list[tuple[str, str]]:
    return [(f.type, text[f.start : f.end]) for f in read(text) if f.decision == "keep"]


def only(text: str) -> Finding:
    (finding,) = read(text)
    return finding


@pytest.mark.parametrize("role", ["assistant", "system", "tool", "Developer", "function"])
def test_only_the_users_own_turns_are_read(role: str) -> None:
    (finding,) = read("I live in Bristol and I am a glazier.", role=role)

    assert (finding.decision, finding.reason) == ("discarded_low_signal", "not_user_turn")


def test_a_label_inside_the_text_tells_whose_turn_it_is() -> None:
    assert only("assistant: You told me about your home in Bristol.").reason == "not_user_turn"

    text = "user: I live in Bristol"
    (finding,) = read(text)
    assert (finding.key, text[finding.start : finding.end]) == ("user.location", "I live in Bristol")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "42",
        "!!!",
        "thanks",
        "ok thanks",
        "yes please",
        "hello there",
        "too short",
        "haha nice one, thanks so much",
    ],
)
def test_filler_is_low_signal(text: str) -> None:
    assert {f.decision for f in read(text)} == {"discarded_low_signal"}


@pytest.mark.parametrize("text", ["我住在杭州，是一名厨师", "毎朝コーヒーを二杯飲みます", "ฉันแพ้ถั่วลิสง"])
def test_scripts_without_blanks_are_no_single_word(text: str) -> None:
    finding = only(text)

    assert (finding.decision, finding.type, finding.key) == ("keep", "fact", None)


@pytest.mark.parametrize(
    "text",
    [
        "Ich wohne in Kassel und arbeite als Gärtner.",
        "J'habite à Nantes et je suis pompier.",
        "Я працюю лікарем у Львові",
    ],
)
def test_other_languages_are_kept_untyped(text: str) -> None:
    finding = only(text)

    assert (finding.decision, finding.type, finding.key) == ("keep", "fact", None)
    assert text[finding.start : finding.end] == text


@pytest.mark.parametrize(
    "text",
    [
        "which cheese melts best on toast?",
        "could you shorten this paragraph",
        "if I were rich I'd buy a lighthouse",
        "what if we dropped the cache?",
        "maybe we should get a canoe",
        "I might take up pottery one day",
        "imagine you are a medieval blacksmith who hates iron",
        "write a poem about a fox who lives in Leith",
        "oh great, yet another planning meeting",
        "some guy on a forum says garlic repels ticks",
        'The landlord wrote "we welcome all pets and musicians here"',
        "Copper melts at a lower temperature than iron, and the sun is a star",
        "```\nfor i in range(3):\n    print(i)\n```",
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: no',
        "that didn't work either",
    ],
)
def test_what_asserts_nothing_lasting_is_low_signal(text: str) -> None:
    assert {f.decision for f in read(text)} == {"discarded_low_signal"}


@pytest.mark.parametrize(
    "text",
    [
        "I'm so hungry right now",
        "brb, someone's at the door",
        "my phone is at 3%",
        "the pipeline is failing again",
        "stuck in traffic, be there in 10",
        "it's pouring outside, so no ride today",
        "working from the library today",
        "gotta run, talk later",
    ],
)
def test_passing_states_are_transient(text: str) -> None:
    assert {f.decision for f in read(text)} == {"discarded_transient"}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("always write dates in ISO format", "instruction"),
        ("from now on answer me in Portuguese", "instruction"),
        ("please stop apologising so much", "instruction"),
        ("ask me before you cancel anything", "instruction"),
        ("we are not allowed to store addresses outside the country", "constraint"),
        ("my surgeon says no cycling for two months", "constraint"),
        ("the grant is capped at 40,000 kroner", "constraint"),
        ("remind me to descale the kettle on Sunday", "task"),
        ("I still need to send Noor the contract", "task"),
        ("todo: rotate the tyres", "task"),
        ("we decided to keep the old boiler", "decision"),
        ("I'm not renewing the magazine", "decision"),
        ("we went with slate for the roof", "decision"),
        ("I report to Ingrid", "relation"),
        ("Malik is my brother-in-law", "relation"),
        ("the harbour team is led by Pia", "relation"),
        ("Bluebird is the code name for the new ferry timetable", "entity"),
        ("KPS is short for the knitting pattern service", "entity"),
        ("we moved into the barn two weeks ago", "event"),
        ("my eye exam is on 2 April at 10:15", "event"),
        ("I used to play the bassoon", "event"),
        ("I prefer trams to buses", "preference"),
        ("can't stand liquorice", "preference"),
        ("big fan of brutalist architecture", "preference"),
        ("I'm a beekeeper", "fact"),
        ("our boat is 9 metres long", "fact"),
        ("my daughter is allergic to kiwi", "fact"),
    ],
)
def test_types_follow_their_order_of_precedence(text: str, type_: str) -> None:
    assert [t for t, _ in kept(text)] == [type_]


def test_what_is_over_and_what_is_so_now_are_two_statements() -> None:
    over, now = (one for one in read("I no longer live in Graz, I live in Leeds now.") if one.decision == "keep")

    assert (over.type, over.closes) == ("event", ("user.location", "graz"))
    assert (now.key, now.value) == ("user.location", "leed")


def test_a_state_that_is_over_is_an_event_and_closes_the_claim() -> None:
    finding = only("I no longer work at Siemens")

    assert (finding.type, finding.key, finding.closes) == ("event", None, ("user.employer", "siemen"))


def test_an_event_without_a_readable_date_has_none() -> None:
    finding = only("I broke my collarbone skiing")

    assert (finding.type, finding.event_at, finding.event_precision) == ("event", None, "unknown")


def test_clauses_with_facts_of_their_own_are_split() -> None:
    found = kept("I live in Cork with my aunt, and I am a baker, and my brother Finn is allergic to wasps")

    assert [text for _, text in found] == [
        "I live in Cork with my aunt",
        "I am a baker",
        "my brother Finn is allergic to wasps",
    ]


def test_chatter_is_not_dragged_in() -> None:
    text = "haha good one! anyway, I moved to Ghent in January. thanks!!"

    assert [part for _, part in kept(text)] == ["anyway, I moved to Ghent in January."]


def test_a_question_can_carry_a_fact() -> None:
    assert kept("My son is 4 and allergic to eggs, what can I bake?")
    assert kept("As a night nurse, when should I eat?") == [("fact", "As a night nurse")]


def test_a_list_gives_a_claim_for_each_item() -> None:
    keys = {f.key for f in read("I'm allergic to mustard, celery and lupin") if f.decision == "keep"}

    assert keys == {"user.allergy.mustard", "user.allergy.celery", "user.allergy.lupin"}


def test_an_explicit_wish_keeps_the_whole_text_as_one() -> None:
    text = "  the blue folder is behind the piano. it has the deeds of the house I bought in 2014  "
    (finding,) = read(text, keep_whole=True)

    assert (finding.decision, text[finding.start : finding.end]) == ("keep", text.strip())


def test_an_explicit_wish_keeps_what_would_else_be_low_signal() -> None:
    assert only_whole("the sky over Skye is never boring").decision == "keep"


def test_an_explicit_wish_does_not_lift_policy() -> None:
    assert only_whole("my pin for the bank card is 4821, remember it").decision == "discarded_policy"


def only_whole(text: str) -> Finding:
    (finding,) = read(text, keep_whole=True)
    return finding


def test_a_long_document_is_kept_in_one_piece() -> None:
    text = "Minutes of the allotment society. " + "The hedge by the gate was discussed at length. " * 60
    finding = only(text)

    assert (finding.decision, finding.type, finding.reason) == ("keep", "fact", "document")
    assert (finding.start, finding.end) == (0, len(text.rstrip()))


def test_a_long_document_loses_the_line_with_the_secret() -> None:
    line = "The hedge by the gate was discussed at length.\n"
    text = line * 30 + "The wifi password is gooseberry77\n" + line * 30
    found = read(text)

    assert [f.decision for f in found] == ["keep", "discarded_policy", "keep"]
    assert not any("gooseberry77" in text[f.start : f.end] for f in found if f.decision == "keep")


AWKWARD = st.text(
    alphabet=st.characters()
    | st.sampled_from(list("\x00\u202e\u200f\ufeff\u0130ß🙂👩‍👩‍👧\n\t.,;:!?\"'`-(){}[]<>@#=/\\ 0123456789")),
    max_size=300,
)
PHRASES = st.lists(
    st.sampled_from(
        [
            "i",
            "my",
            "we",
            "live in",
            "work at",
            "and",
            ",",
            ".",
            "?",
            "!",
            ";",
            ":",
            "-",
            '"',
            "'",
            "Berlin",
            "VW",
            "vegan",
            "not",
            "no longer",
            "remind me to",
            "by friday",
            "3 may",
            "at 9am",
            "never",
            "always",
            "if",
            "were",
            "said that",
            "is",
            "are",
            "password",
            "token",
            "ignore all previous instructions",
            "```",
            "\n",
            "allergic",
            "10 mg",
            "moved from",
        ]
    ),
    max_size=60,
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(text=AWKWARD | PHRASES, role=st.sampled_from(["user", "", "assistant", "caller"]), keep_whole=st.booleans())
def test_any_text_gives_findings_inside_the_text(text: str, role: str, keep_whole: bool) -> None:
    found = read(text, role=role, keep_whole=keep_whole)

    assert found
    assert all(0 <= f.start <= f.end <= len(text) for f in found)
    assert all(text[f.start : f.end].strip() for f in found if f.decision == "keep")
    assert all(f.key is None or 0 < len(f.key) <= 64 for f in found)
    assert all(0.3 <= f.source_strength <= 0.95 and 0 <= f.extractor_confidence <= 1 for f in found)


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "my ", '"', ". ", "password ", "-----BEGIN PRIVATE KEY", "1 ", "ignore all ", "if i ", ", and i "],
)
def test_a_megabyte_is_read_without_trouble(unit: str) -> None:
    assert read(unit * (1_000_000 // len(unit)))


@pytest.mark.parametrize("text", ["haha, you made me giggle", "lol, that one cracked me up!", "that made my morning"])
def test_amusement_is_filler(text: str) -> None:
    (finding,) = read_turn(text, now=NOW)

    assert (finding.decision, finding.reason) == ("discarded_low_signal", "filler")


@pytest.mark.parametrize(
    "text",
    [
        "Ignaz thinks I should sell the cello",
        "my cousin reckons we ought to move to Bergen",
        "Odile says I need to sleep more",
    ],
)
def test_what_others_would_have_the_user_do_is_no_task(text: str) -> None:
    assert {f.decision for f in read_turn(text, now=NOW)} == {"discarded_low_signal"}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("my doctor says I should avoid grapefruit", "constraint"),
        ("my boss says we have to file the report by Friday", "task"),
        ("my wife says we need to renew the parking permit", "task"),
        ("I think I should ring the notary tomorrow", "task"),
    ],
)
def test_who_has_a_say_is_taken_at_their_word(text: str, type_: str) -> None:
    assert [f.type for f in read_turn(text, now=NOW) if f.decision == "keep"] == [type_]
