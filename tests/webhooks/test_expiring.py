"""Notice before memories go: a week ahead, once for a run of days, and again where its first day moves."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import orjson
import pytest

from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.erasure import hard_delete, legal_holds
from apps.memories.services import renew
from apps.policies.retention import KEEP, Level, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.retention.notices import list_notices
from apps.retention.retention_sweep import sweep
from apps.webhooks.models import WebhookDelivery
from tests.makers import NOW, make_project, make_scope
from tests.webhooks.conftest import Clock, make_endpoint, remember, told

pytestmark = pytest.mark.django_db(databases="__all__")

DAY = timedelta(days=1)
WANTED = ["memory.expiring"]
Work = Callable[[], int]


@pytest.fixture
def notified(admin: Scope, sender: FakeSender, work: Work, clock: Clock) -> Callable[[datetime], list[dict[str, Any]]]:
    """The events of one run of the retention at this time."""
    make_endpoint(admin, wanted=WANTED)

    def run(now: datetime) -> list[dict[str, Any]]:
        sender.sent.clear()
        clock.now = now
        sweep(replace(admin, project_id=None), now=now)
        work()
        return [data for _, data in told(sender)]

    return run


def first_days(scope: Scope) -> list[tuple[str, date, int]]:
    return [(one.environment, one.first_on, one.count) for one in list_notices(scope)]


def test_a_week_before_the_first_goes_it_is_told_with_days_counts_and_ids(
    scope: Scope, sender: FakeSender, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    ids = remember(scope, "The heron nests by the lock.", "Bees fly to the orchard.")
    ids += remember(scope, "Otters sleep at noon.", now=NOW + 2 * DAY)

    assert notified(NOW + 82 * DAY) == []
    assert notified(NOW + 83 * DAY) == [
        {
            "first_on": (NOW + 90 * DAY).date().isoformat(), "days": 7, "count": 2,
            "by_day": [{"day": (NOW + 90 * DAY).date().isoformat(), "count": 2}],
            "memory_ids": ids[:2], "moved_from": None, "actor": "system:0",
        }
    ]  # fmt: skip
    assert not any(b"heron" in one.body for one in sender.sent)
    assert first_days(scope) == [("production", (NOW + 90 * DAY).date(), 2)]


def test_a_run_of_days_is_told_once_and_the_next_run_again(
    scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    for day in (0, 1, 2, 6, 12, 30):
        remember(scope, f"Otters number {day} sleep at noon.", now=NOW + day * DAY)

    seen = [(day, one["first_on"]) for day in range(75, 125) for one in notified(NOW + day * DAY)]

    assert seen == [
        (83, (NOW + 90 * DAY).date().isoformat()),
        (113, (NOW + 120 * DAY).date().isoformat()),
    ]
    assert first_days(scope) == []


def test_where_the_first_day_moves_before_it_came_it_is_told_again(
    admin: Scope, scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    (one,) = remember(scope, "The heron nests by the lock.")
    remember(scope, "Otters sleep at noon.", now=NOW + 3 * DAY)
    notified(NOW + 83 * DAY)

    with tenant_transaction(scope):
        renew(scope, [one], now=NOW + 85 * DAY)
    (later,) = notified(NOW + 87 * DAY)
    set_policy(admin, Level.TENANT, 0, {"active_days": 86}, now=NOW)
    (sooner,) = notified(NOW + 88 * DAY)
    again = notified(NOW + 88 * DAY)

    assert (later["first_on"], later["moved_from"]) == (
        (NOW + 93 * DAY).date().isoformat(), (NOW + 90 * DAY).date().isoformat(),
    )  # fmt: skip
    assert (sooner["first_on"], sooner["moved_from"]) == (
        (NOW + 89 * DAY).date().isoformat(), (NOW + 93 * DAY).date().isoformat(),
    )  # fmt: skip
    assert again == []


def test_what_is_kept_after_all_ends_the_run_without_a_word(
    admin: Scope, scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    remember(scope, "The heron nests by the lock.")
    notified(NOW + 83 * DAY)

    set_policy(admin, Level.TENANT, 0, {"active_days": KEEP}, loosens=True, now=NOW)

    assert notified(NOW + 84 * DAY) == []
    assert first_days(scope) == []


def test_a_policy_that_takes_memories_at_once_is_told_before_it_does(
    admin: Scope, scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    remember(scope, "The heron nests by the lock.")
    set_policy(admin, Level.TENANT, 0, {"active_days": 1}, now=NOW)

    (data,) = notified(NOW + 20 * DAY)

    assert (data["first_on"], data["count"]) == ((NOW + 20 * DAY).date().isoformat(), 1)


def test_each_environment_and_project_hears_of_its_own(
    admin: Scope,
    acme: OpenedTenant,
    globex: OpenedTenant,
    sender: FakeSender,
    notified: Callable[[datetime], list[dict[str, Any]]],
) -> None:
    shop = make_project(acme.scope, "web")
    web = get_project(acme.scope, shop).pk
    make_endpoint(replace(admin, environment=Environment.STAGING), wanted=WANTED)
    make_endpoint(replace(admin, project_id=web), wanted=WANTED)
    remember(make_scope(acme, project_id=acme.project.pk), "The heron nests by the lock.")
    remember(make_scope(acme, project_id=web), "Bees fly to the orchard.")
    remember(make_scope(acme, environment=Environment.STAGING), "Otters sleep at noon.")
    remember(make_scope(globex), "The heron nests by the lock.")

    notified(NOW + 83 * DAY)

    told_of = sorted((body["environment"], body["project_id"] or "", body["data"]["count"]) for body in bodies(sender))
    home = acme.project.public_id
    # The endpoint of the project hears of its own; that of none hears of both.
    assert told_of == sorted(
        [("production", home, 1), ("production", shop, 1), ("production", shop, 1), ("staging", "", 1)]
    )
    assert list_notices(globex.scope) == []


def bodies(sender: FakeSender) -> list[dict[str, Any]]:
    return [orjson.loads(one.body) for one in sender.sent]


def test_what_is_held_or_has_a_time_of_its_own_is_not_told_of(
    admin: Scope, scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    remember(scope, "The heron nests by the lock.")
    legal_holds.hold(admin, Level.SPACE, scope.space.id, case="case-1", now=NOW)

    assert notified(NOW + 83 * DAY) == []
    assert first_days(scope) == []


def test_who_is_erased_stands_in_no_notice_any_more(
    scope: Scope, notified: Callable[[datetime], list[dict[str, Any]]]
) -> None:
    (one,) = remember(scope, "The heron nests by the lock.")
    notified(NOW + 83 * DAY)

    hard_delete.erase(scope, [one], with_sources=False, now=NOW + 84 * DAY)

    with tenant_transaction(scope):
        assert not WebhookDelivery.objects.within(scope).filter(event_type="memory.expiring").exists()
        noted = AuditEvent.objects.filter(action="retention.notice").values_list("reason", "count")
        assert list(noted) == [(f"production first_on={(NOW + 90 * DAY).date().isoformat()}", 1)]
