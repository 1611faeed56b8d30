"""What flat text loses, told by the seeds in examples: said over HTTP in their words, and asked for."""

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
