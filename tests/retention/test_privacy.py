"""Requests of people: a key opens them and cannot carry them out; what is late says so; what fails is tried again."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.erasure import legal_holds, receipt_log
from apps.erasure.planning import ErasureBlocked
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.spaces import find_end_user
from apps.policies.models import Level
from apps.projects.scope import Environment, Principal, Scope
from apps.retention.requests import PersonNeeded
from apps.retention.states import PrivacyKind, PrivacyState
from apps.retention.subject_requests import (
    PrivacyRequestDone,
    PrivacyRequestNotFound,
    delete_person,
    hand_over,
    list_requests,
    open_request,
)
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

NOW = datetime.now(UTC)
WORD = Authorisation(principal=Principal(kind="account", id=3), method="session+webauthn", step_up_age_s=41)
DOG, HOME = "My dog Biscuit sleeps on the blue sofa.", "I live in Lisbon."
URL = "/v1/privacy/requests"


def say(scope: Scope, *texts: str) -> None:
    remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in texts], now=NOW)


def told(pieces: Iterable[bytes]) -> list[Any]:
    return [json.loads(line) for line in b"".join(pieces).splitlines()]


def run(*arguments: str, **options: Any) -> str:
    output = StringIO()
    call_command("privacy", *arguments, stdout=output, **options)
    return output.getvalue()


def test_a_person_is_deleted_everywhere_and_the_receipt_is_the_evidence(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    say(alice, DOG)
    say(make_scope(acme, environment=Environment.STAGING), HOME)
    say(bob, DOG)
    asked, is_new = open_request(alice, PrivacyKind.DELETE, now=NOW)
    assert is_new
    assert open_request(alice, PrivacyKind.DELETE, now=NOW + timedelta(hours=1)) == (asked, False)

    done = delete_person(acme.scope, asked.id, authorised=WORD, now=NOW + timedelta(days=1))

    assert (done.state, done.records, done.handled_by) == (PrivacyState.COMPLETED, 2, "system:0")
    (receipt,) = done.evidence
    assert receipt_log.get_receipt(acme.scope, receipt).kind == "end_user"
    assert find_end_user(acme.scope, "alice") is None
    assert find_end_user(acme.scope, "bob") is not None
    assert list_requests(acme.scope, end_user_id=asked.end_user_id, now=NOW) == [done]
    with pytest.raises(PrivacyRequestDone):
        delete_person(acme.scope, asked.id, authorised=WORD, now=NOW)


def test_all_that_is_kept_is_handed_over_of_every_environment_and_of_nobody_else(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    say(make_scope(acme, environment=Environment.STAGING), HOME)
    say(make_scope(acme, "bob"), "I work as a nurse.")
    asked, _ = open_request(alice, PrivacyKind.EXPORT, now=NOW)
    (before,) = list_requests(acme.scope, now=NOW)

    lines = told(hand_over(acme.scope, asked.id, now=NOW))

    memories = [line for line in lines if line["kind"] == "memory"]
    assert {(line["environment"], line["text"]) for line in memories} == {("production", DOG), ("staging", HOME)}
    assert {line["end_user_id"] for line in lines if line["kind"] == "person"} == {"alice"}
    assert "nurse" not in str(lines)
    (after,) = list_requests(acme.scope, now=NOW)
    assert (before.state, after.state, after.records) == (PrivacyState.PENDING, PrivacyState.COMPLETED, len(lines))


def test_one_that_was_left_half_way_is_in_progress_and_can_be_done_again(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG, HOME)
    asked, _ = open_request(alice, PrivacyKind.ACCESS, now=NOW)
    hand_over(acme.scope, asked.id, now=NOW)  # begun, and not fetched
    (left,) = list_requests(acme.scope, now=NOW)
    assert left.state == PrivacyState.IN_PROGRESS

    assert [line["text"] for line in told(hand_over(acme.scope, asked.id, now=NOW)) if line["kind"] == "memory"] == [
        DOG,
        HOME,
    ]

    (done,) = list_requests(acme.scope, now=NOW)
    assert (done.state, done.attempts) == (PrivacyState.COMPLETED, 2)


def test_what_a_hold_forbids_fails_and_is_tried_again(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    asked, _ = open_request(alice, PrivacyKind.DELETE, now=NOW)
    held = legal_holds.hold(acme.scope, Level.SPACE, alice.space.id, case="2026-117", now=NOW)
    with pytest.raises(ErasureBlocked):
        delete_person(acme.scope, asked.id, authorised=WORD, now=NOW)
    (failed,) = list_requests(acme.scope, now=NOW)
    assert (failed.state, failed.error) == (PrivacyState.FAILED, "ERASURE_BLOCKED")

    legal_holds.lift(acme.scope, held.pk, now=NOW)

    assert delete_person(acme.scope, asked.id, authorised=WORD, now=NOW).state == PrivacyState.COMPLETED


def test_after_thirty_days_it_is_overdue(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    open_request(alice, PrivacyKind.ACCESS, now=NOW)

    assert list_requests(acme.scope, overdue=True, now=NOW + timedelta(days=30)) == []
    (late,) = list_requests(acme.scope, overdue=True, now=NOW + timedelta(days=31))
    assert late.is_overdue


def test_a_key_opens_and_follows_its_end_users_requests_and_carries_none_out(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    say(make_scope(acme), DOG)
    alice = Caller(make_api_key(acme.scope, scopes=["privacy:request"]).text, end_user="alice")
    opened = alice("POST", URL, {"type": "delete"})
    again = alice("POST", URL, {"type": "delete"})
    assert (opened.status_code, again.status_code) == (201, 200)
    assert again.json() == opened.json()
    assert (opened.json()["status"], opened.json()["overdue"]) == ("pending", False)

    assert alice("GET", URL).json()["requests"] == [opened.json()]
    assert replace(alice, end_user="bob")("GET", URL).json()["requests"] == []
    stranger = Caller(make_api_key(globex.scope, scopes=["privacy:request"]).text, end_user="alice")
    assert stranger("GET", URL).json()["requests"] == []
    refused = stranger("POST", URL, {"type": "delete"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "PRIVACY_REQUEST_NOT_FOUND")
    assert alice("POST", URL, {"type": "everything"}).status_code == 422

    by_key = replace(acme.scope, principal=Principal(kind="api_key", id=1))
    request_id = opened.json()["id"]
    for carry_out in (
        lambda scope: delete_person(scope, request_id, authorised=WORD, now=NOW),
        lambda scope: hand_over(scope, request_id, now=NOW),
    ):
        with pytest.raises(PersonNeeded):
            carry_out(by_key)
        with pytest.raises((PrivacyRequestNotFound, PrivacyRequestDone)):
            carry_out(globex.scope)
    assert find_end_user(acme.scope, "alice") is not None


def test_somebody_at_the_host_carries_them_out(
    acme: OpenedTenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    assert "There are no requests" in run("list")
    export, _ = open_request(alice, PrivacyKind.EXPORT, now=NOW)
    delete, _ = open_request(alice, PrivacyKind.DELETE, now=NOW - timedelta(days=40))
    assert "overdue" in run("list")
    (late,) = json.loads(run("list", "--overdue", "--json"))
    assert late["request"] == delete.id

    file = tmp_path / "alice.jsonl"
    records = json.loads(run("export", str(export.id), "--to", str(file), "--json"))["records"]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (len(lines), file.stat().st_mode & 0o777) == (records, 0o600)
    assert [line["text"] for line in lines if line["kind"] == "memory"] == [DOG]
    monkeypatch.setattr("builtins.input", lambda _: "no")
    with pytest.raises(CommandError, match="Nothing was erased"):
        run("delete", str(delete.id))
    done = json.loads(run("delete", str(delete.id), "--yes", "--json"))

    assert (done["state"], len(done["receipts"])) == ("completed", 1)
    assert find_end_user(acme.scope, "alice") is None


def test_export_into_a_file_that_exists_begins_nothing(acme: OpenedTenant, tmp_path: Path) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    export, _ = open_request(alice, PrivacyKind.EXPORT, now=NOW)
    file = tmp_path / "alice.jsonl"
    file.write_text("of somebody else")

    with pytest.raises(CommandError, match="exists: name a new file") as refused:
        run("export", str(export.id), "--to", str(file))

    assert (refused.value.returncode, file.read_text()) == (2, "of somebody else")
    assert [one.state for one in list_requests(acme.scope, now=NOW)] == [PrivacyState.PENDING]


def test_export_that_fails_leaves_no_file(acme: OpenedTenant, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"

    with pytest.raises(CommandError):
        run("export", "900001", "--to", str(file))

    assert not file.exists()


def test_request_of_a_person_whom_a_command_has_erased_is_completed_or_can_be(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    by_command, _ = open_request(alice, PrivacyKind.DELETE, now=NOW)
    call_command("shred", "person", "alice", "--yes", "--json", stdout=StringIO())
    bob = make_scope(acme, "bob")
    say(bob, DOG)
    by_space, _ = open_request(bob, PrivacyKind.DELETE, now=NOW)
    start_erasure(acme.scope, Target.space(bob.space.uid), authorised=WORD, now=NOW)

    again = run("delete", str(by_space.id), "--yes")

    assert "had been erased before" in again
    left = {one.id: one for one in list_requests(acme.scope, now=NOW)}
    assert {one.state for one in left.values()} == {PrivacyState.COMPLETED}
    assert len(left[by_command.id].evidence) == 1
