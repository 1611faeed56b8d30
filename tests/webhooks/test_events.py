"""Which events are sent, to whom, and what it costs where no endpoint listens."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.services import get_or_create_person
from apps.adapters.senders.fake import FakeSender
from apps.apikeys import quota, rate_limits
from apps.apikeys import services as keys
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure import hard_delete
from apps.erasure.hard_delete import note_steps
from apps.erasure.targets import Target
from apps.erasure.workflow import COMMAND_LINE, Authorisation, start_erasure
from apps.memories.soft_delete import restore
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import get_project
from apps.recall import read_log
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.tenants.members import give_role, take_role
from apps.webhooks import services
from apps.webhooks.fanout import fan_out
from apps.webhooks.models import WebhookEvent
from tests import once
from tests.makers import NOW, make_project, make_scope
from tests.webhooks.conftest import ADDRESS, Clock, make_endpoint, remember, told, types

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex
Work = Callable[[], int]


def test_a_memory_is_told_by_its_id_and_states_and_never_by_its_words(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    make_endpoint(admin)

    (memory_id,) = remember(scope, "The heron nests by the lock.")
    work()

    ((type_, data),) = told(sender)
    assert type_ == "memory.created"
    assert data == {
        "memory_id": memory_id, "user_id": scope.space.owner_id, "memory_type": data["memory_type"],
        "change": "created", "actor": scope.principal.label,
    }  # fmt: skip
    assert b"heron" not in sender.sent[0].body
    assert sender.sent[0].url == ADDRESS


def test_several_at_once_are_told_one_by_one_and_as_a_batch(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    make_endpoint(admin)

    ids = remember(scope, "The heron nests by the lock.", "Bees fly to the orchard.", "Otters sleep at noon.")
    work()

    assert sorted(types(sender.sent)) == ["memory.batch_created"] + ["memory.created"] * 3
    assert [data["memory_ids"] for type_, data in told(sender) if type_ == "memory.batch_created"] == [sorted(ids)]


def test_what_replaces_what_is_told(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin, wanted=["memory.superseded"])

    (first,) = remember(scope, "I live in Lisbon.")
    (second,) = remember(scope, "I live in Porto.")
    work()

    ((_, data),) = told(sender)
    assert (data["memory_id"], data["superseded_by"]) == (first, second)


def test_what_is_taken_away_and_put_back_is_told(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    (memory_id,) = remember(scope, "The heron nests by the lock.")
    make_endpoint(admin)

    soft_delete_selection(scope, MemorySelection(memory_ids=(memory_id,)), now=NOW)
    restore(scope, memory_id, now=NOW)
    work()

    assert [(type_, data["change"]) for type_, data in told(sender)] == [
        ("memory.deleted", "soft_deleted"), ("memory.updated", "restored"),
    ]  # fmt: skip
    assert told(sender)[0][1]["restorable"] is True


def test_keys_are_told_of(admin: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin)

    made = keys.issue(admin, name="a key", environment=Environment.STAGING, scopes=["memory:read"], now=NOW).key
    again = keys.rotate(admin, made.pk, now=NOW).key
    keys.revoke(admin, again.pk, now=NOW)
    work()

    assert [(type_, data["api_key_id"]) for type_, data in told(sender)] == [
        ("api_key.created", made.pk), ("api_key.created", again.pk), ("api_key.revoked", again.pk),
    ]  # fmt: skip


def test_a_key_that_is_replaced_at_once_is_told_as_revoked(admin: Scope, sender: FakeSender, work: Work) -> None:
    made = keys.issue(admin, name="a key", environment=Environment.STAGING, scopes=["memory:read"], now=NOW).key
    make_endpoint(admin)

    keys.rotate(admin, made.pk, grace=made.created_at - made.created_at, now=NOW)
    work()

    assert ("api_key.revoked", made.pk) in [(type_, data["api_key_id"]) for type_, data in told(sender)]


def test_only_what_is_wanted_is_told(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin, wanted=["memory.deleted"])

    remember(scope, "The heron nests by the lock.")
    work()

    assert sender.sent == []


def test_each_endpoint_is_told_under_the_same_event_id(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    make_endpoint(admin)
    make_endpoint(admin, url="https://other.example/")

    remember(scope, "The heron nests by the lock.")
    work()

    assert {one.url for one in sender.sent} == {ADDRESS, "https://other.example/"}
    assert len({one.headers["X-MemorySync-Event-ID"] for one in sender.sent}) == 1
    assert len({one.headers["X-MemorySync-Delivery-ID"] for one in sender.sent}) == 2


@pytest.mark.parametrize("where", ["tenant", "environment", "project"])
def test_nobody_is_told_of_what_happens_elsewhere(
    where: str, admin: Scope, scope: Scope, acme: OpenedTenant, globex: OpenedTenant, sender: FakeSender, work: Work
) -> None:
    there = {
        "tenant": globex.scope,
        "environment": replace(admin, environment=Environment.STAGING),
        "project": replace(admin, project_id=acme.project.pk),
    }[where]
    make_endpoint(there)
    if where == "project":
        scope = replace(scope, project_id=get_project(acme.scope, make_project(acme.scope, "another")).pk)

    remember(scope, "The heron nests by the lock.")
    work()

    assert sender.sent == []


def test_where_nobody_listens_an_add_costs_no_statement_and_leaves_nothing(admin: Scope, scope: Scope) -> None:
    with CaptureQueriesContext(connection) as captured:
        remember(scope, "The heron nests by the lock.")

    assert not [one["sql"] for one in captured if "webhook" in one["sql"]]
    with tenant_transaction(scope):
        assert not WebhookEvent.objects.within(scope).exists()
    assert not OutboxEvent.objects.filter(kind__startswith="webhook").exists()


def test_while_an_endpoint_is_paused_nothing_is_noted(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    endpoint = make_endpoint(admin)
    services.pause(admin, endpoint.row.pk, now=NOW)

    remember(scope, "The heron nests by the lock.")
    services.resume(admin, endpoint.row.pk, now=NOW)
    work()

    assert sender.sent == []


def test_what_is_not_committed_is_not_told(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin)

    def fail() -> Any:
        with tenant_transaction(scope):
            remember(scope, "The heron nests by the lock.")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    work()

    assert sender.sent == []


def test_an_event_of_somebody_who_was_erased_meanwhile_is_not_told(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    make_endpoint(admin)
    remember(scope, "The heron nests by the lock.")

    with tenant_transaction(scope):
        WebhookEvent.objects.within(scope).filter(space_id=scope.space.id).delete()
    work()

    assert sender.sent == []
    assert not OutboxEvent.objects.filter(kind__startswith="webhook").exists()


def test_another_persons_space_is_told_with_their_number(
    admin: Scope, acme: OpenedTenant, sender: FakeSender, work: Work
) -> None:
    make_endpoint(admin, wanted=["memory.created"])
    bob = make_scope(acme, "bob")

    remember(bob, "The heron nests by the lock.")
    work()

    assert [data["user_id"] for _, data in told(sender)] == [bob.space.owner_id]


def test_a_question_is_told_after_it_was_answered_and_by_nothing_of_its_words(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    (memory_id,) = remember(scope, "The heron nests by the lock.")
    make_endpoint(admin, wanted=["memory.queried", "memory.recalled"])

    found = recall(scope, Plaintext("where does the heron nest"), now=NOW)
    work()
    assert sender.sent == []
    read_log.flush()
    clock.now = datetime.now(UTC) + timedelta(minutes=1)  # it is written by the clock on the wall
    work()

    data = {"query_id": str(found.query_id), "user_id": scope.space.owner_id, "count": 1,
            "actor": scope.principal.label}  # fmt: skip
    assert told(sender) == [("memory.queried", data), ("memory.recalled", data | {"memory_ids": [memory_id]})]
    assert not any(b"heron" in one.body for one in sender.sent)


def test_question_of_several_environments_is_told_to_each_with_its_own_memories(
    admin: Scope, scope: Scope, acme: OpenedTenant, clock: Clock, sender: FakeSender, work: Work
) -> None:
    staging = make_scope(acme, environment=Environment.STAGING)
    (here,), (there,) = (remember(one, "The heron nests by the lock.") for one in (scope, staging))
    both = replace(scope, also_reads=(Environment.STAGING,)).in_spaces(scope.space, staging.space)
    make_endpoint(admin, wanted=["memory.recalled"])
    make_endpoint(replace(admin, environment=Environment.STAGING), wanted=["memory.recalled"])

    recall(both, Plaintext("where does the heron nest"), now=NOW)
    read_log.flush()
    clock.now = datetime.now(UTC) + timedelta(minutes=1)  # it is written by the clock on the wall
    work()

    bodies = [json.loads(one.body) for one in sender.sent]
    assert {(body["environment"], *body["data"]["memory_ids"]) for body in bodies} == {
        ("production", here), ("staging", there),
    }  # fmt: skip
    assert len({body["id"] for body in bodies}) == 2


def test_where_nobody_wants_to_hear_of_questions_none_is_written_down(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    remember(scope, "The heron nests by the lock.")
    make_endpoint(admin, wanted=["memory.created"])

    with CaptureQueriesContext(connection) as captured:
        recall(scope, Plaintext("where does the heron nest"), now=NOW)
    read_log.flush()
    work()

    assert not [one["sql"] for one in captured if "webhook" in one["sql"]]
    assert sender.sent == []


def test_a_quota_that_runs_out_is_told(admin: Scope, sender: FakeSender, work: Work) -> None:
    quota.set_quota(admin, actor="test:1", mode="strict", adds=10, now=NOW)
    make_endpoint(admin)

    for _ in range(12):
        quota.take(admin, "adds", actor="test:1", now=NOW)
    work()

    assert told(sender) == [
        ("billing.usage_threshold", {"meter": "adds", "percent": percent, "actor": "test:1"}) for percent in (80, 100)
    ]  # fmt: skip


def test_a_key_that_asks_too_often_is_told_of_once_a_minute(
    admin: Scope, acme: OpenedTenant, sender: FakeSender, work: Work, clock: Clock
) -> None:
    make_endpoint(admin)
    program = replace(admin, principal=Principal(kind="api_key", id=7))

    for second in (0, 1, 59, 121):
        rate_limits.note_refused(program, now=NOW + timedelta(seconds=second))
    clock.advance(minutes=3)
    work()

    assert told(sender) == [("api.rate_limited", {"api_key_id": 7, "actor": "api_key:7"})] * 2


def test_members_are_told_of(admin: Scope, acme: OpenedTenant, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin)
    person, _ = get_or_create_person("carol@acme.example", actor="command:0", now=datetime.now(UTC))

    give_role(acme.tenant, person.pk, "analyst", actor="test:1", now=NOW)
    give_role(acme.tenant, person.pk, "admin", actor="test:1", now=NOW)
    take_role(acme.tenant, person.pk, actor="test:1", now=NOW)
    work()

    assert [(type_, data["account_id"]) for type_, data in told(sender)] == [
        ("team.member_added", person.pk), ("team.member_removed", person.pk),
    ]  # fmt: skip


def test_what_is_erased_is_told_once_more_and_what_was_told_of_it_is_gone(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    gone, stays = remember(scope, "The heron nests by the lock.", "Bees fly to the orchard.")
    make_endpoint(admin)
    with tenant_transaction(scope):
        note_steps(scope, [gone, stays], "restored", now=NOW)
    fan_out(now=clock.now)

    hard_delete.erase(scope, [gone], with_sources=False, now=NOW)
    work()

    said = [(type_, data["memory_id"]) for type_, data in told(sender)]
    assert ("memory.deleted", gone) in said
    assert ("memory.updated", gone) not in said
    assert ("memory.updated", stays) in said


def test_what_is_to_be_told_of_a_person_goes_with_them(
    admin: Scope, scope: Scope, acme: OpenedTenant, sender: FakeSender, work: Work, clock: Clock
) -> None:
    make_endpoint(admin)
    remember(scope, "The heron nests by the lock.")
    fan_out(now=clock.now)
    remember(scope, "Bees fly to the orchard.")

    start_erasure(
        acme.scope, Target.space(scope.space.uid),
        authorised=Authorisation(principal=Principal(kind="account", id=1), method=COMMAND_LINE), now=NOW,
    )  # fmt: skip
    work()

    ((type_, data),) = told(sender)
    assert (type_, data["erased"], data["restorable"]) == ("memory.deleted", "space", False)
    assert not OutboxEvent.objects.filter(kind__startswith="webhook").exists()
