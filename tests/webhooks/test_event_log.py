"""The log that listeners read: what is in it, in which order it can be read, and for how long."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from apps.accounts.services import get_or_create_person
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure.targets import Target
from apps.erasure.workflow import COMMAND_LINE, Authorisation, start_erasure
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Environment, Principal, Scope
from apps.recall import read_log
from apps.recall.services import recall
from apps.tenants.members import give_role
from apps.webhooks import event_log
from apps.webhooks.event_log import EventFilter, EventPage, EventsGone, LoggedEvent
from apps.webhooks.events import TYPES
from apps.webhooks.fanout import TELL
from apps.webhooks.models import WebhookEvent
from tests import once
from tests.makers import NOW, make_scope
from tests.webhooks.conftest import make_endpoint, remember

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex
Work = Callable[[], int]

ALL = EventFilter(environment="production", project_id=None, space_id=None, types=frozenset(TYPES))


def everything(scope: Scope, after: int = 0) -> list[LoggedEvent]:
    return list(event_log.read_page(scope, event_log.read_state(scope), after=after, limit=1_000).events)


def find_position(scope: Scope, after: int | None, *, now: datetime) -> int:
    return event_log.find_position(scope, event_log.keep_recording(scope, now=now), after)


def read_page(scope: Scope, only: EventFilter, *, after: int, limit: int) -> EventPage:
    return event_log.read_page(scope, event_log.read_state(scope), after=after, limit=limit, only=only)


def types_of(events: list[LoggedEvent]) -> list[str]:
    return [event.row.type for event in events]


def stored(scope: Scope) -> int:
    with tenant_transaction(scope):
        return WebhookEvent.objects.within(scope).count()


def test_events_are_recorded_from_the_first_listener_on(admin: Scope, scope: Scope) -> None:
    remember(scope, "The heron nests by the lock.")
    assert find_position(admin, None, now=NOW) == 0

    (memory_id,) = remember(scope, "Bees fly to the orchard.")

    (event,) = everything(admin)
    assert (event.position, event.row.type, event.body["data"]["memory_id"]) == (1, "memory.created", memory_id)
    assert event.frame.startswith(b"id: 1\nevent: memory.created\ndata: {")
    assert not OutboxEvent.objects.filter(kind=TELL).exists()


def test_webhooks_and_listeners_get_the_same(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin)
    event_log.listen(admin, now=NOW)

    remember(scope, "The heron nests by the lock.", "Bees fly to the orchard.")
    work()

    frames = [event.frame for event in everything(admin)]
    assert len(frames) == len(sender.sent) == 3
    assert all(any(b"data: " + one.body + b"\n" in frame for frame in frames) for one in sender.sent)


def test_answered_queries_are_recorded(admin: Scope, scope: Scope) -> None:
    remember(scope, "The heron nests by the lock.")
    event_log.listen(admin, now=NOW)

    recall(scope, Plaintext("where does the heron nest"), now=NOW)
    read_log.flush()

    assert types_of(everything(admin)) == ["memory.queried", "memory.recalled"]


def test_members_are_recorded(admin: Scope, acme: OpenedTenant) -> None:
    event_log.listen(admin, now=NOW)
    person, _ = get_or_create_person("carol@acme.example", actor="command:0", now=NOW)

    give_role(acme.tenant, person.pk, "analyst", actor="test:1", now=NOW)

    assert types_of(everything(admin)) == ["team.member_added"]


def test_another_tenant_s_listeners_record_and_read_nothing_of_ours(
    admin: Scope, scope: Scope, globex: OpenedTenant
) -> None:
    event_log.listen(globex.scope, now=NOW)
    remember(scope, "The heron nests by the lock.")
    assert stored(scope) == 0

    event_log.listen(admin, now=NOW)
    remember(scope, "Bees fly to the orchard.")

    assert len(everything(admin)) == 1
    assert everything(globex.scope) == []


@pytest.mark.parametrize(
    ("changed", "sees"),
    [
        ({}, True),
        ({"environment": "staging"}, False),
        ({"project_id": -1}, False),
        ({"space_id": event_log.NOBODY}, False),
        ({"types": frozenset({"memory.deleted"})}, False),
    ],
)
def test_a_filter_lets_through_what_it_names(
    admin: Scope, acme: OpenedTenant, changed: dict[str, object], sees: bool
) -> None:
    event_log.listen(admin, now=NOW)
    mine = make_scope(acme, project_id=acme.project.pk)
    remember(mine, "The heron nests by the lock.")
    only = EventFilter(
        environment="production",
        project_id=acme.project.pk,
        space_id=mine.space.id,
        types=frozenset({"memory.created"}),
    )

    page = read_page(admin, replace(only, **changed), after=0, limit=10)  # type: ignore[arg-type]

    assert bool(page.events) is sees
    assert page.position == 1
    assert not page.has_more


def test_pages_follow_each_other_without_loss_or_double(admin: Scope, scope: Scope, acme: OpenedTenant) -> None:
    event_log.listen(admin, now=NOW)
    bob = make_scope(acme, "bob")
    for number in range(6):
        remember(scope, f"The heron nests by lock {number}.")
        remember(bob, f"Bees fly to orchard {number}.")
    only = replace(ALL, space_id=scope.space.id)

    seen, after, has_more = [], 0, True
    while has_more:
        page = read_page(admin, only, after=after, limit=2)
        seen += [event.position for event in page.events]
        after, has_more = page.position, page.has_more

    assert seen == [1, 3, 5, 7, 9, 11]
    assert after == 12


def test_what_is_older_than_the_limit_is_dropped_and_a_listener_is_told(admin: Scope, scope: Scope) -> None:
    event_log.listen(admin, now=NOW)
    remember(scope, "The heron nests by the lock.", now=NOW)
    remember(scope, "Bees fly to the orchard.", now=NOW + timedelta(hours=2))
    event_log.listen(admin, now=NOW + timedelta(hours=20))

    event_log.sweep(admin, now=NOW + timedelta(hours=25))

    now = NOW + timedelta(hours=25)
    with pytest.raises(EventsGone):
        find_position(admin, 0, now=now)
    assert event_log.read_state(admin).dropped == 1
    assert [event.position for event in everything(admin, after=1)] == [2]


def test_events_without_a_position_are_not_dropped_unnoticed(admin: Scope, scope: Scope) -> None:
    position = find_position(admin, None, now=NOW)
    remember(scope, "The heron nests by the lock.", now=NOW)
    event_log.listen(admin, now=NOW + timedelta(hours=20))

    event_log.sweep(admin, now=NOW + timedelta(hours=25))

    with pytest.raises(EventsGone):
        find_position(admin, position, now=NOW + timedelta(hours=25))


def test_recording_ends_when_nobody_listens_and_nobody_may_go_on_from_there(admin: Scope, scope: Scope) -> None:
    event_log.listen(admin, now=NOW)
    remember(scope, "The heron nests by the lock.", now=NOW + timedelta(hours=24))
    (event,) = everything(admin)
    later = NOW + timedelta(hours=25)

    event_log.sweep(admin, now=later)
    remember(scope, "Bees fly to the orchard.", now=later)

    assert stored(scope) == 0
    with pytest.raises(EventsGone):
        find_position(admin, event.position, now=later)
    remember(scope, "The ferry leaves at nine.", now=later)
    assert [one.position for one in everything(admin)] == [event.position + 2]


def test_what_webhooks_wait_for_outlives_the_log(admin: Scope, scope: Scope, sender: FakeSender, work: Work) -> None:
    make_endpoint(admin)
    event_log.listen(admin, now=NOW)
    remember(scope, "The heron nests by the lock.")

    event_log.sweep(admin, now=NOW + timedelta(hours=25))
    work()

    assert len(sender.sent) == 1
    assert stored(scope) == 0


def test_a_position_from_a_newer_database_is_refused(admin: Scope) -> None:
    event_log.listen(admin, now=NOW)

    with pytest.raises(EventsGone):
        find_position(admin, 7, now=NOW)


def test_events_of_an_erased_person_are_erased_from_the_log(admin: Scope, scope: Scope, acme: OpenedTenant) -> None:
    event_log.listen(admin, now=NOW)
    remember(scope, "The heron nests by the lock.")
    assert len(everything(admin)) == 1

    start_erasure(
        acme.scope, Target.space(scope.space.uid),
        authorised=Authorisation(principal=Principal(kind="account", id=1), method=COMMAND_LINE), now=NOW,
    )  # fmt: skip

    left = everything(admin)
    assert not [event for event in left if event.row.space_id == scope.space.id]


def test_environments_are_apart(admin: Scope, acme: OpenedTenant) -> None:
    event_log.listen(admin, now=NOW)
    remember(make_scope(acme, environment=Environment.STAGING), "The heron nests by the lock.")

    assert read_page(admin, ALL, after=0, limit=10).events == []
    assert len(read_page(admin, replace(ALL, environment="staging"), after=0, limit=10).events) == 1
