"""add_turn, recall, list_memories and status, called as published."""

import pytest
from memorysync import NotFoundError, ValidationError

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

OWN = {"tenant_id": "acme", "user_id": "alice"}
OTHER = {"tenant_id": "default", "user_id": "alice"}


def test_add_turn_remembers_what_the_user_tells(make: Make) -> None:
    client = make(end_user_id=None)

    receipt = client.add_turn(**OWN, role="user", text="I live in Lisbon.", session_id="s1", metadata={"n": 1, "l": []})

    assert (receipt["memory_id"], receipt["status"], receipt["processing_status"]) == (None, "processing", "completed")
    (memory,) = client.list_memories(**OWN)["memories"]
    assert (memory["raw_text"], memory["source"]) == ("I live in Lisbon.", "chat")
    assert memory["metadata"] == {
        "n": 1,
        "session_id": "s1",
        "write_origin": "turn-extraction",
        "turn_role": "user",
    }
    assert receipt["memory_ids"] == [memory["memory_id"]]


def test_add_turn_again_is_a_replay(make: Make) -> None:
    client = make()
    said = OWN | {"text": "I live in Lisbon.", "speaker": "user@9f", "occurred_at": "2026-05-05T14:22:00+00:00"}
    client.add_turn(**said)

    again = client.add_turn(**said, sync_embed=True)

    assert (again["already_exists"], again["processing_status"]) == (True, "skipped_replay")
    assert client.list_memories(**OWN)["total"] == 1


@pytest.mark.parametrize(
    ("text", "role", "status"),
    [("I live in Lisbon.", "assistant", "skipped_non_user_turn"), ("ok thanks", "user", "skipped_low_value")],
)
def test_add_turn_passes_over(text: str, role: str, status: str, make: Make) -> None:
    client = make()

    assert client.add_turn(**OWN, text=text, role=role)["processing_status"] == status
    assert client.list_memories(**OWN) == {"memories": [], "total": 0}


def test_add_turn_that_is_wrong_says_what(make: Make) -> None:
    with pytest.raises(ValidationError, match="occurred_at: must be a time") as refusal:
        make().add_turn(**OWN, text="I live in Lisbon.", occurred_at="yesterday")

    assert refusal.value.status_code == 422
    assert refusal.value.request_id


def test_recall_is_a_block_and_its_memories(make: Make) -> None:
    client = make()
    client.add_turn(**OWN, text="I live in Lisbon.")
    client.add("I prefer oat milk in my coffee.", importance=0.6)

    found = client.recall(**OWN, prompt="Where do I live, and which milk do I prefer?", k=5)
    narrowed = client.recall(**OWN, prompt="Where do I live, and which milk do I prefer?", types=["preference", "x"])

    assert set(found["context"].splitlines()) >= {"- I live in Lisbon.", "- I prefer oat milk in my coffee."}
    assert {memory["value"] for memory in found["memories"]} == {"I live in Lisbon.", "I prefer oat milk in my coffee."}
    assert narrowed["context"] == "Preferences:\n- I prefer oat milk in my coffee."
    assert client.recall(**OTHER, prompt="Where do I live?")["context"] == ""


def test_tenant_string_tells_users_apart(make: Make) -> None:
    client = make()
    client.add_turn(**OWN, text="I live in Lisbon.")
    client.add_turn(**OTHER, text="I live in Porto.")

    assert [one["raw_text"] for one in client.list_memories(**OWN)["memories"]] == ["I live in Lisbon."]
    assert [one["raw_text"] for one in client.list_memories(**OTHER)["memories"]] == ["I live in Porto."]
    assert [memory.text for memory in client.query("Where do I live?").memories] == ["I live in Lisbon."]


def test_list_pages_and_takes_slashes_as_they_are(make: Make) -> None:
    client = make()
    who = {"tenant_id": "default", "user_id": "team/alice müller"}
    for text in ("I live in Lisbon.", "My dog is called Rex.", "I am allergic to peanuts."):
        client.add_turn(**who, text=text)

    page = client.list_memories(**who, limit=1, offset=1)

    assert page["total"] == 3
    assert [memory["raw_text"] for memory in page["memories"]] == ["My dog is called Rex."]
    assert len(client.list_memories(**who, limit=0)["memories"]) == 3


def test_status_of_a_turns_memory(make: Make) -> None:
    client = make()
    receipt = client.add_turn(**OWN, text="I live in Lisbon.")
    memory_id = int(receipt["memory_ids"][0].removeprefix("m_"))

    assert client.status(memory_id)["status"] == "ready"
    with pytest.raises(NotFoundError):
        make(end_user_id="bob").status(memory_id)
