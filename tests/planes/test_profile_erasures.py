"""Erasures of a profile from the request to the receipt: a key asks, a person confirms, and time passes."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.erasure.legal_holds import hold, lift
from apps.erasure.receipt_log import public_keys
from apps.erasure.replay import resume
from apps.history.models import HistoryTurn
from apps.memories.models import Memory
from apps.policies.models import Level
from apps.projects.system import system_scope
from apps.retention.erasure_requests import carry_out_due
from apps.retention.retention_sweep import sweep
from apps.transparency.receipts import verify
from tests import once
from tests.planes.conftest import Connect
from tests.planes.profile_client import ProfileClient
from tests.planes.test_profile_plane import CHANNELS, SIDE, diet, event, ids, put, refusal
from tests.web.people import make_person

pytestmark = pytest.mark.django_db(databases="__all__")

cast, acme, globex = once.cast, once.acme, once.globex

GRACE = timedelta(days=7)
CASE = "case-17"
FAR = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def browser(acme: OpenedTenant) -> Client:
    """Of an owner who has just confirmed their identity."""
    return make_person(acme.tenant).show_factor(ago=1)


def confirm(browser: Client) -> None:
    """The newest pending request, as the pages offer it."""
    listed = browser.get("/app/t/acme/requests").content.decode()
    (page, *_) = re.findall(r'href="(/app/t/acme/requests/\d+/confirm)"', listed)
    (assertion,) = re.findall(r'name="assertion"\s+value="([^"]+)"', browser.get(page).content.decode())
    assert browser.post(page, {"assertion": assertion}).status_code == 302


def undo(browser: Client) -> Any:
    listed = browser.get("/app/t/acme/requests?state=confirmed").content.decode()
    (page, *_) = re.findall(r'action="(/app/t/acme/requests/\d+/undo)"', listed)
    return browser.post(page)


def carry_out(acme: OpenedTenant, *, after: timedelta = timedelta(0)) -> int:
    return carry_out_due(system_scope(acme.tenant), now=datetime.now(UTC) + after)


def rows(acme: OpenedTenant, *public_ids: str) -> list[Memory]:
    with tenant_transaction(acme.scope):
        return list(Memory.objects.within_tenant(acme.scope).filter(public_id__in=public_ids))


def coupon_of(profile: ProfileClient, asked: dict[str, Any]) -> dict[str, Any]:
    found = profile.erasure(asked["erasure_id"])
    assert found is not None
    return found


def check_receipt(coupon: dict[str, Any]) -> dict[str, Any]:
    """The receipt is genuine without the server, and is of this erasure; returns its counts."""
    genuine = verify(json.dumps(coupon["receipt"]).encode(), public_keys())
    assert genuine.receipt["erasure"] == coupon["erasure_id"]
    assert genuine.receipt["authorised"]["method"] == "session+totp"
    assert genuine.receipt["probe"] == {"by_id": "404", "recall_hits": 0, "asked": genuine.receipt["probe"]["asked"]}
    counts: dict[str, Any] = genuine.receipt["counts"]
    return counts


def test_topic_is_hidden_at_once_and_erased_with_a_receipt_when_the_grace_period_is_over(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    old, new = (put(alice, diet(kind, embedding=SIDE))[0] for kind in ("vegetarian", "vegan"))
    (other,) = put(alice, diet("vegan", type="instruction", embedding=SIDE))
    asked = alice.erase(topic_key="user.diet", type="fact")
    carry_out(acme, after=GRACE)
    assert alice.get(new), "nothing happens before a person has confirmed"

    confirm(browser)

    waiting = coupon_of(alice, asked)
    assert (waiting["status"], waiting["completed_at"], waiting["receipt"]) == ("grace", None, None)
    assert waiting["grace_until"] - waiting["requested_at"] == pytest.approx(
        GRACE / timedelta(milliseconds=1), abs=60e3
    )
    assert alice.get(old) is alice.get(new) is None
    for channel in CHANNELS:
        assert ids(alice.recall(**channel, include_superseded=True)) == [other]
    assert carry_out(acme, after=GRACE - timedelta(minutes=1)) == 0
    assert len(rows(acme, old, new)) == 2

    assert carry_out(acme, after=GRACE) == 1

    done = coupon_of(alice, asked)
    assert (done["status"], done["blocked_by"]) == ("completed", None)
    assert done["target"] == {"topic_key": "user.diet", "type": "fact"}
    assert done["memory_ids"] == sorted([old, new])
    assert done["completed_at"] >= done["grace_until"]
    assert check_receipt(done)["memories"] == 2
    assert alice.erasures() == [done]
    assert rows(acme, old, new) == []
    assert carry_out(acme, after=2 * GRACE) == 0
    (result,) = alice.ingest(diet("vegetarian"))["results"]
    assert (result["status"], result["superseded"]) == ("created", [])


def test_erased_text_is_not_extracted_again_and_can_be_stated(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    turns = [{"role": "user", "content": "I am allergic to peanuts."}]
    (made,) = alice.extract(turns)["results"]
    alice.erase(memory_id=made["id"])
    confirm(browser)
    carry_out(acme, after=GRACE + timedelta(hours=1))

    again = alice.extract(turns)

    assert (again["proposed"], again["results"], again["pending"]) == ([], [], [])
    assert alice.recall("peanuts")["memories"] == []
    stated = {"type": "fact", "summary": "I am allergic to peanuts.", "content": {"text": "I am allergic to peanuts."}}
    put(alice, stated)


def test_one_memory_is_erased_and_those_it_superseded_stay(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    old, new = (put(alice, diet(kind))[0] for kind in ("vegetarian", "vegan"))
    asked = alice.erase(memory_id=new)

    confirm(browser)
    carry_out(acme, after=GRACE)

    assert check_receipt(coupon_of(alice, asked))["memories"] == 1
    left = alice.get(old)
    assert left is not None
    assert alice.recall(topic_key="user.diet")["memories"] == []


@pytest.mark.parametrize("with_turns", [False, True])
def test_session_is_erased_with_its_turns_if_they_were_named(
    alice: ProfileClient, acme: OpenedTenant, browser: Client, with_turns: bool
) -> None:
    (gone,) = put(alice, event("ordered", session_id="s-1"))
    (kept,) = put(alice, event("paid", session_id="s-2"))
    for session in ("s-1", "s-1", "s-2"):
        alice.append_turn(session, "user", "Hello there.")
    asked = alice.erase(session_id="s-1", **({"turns": True} if with_turns else {}))

    confirm(browser)
    carry_out(acme, after=GRACE)

    counts = check_receipt(coupon_of(alice, asked))
    assert counts["memories"] == 1
    assert counts.get("turns", 0) == len(["both"] * 2 if with_turns else [])
    assert alice.get(gone) is None
    assert alice.get(kept)
    assert len(alice.turns("s-1")) == (0 if with_turns else 2)
    assert len(alice.turns("s-2")) == 1


def test_session_of_turns_alone_is_erased(alice: ProfileClient, acme: OpenedTenant, browser: Client) -> None:
    alice.append_turn("s-1", "user", "Hello there.")
    assert refusal(lambda: alice.erase(session_id="s-1")) == (404, "not_found")
    asked = alice.erase(session_id="s-1", turns=True)

    confirm(browser)
    carry_out(acme, after=GRACE)

    assert check_receipt(coupon_of(alice, asked)) == {"turns": 1}
    assert alice.turns("s-1") == []


def test_legal_hold_blocks_an_erasure_until_it_is_lifted(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    held, other = put(alice, event("ordered", session_id="s-1"), event("paid", session_id="s-1"))
    asked = alice.erase(session_id="s-1")
    scope = system_scope(acme.tenant)
    (row,) = rows(acme, held)
    case = hold(scope, Level.MEMORY, row.pk, case=CASE, now=datetime.now(UTC))

    confirm(browser)

    blocked = coupon_of(alice, asked)
    assert (blocked["status"], blocked["blocked_by"]) == ("blocked", {"legal_holds": [CASE]})
    assert blocked["grace_until"] is None
    assert alice.get(held)
    assert alice.get(other), "all of it, or nothing"
    carry_out(acme)
    assert coupon_of(alice, asked)["status"] == "blocked"

    lift(scope, case.pk, now=datetime.now(UTC))
    carry_out(acme)
    assert coupon_of(alice, asked)["status"] == "grace"
    assert alice.get(held) is alice.get(other) is None
    carry_out(acme, after=GRACE)
    assert check_receipt(coupon_of(alice, asked))["memories"] == 2


def test_hold_in_the_grace_period_blocks_too_and_no_sweep_takes_the_memories_without_a_receipt(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    held, other = put(alice, event("ordered", session_id="s-1"), event("paid", session_id="s-1"))
    asked = alice.erase(session_id="s-1")
    scope = system_scope(acme.tenant)
    confirm(browser)
    (row,) = rows(acme, held)
    case = hold(scope, Level.MEMORY, row.pk, case=CASE, now=datetime.now(UTC))

    assert carry_out(acme, after=GRACE) == 0
    sweep(scope, now=datetime.now(UTC) + 3 * GRACE)

    assert coupon_of(alice, asked)["blocked_by"] == {"legal_holds": [CASE]}
    assert len(rows(acme, held, other)) == 2
    lift(scope, case.pk, now=datetime.now(UTC))
    assert carry_out(acme, after=3 * GRACE) == 1
    assert check_receipt(coupon_of(alice, asked))["memories"] == 2


def test_person_undoes_an_erasure_in_its_grace_period(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    asked = alice.erase(memory_id=memory_id)
    confirm(browser)
    assert alice.get(memory_id) is None

    assert undo(browser).status_code == 302

    assert coupon_of(alice, asked)["status"] == "cancelled"
    assert alice.get(memory_id)
    assert carry_out(acme, after=GRACE) == 0
    assert alice.get(memory_id)


def test_memory_that_a_person_restored_is_not_erased(alice: ProfileClient, acme: OpenedTenant, browser: Client) -> None:
    gone, kept = put(alice, event("ordered", session_id="s-1"), event("paid", session_id="s-1"))
    asked = alice.erase(session_id="s-1")
    confirm(browser)
    (row,) = rows(acme, kept)
    browser.post(f"/app/t/acme/spaces/{row.space_id}/memories/{row.pk}/restore")

    carry_out(acme, after=GRACE)

    assert check_receipt(coupon_of(alice, asked))["memories"] == 1
    assert alice.get(gone) is None
    assert alice.get(kept)


def test_key_cancels_what_no_person_has_confirmed_and_nothing_else(
    connect: Connect, alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    put(connect("bob"), diet("vegan"))
    first = alice.erase(memory_id=memory_id)
    assert refusal(lambda: connect("bob").cancel_erasure(first["erasure_id"]))[0] == 404
    assert alice.cancel_erasure(first["erasure_id"])["status"] == "cancelled"
    second = alice.erase(memory_id=memory_id)
    assert second["erasure_id"] != first["erasure_id"]
    confirm(browser)

    assert refusal(lambda: alice.cancel_erasure(second["erasure_id"])) == (409, "conflict")

    assert coupon_of(alice, second)["status"] == "grace"
    assert refusal(lambda: alice.cancel_erasure("ers_" + "0" * 32))[0] == 404


def test_same_erasure_asked_again_is_the_same_request(alice: ProfileClient) -> None:
    put(alice, diet("vegan", session_id="s-1"))

    one, again = (alice.erase(session_id="s-1") for _ in range(2))
    with_turns = alice.erase(session_id="s-1", turns=True)

    assert one == again
    assert with_turns["erasure_id"] != one["erasure_id"]
    assert len(alice.erasures()) == 2


def test_turns_that_a_backup_brings_back_are_erased_again_and_later_ones_stay(
    alice: ProfileClient, acme: OpenedTenant, browser: Client
) -> None:
    for session in ("s-1", "s-1", "s-2"):
        alice.append_turn(session, "user", "Hello there.")
    with tenant_transaction(acme.scope):
        same, later, _ = HistoryTurn.objects.within(acme.scope).order_by("pk")
    alice.erase(session_id="s-1", turns=True)
    confirm(browser)
    carry_out(acme, after=GRACE)
    assert alice.turns("s-1") == []
    later.created_at = FAR
    with tenant_transaction(acme.scope):
        HistoryTurn.objects.bulk_create(acme.scope, [same, later])
    assert len(alice.turns("s-1")) == 2

    resume(now=datetime.now(UTC))

    assert [one["created_at"] for one in alice.turns("s-1")] == [FAR.timestamp() * 1000], "another turn of that number"
    assert len(alice.turns("s-2")) == 1


def test_pages_show_what_is_blocked_and_what_is_done(alice: ProfileClient, acme: OpenedTenant, browser: Client) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    alice.erase(memory_id=memory_id)
    (row,) = rows(acme, memory_id)
    case = hold(system_scope(acme.tenant), Level.MEMORY, row.pk, case=CASE, now=datetime.now(UTC))
    confirm(browser)
    page = "/app/t/acme/requests?state=confirmed"
    assert f"blocked by a legal hold: {CASE}" in browser.get(page).content.decode()

    lift(system_scope(acme.tenant), case.pk, now=datetime.now(UTC))
    carry_out(acme)
    assert "Undo erasure" in browser.get(page).content.decode()
    carry_out(acme, after=GRACE)

    shown = browser.get(page).content.decode()
    assert "permanent erasure" in shown
    assert "Undo erasure" not in shown


def test_undo_is_of_the_tenant_and_of_what_is_not_done(
    alice: ProfileClient, acme: OpenedTenant, globex: OpenedTenant, browser: Client
) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    alice.erase(memory_id=memory_id)
    confirm(browser)
    listed = browser.get("/app/t/acme/requests?state=confirmed").content.decode()
    (number,) = re.findall(r'action="/app/t/acme/requests/(\d+)/undo"', listed)
    stranger = make_person(globex.tenant, email="greg@globex.example").show_factor(ago=1)
    assert stranger.post(f"/app/t/acme/requests/{number}/undo").status_code == 404
    assert stranger.post(f"/app/t/globex/requests/{number}/undo").status_code == 404
    carry_out(acme, after=GRACE)

    assert browser.post(f"/app/t/acme/requests/{number}/undo").status_code == 302
    assert alice.get(memory_id) is None
