"""Who a statement is about, and how they stand to each other, by rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.makers import NOW
from text.extraction.entities import read_entities
from text.extraction.extractor import read_turn
from text.extraction.finding import ClaimPart
from text.mentions import Mention, RelationMention


def shown(named: Mention | None) -> str:
    if named is None:
        return ""
    return "user" if named.is_user else named.name or named.role or named.pronoun


def told(text: str) -> set[tuple[str, str, str, str]]:
    """Subject, predicate, object and value of all that a turn states."""
    found: list[RelationMention] = []
    for finding in read_turn(text, now=NOW):
        part = text[finding.start : finding.end]
        reading = read_entities(part, [claim.moved(-finding.start) for claim in finding.claims])
        found += reading.told if finding.decision == "keep" else ()
    return {(shown(one.subject), one.predicate, shown(one.object), one.value) for one in found}


def named(text: str) -> dict[str, str]:
    """Sure names and roles with their types."""
    return {shown(one): one.type for one in read_entities(text).named if one.is_sure and not one.is_user}


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("My manager is Ilse.", {("user", "reports_to", "Ilse", "")}),
        ("my manager is ilse", {("user", "reports_to", "ilse", "")}),
        ("Ilse is my boss", {("user", "reports_to", "Ilse", "")}),
        ("My boss Ilse approved the budget", {("user", "reports_to", "Ilse", "")}),
        ("Our new intern is called Leo", {("user", "manages", "Leo", "")}),
        ("My sister Runa is visiting in June", {("user", "related_to", "Runa", "sister")}),
        ("I have two sisters, Mia and Runa", {("user", "related_to", "Mia", "sister"),
                                              ("user", "related_to", "Runa", "sister")}),
        ("My best friend Ollie moved to Porto", {("user", "related_to", "Ollie", "best friend"),
                                                 ("Ollie", "located_at", "Porto", "")}),
        ("Jonas's mother Ruth is a retired teacher", {("Jonas", "related_to", "Ruth", "mother"),
                                                      ("Ruth", "has_role", "", "retired teacher")}),
        ("I report to Marten", {("user", "reports_to", "Marten", "")}),
        ("Nadia manages me and Viktor", {("user", "reports_to", "Nadia", ""), ("Nadia", "manages", "Viktor", "")}),
        ("I work with Mia, Tom and Ruth", {("user", "works_with", name, "") for name in ("Mia", "Tom", "Ruth")}),
        ("Mia and Tom work together on the harbour team", {("Mia", "works_with", "Tom", ""),
                                                           ("Mia", "member_of", "harbour team", ""),
                                                           ("Tom", "member_of", "harbour team", "")}),
        ("The harbour project is led by Omar", {("Omar", "manages", "harbour project", "")}),
        ("Omar leads the harbour project", {("Omar", "manages", "harbour project", "")}),
        ("I joined the harbour team on May 9th", {("user", "member_of", "harbour team", "")}),
        ("User works at Volkswagen", {("user", "works_at", "Volkswagen", "")}),
        ("Elena founded Solarix in Turin", {("Elena", "created", "Solarix", "")}),
        ("Our billing service runs on Postgres", {("billing service", "uses", "Postgres", "")}),
        ("Tom is a nurse at the Charité", {("Tom", "has_role", "", "nurse"), ("Tom", "works_at", "Charité", "")}),
        ("Kofi is our new CTO", {("Kofi", "has_role", "", "cto")}),
        ("Our CTO is Kofi", {("Kofi", "has_role", "", "cto")}),
        ("I no longer work with Mia", set()),
        ("Mia used to manage the harbour team", set()),
        ("Mia might join the harbour team", set()),
        ("I prefer tea in the morning", set()),
    ],
)  # fmt: skip
def test_relations(text: str, relations: set[tuple[str, str, str, str]]) -> None:
    assert told(text) == relations


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yesterday Karim told me that Ines left the company", {"Karim": "person", "Ines": "person"}),
        ("We're flying from Oslo to New York with KLM Group", {"Oslo": "place", "New York": "place",
                                                              "KLM Group": "organization"}),
        ("Coffee is great on Mondays", {}),
        ("I talked to Dr. Osei about the Falcon migration", {"Dr. Osei": "person", "Falcon migration": "project"}),
        ("we're using rust", {}),
        ("Der Hund von Anna heißt Bello und mag Käse sehr", {"Anna": "person"}),
    ],
)  # fmt: skip
def test_names(text: str, names: dict[str, str]) -> None:
    found = named(text)

    assert {name: type_ for name, type_ in found.items() if type_} == names


def test_other_names_of_one_are_told_together() -> None:
    (one,) = [one for one in read_entities("Volkswagen AG, also known as VW, pays well").named if one.name]

    assert (one.name, one.also, one.type) == ("Volkswagen AG", ("VW",), "organization")


def test_an_office_among_the_names_is_a_role() -> None:
    (one,) = read_entities("Mira (everybody calls her M. Adler, or just 'the EM') runs our meetings").named

    assert (one.name, one.also, one.role) == ("Mira", ("M. Adler", "the EM"), "the engineering manager")


def test_the_users_own_name_is_theirs() -> None:
    (one,) = read_entities("My name is Bram", [ClaimPart(start=0, end=15, key="user.name", value="bram")]).named

    assert (one.is_user, one.name) == (True, "Bram")


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40))
def test_no_text_is_too_strange(text: str, key: str, value: str) -> None:
    reading = read_entities(text, [ClaimPart(start=0, end=len(text), key=key, value=value)])

    assert all(one.subject in reading.named for one in reading.told)


def test_a_list_of_a_thousand_names_is_cut() -> None:
    assert len(read_entities("I met " + ", ".join(f"Tom Smith{number}" for number in range(1_000))).named) <= 24
