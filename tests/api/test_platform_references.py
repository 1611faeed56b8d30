"""Memories of agent platforms name the messages that they are from, and files that are stored elsewhere."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.key_management import rotation
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import find_end_user
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.api.test_agent_platform import MEMORIES, done, listed, refused, save, values

pytestmark = pytest.mark.django_db(databases="__all__")

PLAN = {"url": "https://files.example/plan.pdf", "type": "application/pdf", "name": "Floor plan", "size": 120_431,
        "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}  # fmt: skip
PHOTO = {"url": "s3://pictures/kitchen.jpg"}
EMPTY = dict.fromkeys(("type", "name", "size", "checksum"))


def make_sealed(acme: OpenedTenant, end_user: str) -> None:
    space = find_end_user(acme.scope, end_user)
    assert space is not None
    set_profile(acme.scope.in_spaces(space), space.id, Profile.SEALED, now=datetime.now(UTC))


def test_links_and_assets_come_back_and_stay_until_they_are_replaced(alice: Caller) -> None:
    made = save(
        alice, key="flat", value="Moves in June.", sessionId="s-1", messageIds=["m-2", "m-1"], assets=[PLAN, PHOTO]
    )
    path = f"{MEMORIES}/{made['id']}"

    moved = save(alice, 200, key="flat", value="Moves in July.")
    replaced = done(alice("PATCH", path, {"messageIds": ["m-3"], "assets": [PHOTO]}), 200)
    cleared = done(alice("PATCH", path, {"messageIds": [], "assets": []}), 200)

    for one in (made, moved):
        assert (one["sessionId"], one["messageIds"]) == ("s-1", ["m-2", "m-1"])
        assert one["assets"] == [PLAN, EMPTY | PHOTO]
    assert (replaced["messageIds"], replaced["assets"]) == (["m-3"], [EMPTY | PHOTO])
    assert (cleared["messageIds"], cleared["assets"]) == ([], [])
    assert {one["id"] for one in (made, moved, replaced, cleared)} == {made["id"]}
    assert [one["status"] for one in (made, moved, replaced, cleared)] == ["created", "updated", "updated", "updated"]
    assert listed(alice) == [{name: value for name, value in cleared.items() if name != "status"}]


def test_the_same_links_and_assets_again_change_nothing(alice: Caller) -> None:
    fields = {"key": "flat", "value": "Moves in June.", "messageIds": ["m-1"], "assets": [PLAN]}
    save(alice, **fields)

    assert save(alice, 200, **fields)["status"] == "unchanged"


@pytest.mark.parametrize("is_sealed", [False, True])
def test_memories_are_found_by_session_and_message(alice: Caller, acme: OpenedTenant, *, is_sealed: bool) -> None:
    save(alice, value="First: vegan.", sessionId="s-1", messageIds=["m-1"])
    if is_sealed:
        make_sealed(acme, "alice")
    save(alice, value="Second: vegan.", sessionId="s-1", messageIds=["m-1", "m-2"])
    save(alice, value="Third: vegan.", sessionId="s-2", messageIds=["m-3"])
    save(alice, value="Fourth: vegan.")

    for asked in ({}, {"query": "vegan"}, {"query": "ega"}):
        assert sorted(values(alice, sessionId="s-1", **asked)) == ["First: vegan.", "Second: vegan."], asked
        assert sorted(values(alice, messageId="m-1", **asked)) == ["First: vegan.", "Second: vegan."], asked
        assert values(alice, messageId="m-2", **asked) == ["Second: vegan."], asked
        assert values(alice, sessionId="s-2", messageId="m-1", **asked) == [], asked
        assert values(alice, messageId="M-1", **asked) == [], asked
    assert listed(alice.as_user("bob"), messageId="m-1") == []


def test_a_message_is_neither_a_tag_nor_a_category(alice: Caller) -> None:
    save(alice, value="Vegan.", messageIds=["food"])
    save(alice, value="Likes bread.", tags=["food"], category="bread")

    assert values(alice, messageId="food") == ["Vegan."]
    assert values(alice, tag="food") == ["Likes bread."]
    assert values(alice, messageId="bread") == []


def test_memories_of_an_agent_are_found_by_message(alice: Caller) -> None:
    save(alice, value="Ask for the invoice first.", scope="agent", agentId="helper", messageIds=["m-1"])
    save(alice, value="Vegan.", messageIds=["m-1"])

    assert values(alice, messageId="m-1") == ["Vegan."]
    assert len(listed(alice, messageId="m-1", agentId="helper")) == 2


def test_links_stay_when_tags_change_elsewhere_and_when_keys_turn(alice: Caller, acme: OpenedTenant) -> None:
    save(alice, value="Vegan.", sessionId="s-1", messageIds=["m-1"], assets=[PLAN])
    number = alice("GET", "/v1/memory/acme/alice/list").json()["memories"][0]["memory_id"].removeprefix("m_")
    assert alice("PATCH", f"/memory/{number}", {"tags": ["food"]}).status_code == 200

    now = datetime.now(UTC)
    for is_compromise in (False, True):
        turn = rotation.rotate(acme.scope, reason="lost", is_compromise=is_compromise, now=now)
        while rotation.work(turn.pk, seconds=60.0, workers=1, clock=lambda: now) != SliceOutcome.OVER:
            pass
        (one,) = listed(alice, messageId="m-1", sessionId="s-1", tag="food")
        assert (one["messageIds"], one["assets"]) == (["m-1"], [PLAN])


def test_nothing_of_them_is_stored_in_clear(alice: Caller, acme: OpenedTenant) -> None:
    save(alice, value="Vegan.", messageIds=["message-quokka"], assets=[PLAN | {"name": "quokka", "url": "x://quokka"}])

    with tenant_transaction(acme.scope):
        (row,) = Memory.objects.within_tenant(acme.scope).values()
    assert "quokka" not in str(row)
    assert b"quokka" not in b"".join(bytes(one) for one in row.values() if isinstance(one, bytes | memoryview))


def test_ids_and_checksums_that_look_like_card_numbers_are_taken(alice: Caller) -> None:
    card = "4539578763621486"

    made = save(alice, value="Vegan.", messageIds=[card], assets=[PHOTO | {"checksum": card, "size": int(card)}])

    assert made["messageIds"] == [card]
    refused(alice("POST", MEMORIES, {"value": f"My card is {card}."}), 422, "VALIDATION_ERROR")


def test_a_secret_in_an_address_is_refused(alice: Caller) -> None:
    signed = "https://b.s3.amazonaws.com/a.pdf?X-Amz-Signature=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    refused(alice("POST", MEMORIES, {"value": "Vegan.", "assets": [{"url": signed}]}), 422, "VALIDATION_ERROR")
    assert listed(alice) == []


def test_a_memory_from_elsewhere_has_none_and_takes_none(alice: Caller) -> None:
    alice.add("My dog Biscuit sleeps on the blue sofa.")
    (one,) = listed(alice)

    assert (one["messageIds"], one["assets"]) == ([], [])
    for fields in ({"messageIds": ["m-1"]}, {"assets": [PHOTO]}):
        refused(alice("PATCH", f"{MEMORIES}/{one['id']}", fields), 409, "CONFLICT")


@pytest.mark.parametrize(
    "fields",
    [
        {"messageIds": "m-1"}, {"messageIds": [1]}, {"messageIds": ["m"] * 51}, {"messageIds": ["x" * 257]},
        {"messageIds": ["a\nb"]}, {"messageIds": [""]}, {"assets": PHOTO}, {"assets": [{}]}, {"assets": [{"url": ""}]},
        {"assets": ["https://files.example/"]}, {"assets": [PHOTO] * 11}, {"assets": [PHOTO | {"content": "x"}]},
        {"assets": [PHOTO | {"size": -1}]}, {"assets": [PHOTO | {"size": 2**53}]},
        {"assets": [PHOTO | {"url": "x" * 2_049}]},
    ],
)  # fmt: skip
def test_malformed_links_and_assets_are_refused(fields: Any, alice: Caller) -> None:
    refused(alice("POST", MEMORIES, {"value": "Vegan."} | fields), 422, "VALIDATION_ERROR")
    assert listed(alice) == []
