"""What flat text loses, told by the seeds in examples: said over HTTP in their words, and asked for."""

import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")


def say(caller: Caller, text: str, *, at: str | None = None) -> Any:
    """The answer to an add of a user's words, said at a time."""
    return caller("POST", "/memory/add", {"text": text, "metadata": {"occurred_at": at} if at else {}}).json()


def ask(caller: Caller, question: str) -> list[str]:
    found = caller("POST", "/memory/query", {"query": question}).json()["memories"]
    return [memory["text"] for memory in found]


def decided(answer: Any) -> list[str]:
    return [made["decision"] for made in answer["decisions"]]


# -- seed 003, scenario 1: the preference overwrite problem ------------------------------------------------------------


def test_a_preference_that_changed_has_one_answer(alice: Caller) -> None:
    dark = say(alice, "I prefer dark mode", at="2026-09-01T10:00:00Z")
    light = say(alice, "actually I switched to light mode", at="2026-10-31T10:00:00Z")

    assert (dark["extracted_type"], light["extracted_type"]) == ("preference", "preference")
    assert dark["extracted_key"] == light["extracted_key"]
    assert ask(alice, "what display mode does the user prefer?") == ["actually I switched to light mode"]
    old = alice("GET", f"/memory/{dark['id']}").json()
    assert (old["validity"], old["superseded_by"]) == ("superseded", light["id"])


def test_a_preference_that_changed_is_the_same_whichever_way_it_is_told(alice: Caller) -> None:
    """Sixty days later is what was said later, also where it is told first."""
    say(alice, "actually I switched to light mode", at="2026-10-31T10:00:00Z")
    say(alice, "I prefer dark mode", at="2026-09-01T10:00:00Z")

    assert ask(alice, "what display mode does the user prefer?") == ["actually I switched to light mode"]


# -- seed 003, scenario 2: the temporal confusion problem --------------------------------------------------------------


@pytest.fixture
def tuesday() -> date:
    """The last one, as a user who is asked today means it."""
    today = datetime.now(UTC).date()
    return today - timedelta(days=(today.weekday() - 2) % 7 + 1)


@pytest.fixture
def employed(alice: Caller, tuesday: date) -> Caller:
    say(alice, f"User joined the platform team on {tuesday:%B} {tuesday.day}th", at=f"{tuesday}T16:00:00Z")
    say(alice, "User works at Volkswagen", at=f"{tuesday}T16:05:00Z")
    say(alice, "I prefer short meetings at work", at=f"{tuesday}T16:06:00Z")
    before = tuesday - timedelta(days=21)
    say(alice, "I went to the dentist yesterday", at=f"{before}T09:00:00Z")
    return alice


def happened(caller: Caller, question: str) -> list[str]:
    found = caller("POST", "/memory/search/routed", {"query": question, "k": 10}).json()
    return [memory["text"] for memory in found["memories"]]


def test_what_happened_at_a_time_is_what_has_a_date_in_it(employed: Caller, tuesday: date) -> None:
    joined = f"User joined the platform team on {tuesday:%B} {tuesday.day}th"

    assert happened(employed, "What happened last Tuesday?") == [joined]
    assert joined in ask(employed, "What happened last Tuesday?"), "recall in general tells it beside the rest"


def test_of_a_time_in_which_nothing_happened_nothing_is_told(employed: Caller) -> None:
    assert happened(employed, "What happened two days after tomorrow?") == []
    assert happened(employed, "What happened a year ago?") == []


def test_an_event_of_a_week_is_met_by_every_window_that_it_reaches_into(alice: Caller) -> None:
    today = datetime.now(UTC).date()
    last_week = today - timedelta(days=today.weekday() + 7)
    say(alice, "I went hiking in the Alps last week", at=f"{today}T00:00:01Z")

    assert happened(alice, "What did I do last week?") == ["I went hiking in the Alps last week"]
    assert happened(alice, f"What happened {(today - last_week).days} days ago?") == [
        "I went hiking in the Alps last week"
    ]


def test_who_joined_what_is_known_of_both_ends(employed: Caller) -> None:
    team = entity(employed, "platform team")

    assert [(one["type"], one["direction"], one["entity"]["name"]) for one in team["relations"]] == [
        ("member_of", "incoming", "user")
    ]
    assert [memory["type"] for memory in team["memories"]] == ["relation"]


# -- seed 003, scenario 3: the entity fragmentation problem ------------------------------------------------------------


def entity(caller: Caller, name: str) -> Any:
    """The one entity that goes by this name, whole."""
    (one,) = caller("GET", f"/v1/entities?q={name}").json()["entities"]
    return caller("GET", f"/v1/entities/{one['id']}").json()


def related(one: Any, type_: str) -> list[tuple[int, str]]:
    return [
        (relation["entity"]["id"], relation["entity"]["name"])
        for relation in one["relations"]
        if (relation["type"], relation["direction"]) == (type_, "outgoing")
    ]


TOLD = ("Priya manages the project", "Priya is the engineering manager", "Sarah works for Priya")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_who_somebody_works_for_and_what_they_are_is_two_steps(alice: Caller, order: tuple[int, ...]) -> None:
    """Whichever of the three was said first, Priya is one."""
    for number in order:
        say(alice, TOLD[number])

    sarah = entity(alice, "Sarah")
    ((priya_id, name),) = related(sarah, "reports_to")
    priya = alice("GET", f"/v1/entities/{priya_id}").json()

    assert (name, priya["slug"], priya["type"]) == ("Priya", "e_priya", "person")
    assert priya["attributes"] == {"has_role": ["engineering manager"]}
    assert [project for _, project in related(priya, "manages")] == ["project"]
    assert (priya["mention_count"], sarah["mention_count"]) == (3, 1)
    assert entity(alice, "the engineering manager")["id"] == priya_id


def test_it_is_robust_to_other_names_of_hers(alice: Caller) -> None:
    say(alice, "Priya (some people still call her P. Sharma, or just 'the EM') runs our planning meetings")
    say(alice, "Priya is the engineering manager")
    say(alice, "The EM works with Olga")
    say(alice, "Sarah works for P. Sharma")

    ((priya_id, _),) = related(entity(alice, "Sarah"), "reports_to")
    priya = alice("GET", f"/v1/entities/{priya_id}").json()

    assert {"Priya", "P. Sharma", "the EM"} <= {priya["name"], *priya["aliases"]}
    assert priya["attributes"] == {"has_role": ["engineering manager"]}
    assert [name for _, name in related(priya, "works_with")] == ["Olga"]
    assert priya["mention_count"] == 4


def test_what_nothing_says_is_one_is_merged_by_hand(alice: Caller) -> None:
    say(alice, "Priya is the engineering manager")
    say(alice, "Sarah works for P. Sharma")
    ((fragment, _),) = related(entity(alice, "Sarah"), "reports_to")
    priya = entity(alice, "Priya")
    assert fragment != priya["id"]

    alice("POST", f"/v1/entities/{fragment}/merge", {"with_entity_id": priya["id"]})

    assert [one for one, _ in related(entity(alice, "Sarah"), "reports_to")] == [priya["id"]]
    assert entity(alice, "P. Sharma")["attributes"] == {"has_role": ["engineering manager"]}


# -- seed 000: the user's diet changes ---------------------------------------------------------------------------------


def test_a_diet_that_changed_is_superseded_kept_and_revived(alice: Caller) -> None:
    vegetarian, vegan = say(alice, "I am vegetarian since 2024."), say(alice, "I am vegan since 2026.")

    assert [decided(one) for one in (vegetarian, vegan)] == [["created"], ["superseding"]]
    assert vegetarian["extracted_key"] == vegan["extracted_key"] == "user.diet"
    assert ask(alice, "What is my diet?") == ["I am vegan since 2026."]
    kept = alice("GET", f"/memory/{vegetarian['id']}").json()
    assert (kept["text"], kept["superseded_by"]) == ("I am vegetarian since 2024.", vegan["id"])

    again, back = say(alice, "I am vegan since 2026."), say(alice, "I am vegetarian since 2024.")

    assert [decided(one) for one in (again, back)] == [["duplicate"], ["revived"]]
    assert back["memory_ids"] == [vegetarian["id"]]
    assert ask(alice, "What is my diet?") == ["I am vegetarian since 2024."]
    assert alice("GET", f"/memory/{vegan['id']}").json()["superseded_by"] == vegetarian["id"]


def test_events_supersede_nothing(alice: Caller) -> None:
    say(alice, "I am vegan since 2026.")
    orders = ["I ordered the vegan tasting menu yesterday.", "I ordered the vegan tasting menu last Friday."]

    answers = [say(alice, text) for text in orders]

    assert [decided(one) for one in answers] == [["created"], ["created"]]
    assert {one["extracted_type"] for one in answers} == {"event"}
    assert set(ask(alice, "Which vegan tasting menu did I order?")) == {*orders, "I am vegan since 2026."}
