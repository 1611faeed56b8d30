"""What is shown of a memory beside its text: its source, its confidence, what it replaced and whom it mentions."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.memories.indexing_mode import set_profile
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.makers import NOW, make_scope

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.usefixtures("no_answer_is_kept")]


def read(caller: Caller, memory_id: int) -> Any:
    response = caller("GET", f"/memory/{memory_id}")
    assert response.status_code == 200, response.content
    return response.json()


def test_a_memory_shows_its_session_its_speaker_and_how_sure_it_is(alice: Caller) -> None:
    made = alice.add("I paint boats in the yard.", session_id="s1", metadata={"speaker": "Nora Lind"})

    shown = read(alice, made["id"])

    assert (shown["session_id"], shown["speaker"]) == ("s1", "nora")
    parts = 0.45 * shown["source_confidence"] + 0.25 * shown["extractor_confidence"] + 0.1 * shown["type_prior"]
    assert shown["confidence"] == pytest.approx(parts)
    assert (shown["repetition_count"], shown["access_count"], shown["last_accessed_at"]) == (1, 0, None)
    assert (shown["superseded_at"], shown["supersedes"], shown["evidence"]) == (None, [], [])


def test_a_repetition_is_counted(alice: Caller) -> None:
    made = alice.add("I live in Lisbon.")
    alice("POST", "/memory/add", {"text": "I live in Lisbon.", "importance": 0.6})

    assert read(alice, made["id"])["repetition_count"] == 2


def test_a_memory_shows_what_it_replaced_and_the_other_since_when(alice: Caller) -> None:
    lisbon, porto = alice.add("I live in Lisbon."), alice.add("I live in Porto.")

    before, after = read(alice, lisbon["id"]), read(alice, porto["id"])

    assert after["supersedes"] == [lisbon["id"]]
    assert (before["superseded_by"], before["superseded_at"]) == (porto["id"], porto["created_at"])
    assert (after["extracted_key"], after["extracted_value"]) == ("user.location", "porto")


def test_a_memory_shows_whom_it_mentions(alice: Caller) -> None:
    made = alice.add("My manager is Priya Sharma.")

    (priya,) = [one for one in read(alice, made["id"])["participants"] if one["type"] == "person"]

    assert priya["name"] == "Priya Sharma"
    assert alice("GET", f"/v1/entities/{priya['entity_id']}").json()["name"] == "Priya Sharma"


def test_a_memory_names_the_turns_that_say_it(alice: Caller) -> None:
    whose = {"tenant_id": "acme", "user_id": "alice", "session_id": "s1"}
    alice("POST", "/v1/history/append", whose | {"turns": [{"role": "user", "content": "I live in Lisbon."}]})
    (turn,) = alice("POST", "/v1/history/list", whose).json()["items"]
    (found,) = alice("POST", "/memory/query", {"query": "Where do I live?"}).json()["memories"]

    assert read(alice, found["id"])["evidence"] == [turn["id"]]


def test_a_change_of_labels_shows_the_same_details(alice: Caller) -> None:
    lisbon, porto = alice.add("I live in Lisbon."), alice.add("I live in Porto.")

    changed = alice("PATCH", f"/memory/{porto['id']}", {"importance": 0.9}).json()

    assert changed["supersedes"] == [lisbon["id"]]
    assert changed.keys() == read(alice, porto["id"]).keys()


@pytest.mark.parametrize("profile", [Profile.SEARCHABLE, Profile.SEALED])
def test_a_query_finds_only_what_these_speakers_said(alice: Caller, acme: OpenedTenant, profile: Profile) -> None:
    for speaker in ("Nora Lind", "Ben", "Eve"):
        alice.add(
            f"I keep {len(speaker)} bees on the roof of the {speaker.lower()} house.", metadata={"speaker": speaker}
        )
    scope = make_scope(acme)
    if profile is Profile.SEALED:
        set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    def speakers(wanted: Any) -> set[str]:
        asked = {"query": "Who keeps bees?", "k": 10, "filters": {"speaker": wanted}}
        return {one["speaker"] for one in alice("POST", "/memory/query", asked).json()["memories"]}

    assert speakers("nora") == {"nora"}
    assert speakers(["Ben Oak", "EVE"]) == {"ben", "eve"}
    assert speakers("Mallory") == set()


def test_replaced_memories_are_found_when_asked_for(alice: Caller) -> None:
    lisbon, porto = alice.add("I live in Lisbon."), alice.add("I live in Porto.")

    found = alice("POST", "/memory/query", {"query": "Where do I live?", "include_superseded": True}).json()["memories"]

    assert [(one["id"], one["superseded_by"]) for one in found] == [(porto["id"], None), (lisbon["id"], porto["id"])]


@pytest.mark.parametrize("time", ["as_of", "known_at"])
def test_replaced_memories_are_not_those_of_a_time(alice: Caller, time: str) -> None:
    asked = {"query": "Where do I live?", "include_superseded": True, time: "2026-03-01"}

    response = alice("POST", "/memory/query", asked)

    assert response.status_code == 422
    assert "include_superseded" in response.json()["detail"]
