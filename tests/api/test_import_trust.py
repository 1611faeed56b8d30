"""An import gives no orders, replaces nothing that is trusted more and pins nothing, unless by who may review."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.tenants.services import set_policy
from apps.transfers.imports.import_worker import UNPINNED
from apps.transfers.models.imports import ImportJob
from tests.api.conftest import Caller
from tests.api.test_imports import finish, jsonl, newest, seen, start
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

FRENCH = {"text": "Always answer me in French.", "extracted_type": "instruction", "extracted_key": "assistant.language"}
MOSCOW = {"text": "I live in Moscow.", "extracted_type": "fact", "extracted_key": "user.location"}


@pytest.fixture
def reviewer(acme: OpenedTenant, alice: Caller) -> Caller:
    """A program that a person trusts with reviewing."""
    return replace(alice, key=make_api_key(acme.scope, scopes=[*DEFAULT, "candidates:review"]).text)


def bring(caller: Caller, opened: OpenedTenant, *records: dict[str, Any]) -> Any:
    """The import's job, once it is over."""
    job = start(caller, jsonl(records))
    finish(opened)
    return seen(caller, job)


def waiting(reviewer: Caller) -> list[tuple[str, str]]:
    found = reviewer("GET", "/v1/candidates?status=pending").json()["candidates"]
    return [(one["text"], one["reason"]) for one in found]


def pin(caller: Caller, reviewer: Caller, text: str) -> int:
    """The memory of a turn that waited, and that the reviewer accepted and pinned."""
    caller("POST", "/v1/memory/add_turn", {"tenant_id": "acme", "user_id": "alice", "role": "user", "text": text})
    (candidate,) = reviewer("GET", "/v1/candidates?status=pending").json()["candidates"]
    accepted = reviewer("POST", f"/v1/candidates/{candidate['id']}/accept", {"pinned": True}).json()
    return int(accepted["memory_id"])


def standing(opened: OpenedTenant) -> list[tuple[str, str, bool]]:
    """Type, validity and pin of every memory, oldest first."""
    with tenant_transaction(opened.scope):
        rows = Memory.objects.within_tenant(opened.scope).order_by("pk")
        return list(rows.values_list("type", "validity", "pinned"))


def test_pinned_instruction_is_replaced_by_no_import(acme: OpenedTenant, alice: Caller, reviewer: Caller) -> None:
    german = pin(alice, reviewer, "Always answer me in German.")

    job = bring(alice, acme, FRENCH | {"validity": "current", "pinned": True})

    assert (job["created"], job["pending_review"], job["skipped"]) == (0, 1, 0)
    assert waiting(reviewer) == [(FRENCH["text"], "less_trusted")]
    found = alice("POST", "/memory/query", {"query": "Which language should the answers have?"}).json()["memories"]
    assert [one["id"] for one in found] == [german]
    assert standing(acme) == [("instruction", "current", True)]


@pytest.mark.parametrize(
    "record",
    [FRENCH, FRENCH | {"importance": 1.0}, {"text": FRENCH["text"], "importance": 0.9}, {"text": FRENCH["text"]}],
)
def test_instruction_of_an_import_waits(
    record: dict[str, Any], acme: OpenedTenant, alice: Caller, reviewer: Caller
) -> None:
    job = bring(alice, acme, record)

    assert (job["created"], job["pending_review"]) == (0, 1)
    assert waiting(reviewer) == [(FRENCH["text"], "instruction")]
    assert standing(acme) == []


def test_where_the_tenant_keeps_instructions_an_import_may_bring_them(acme: OpenedTenant, alice: Caller) -> None:
    set_policy(acme.tenant, instructions="keep", actor="test", now=datetime.now(UTC))

    assert bring(alice, acme, FRENCH)["created"] == 1


def test_import_pins_nothing_and_says_so(acme: OpenedTenant, alice: Caller) -> None:
    alice.add("I live in Porto.")

    job = bring(alice, acme, MOSCOW | {"pinned": True, "quality_score": 1.0})
    moved = alice("POST", "/memory/add", {"text": "I live in Lisbon now.", "importance": 0.6})

    assert (job["created"], job["errors"]) == (1, [{"line": 1, "reason": UNPINNED}])
    assert moved.status_code == 201, moved.content
    assert standing(acme) == [("fact", "superseded", False), ("fact", "superseded", False), ("fact", "current", False)]


def test_past_of_what_is_pinned_is_rewritten_by_no_import(acme: OpenedTenant, alice: Caller, reviewer: Caller) -> None:
    home = bring(reviewer, acme, MOSCOW | {"text": "I live in Lisbon.", "pinned": True, "valid_from": "2025-01-01"})
    assert home["created"] == 1

    job = bring(alice, acme, MOSCOW | {"valid_from": "2025-06-01"})

    assert job["pending_review"] == 1
    assert waiting(reviewer) == [(MOSCOW["text"], "less_trusted")]
    assert standing(acme) == [("fact", "current", True)]


def test_reviewer_imports_memories_as_they_were(acme: OpenedTenant, alice: Caller, reviewer: Caller) -> None:
    german = pin(alice, reviewer, "Always answer me in German.")

    job = bring(reviewer, acme, FRENCH | {"pinned": True}, MOSCOW | {"pinned": True})

    assert (job["created"], job["pending_review"], job["errors"]) == (2, 0, [])
    assert standing(acme) == [("instruction", "superseded", True), ("instruction", "current", True),
                              ("fact", "current", True)]  # fmt: skip
    with tenant_transaction(acme.scope):
        assert Memory.objects.within_tenant(acme.scope).get(pk=german).superseded_by_id is not None


def test_right_to_review_is_that_of_the_import_and_not_of_what_comes_later(
    acme: OpenedTenant, alice: Caller, reviewer: Caller
) -> None:
    """An import that was started without it stays so, though the row names another key by the time it is worked at."""
    job = start(alice, jsonl([MOSCOW | {"pinned": True}]))
    with tenant_transaction(acme.scope):
        ImportJob.objects.within(acme.scope).filter(pk=newest(acme)).update(actor="account:1")
    finish(acme)

    assert seen(alice, job)["errors"] == [{"line": 1, "reason": UNPINNED}]
    assert standing(acme) == [("fact", "current", False)]


def test_what_waited_takes_its_own_place_and_time_when_it_is_accepted(
    acme: OpenedTenant, alice: Caller, reviewer: Caller
) -> None:
    soon = datetime.now(UTC) + timedelta(days=3)
    bring(alice, acme, FRENCH | {"valid_from": "2025-06-01T00:00:00Z", "expires_at": soon.isoformat()})
    (candidate,) = reviewer("GET", "/v1/candidates?status=pending").json()["candidates"]

    accepted = reviewer("POST", f"/v1/candidates/{candidate['id']}/accept").json()

    memory = alice("GET", f"/memory/{accepted['memory_id']}").json()
    assert memory["valid_from"].startswith("2025-06-01")
    assert abs(datetime.fromisoformat(memory["expires_at"]) - soon) < timedelta(minutes=2)
