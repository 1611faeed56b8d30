"""What is sent, how often, and with what result.  The sender is a fake; tests/webhooks/test_receiving.py has a real
receiver."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest
from django.db import connection

from apps.adapters.senders.base import AddressRefused, Answered, SendFailed
from apps.adapters.senders.fake import FakeSender, Sent
from apps.apikeys.onboarding import OpenedTenant
from apps.core.errors import DomainError
from apps.core.scoping import tenant_transaction
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.projects.selectors import get_project
from apps.webhooks import deliveries, dispatcher, retry_policy, services
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests import once
from tests.makers import NOW, make_project
from tests.webhooks.conftest import ADDRESS, Clock, make_endpoint, remember

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex
Work = Callable[[], int]
TEXT = "The heron nests by the lock."


def answering(status: int, body: bytes = b"") -> Callable[[Sent], Answered]:
    return lambda _: Answered(status=status, body=body)


def failing(error: Exception) -> Callable[[Sent], Answered]:
    def fail(_: Sent) -> Answered:
        raise error

    return fail


def newest(admin: Scope, clock: Clock) -> WebhookDelivery:
    return deliveries.page(admin, number=1, size=1, now=clock.now).deliveries[0].row


def one_delivery(admin: Scope, scope: Scope, **more: object) -> services.OpenedEndpoint:
    endpoint = make_endpoint(admin, wanted=["memory.created"], **more)
    remember(scope, TEXT)
    return endpoint


@pytest.mark.parametrize(
    ("algorithm", "name", "hashed"),
    [("hmac-sha256", "sha256", hashlib.sha256), ("hmac-sha512", "sha512", hashlib.sha512)],
)
def test_the_signature_is_of_the_time_and_the_body_under_the_secret_that_was_shown(
    algorithm: str, name: str, hashed: Callable[..., object], admin: Scope, scope: Scope, sender: FakeSender, work: Work
) -> None:
    endpoint = one_delivery(
        admin, scope,
        signature={"signature_algorithm": algorithm, "signature_header": "X-Sig", "timestamp_header": "X-When"},
    )  # fmt: skip

    work()

    (sent,) = sender.sent
    signed = sent.headers["X-When"].encode() + b"." + sent.body
    mac = hmac.new((endpoint.secret or "").encode(), signed, hashed).hexdigest()  # type: ignore[arg-type]
    assert sent.headers["X-Sig"] == f"{name}={mac}"
    assert sent.headers["X-MemorySync-Event"] == "memory.created"


def test_a_new_secret_signs_at_once_and_the_old_one_beside_it_for_a_day(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = make_endpoint(admin, wanted=["memory.created"])
    renewed = services.rotate_secret(admin, endpoint.row.pk, now=clock.now)

    remember(scope, TEXT)
    work()
    clock.advance(hours=24)
    remember(scope, "Bees fly to the orchard.")
    work()

    def mac(secret: str | None, sent: Sent) -> str:
        signed = sent.headers["X-MemorySync-Timestamp"].encode() + b"." + sent.body
        return "sha256=" + hmac.new((secret or "").encode(), signed, hashlib.sha256).hexdigest()

    first, second = sender.sent
    assert first.headers["X-MemorySync-Signature"] == mac(renewed.secret, first)
    assert first.headers["X-MemorySync-Signature-Previous"] == mac(endpoint.secret, first)
    assert second.headers["X-MemorySync-Signature"] == mac(renewed.secret, second)
    assert "X-MemorySync-Signature-Previous" not in second.headers


def test_any_answer_of_two_hundred_and_something_is_a_delivery(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = one_delivery(admin, scope)
    sender.answer = answering(204)

    work()

    row = newest(admin, clock)
    assert (row.status, row.status_code, row.attempt_number) == ("delivered", 204, 1)
    assert row.completed_at is not None
    shown = services.get(admin, endpoint.row.pk).row
    assert (shown.total_deliveries, shown.successful_deliveries, shown.consecutive_failures) == (1, 1, 0)
    assert not OutboxEvent.objects.filter(kind__startswith="webhook").exists()


@pytest.mark.parametrize("status", [403, 410])
def test_who_wants_no_more_is_asked_no_more(
    status: int, admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    sender.answer = answering(status)

    work()
    clock.advance(days=2)
    work()

    assert len(sender.sent) == 1
    assert newest(admin, clock).status == "dead_letter"


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503, None])
def test_what_fails_is_tried_again_later_each_time_and_then_given_up(
    status: int | None, admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope, retry={"max_retries": 3, "initial_delay_seconds": 10, "backoff_multiplier": 2.0})
    sender.answer = answering(status) if status else failing(SendFailed("timeout"))
    waited = []

    while work():
        row = newest(admin, clock)
        if row.next_retry_at is None:
            break
        assert row.status == "retrying"
        waited.append((row.next_retry_at - clock.now).total_seconds())
        clock.now = row.next_retry_at

    row = newest(admin, clock)
    assert (row.status, row.attempt_number, row.max_attempts, len(row.attempts)) == ("dead_letter", 4, 4, 4)
    assert row.error == (f"status_{status}" if status else "timeout")
    assert len({one.headers["X-MemorySync-Event-ID"] for one in sender.sent}) == 1
    assert len({one.headers["X-MemorySync-Delivery-ID"] for one in sender.sent}) == 1
    # Ten, twenty and forty seconds, each spread downwards by half; the worker's clock went on a little.
    assert [high / 2 - 1 <= wait <= high for wait, high in zip(waited, (10, 20, 40), strict=True)] == [True] * 3


def test_no_retry_waits_longer_than_the_endpoint_says(admin: Scope) -> None:
    endpoint = make_endpoint(
        admin, retry={"initial_delay_seconds": 60, "max_delay_seconds": 100, "backoff_multiplier": 5.0}
    )

    assert all(
        timedelta(seconds=50) <= retry_policy.delay(endpoint.row, 9) <= timedelta(seconds=100) for _ in range(50)
    )


def test_retries_are_spread(admin: Scope) -> None:
    endpoint = make_endpoint(admin)

    assert len({retry_policy.delay(endpoint.row, 3) for _ in range(20)}) > 10


def test_a_status_that_the_endpoint_does_not_name_is_not_retried(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope, retry={"retry_status_codes": ["5xx", "429"]})
    sender.answer = answering(404)

    work()

    assert newest(admin, clock).status == "failed"


def test_without_retries_one_attempt_is_all(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope, retry={"retry_enabled": False})
    sender.answer = answering(500)

    work()
    clock.advance(days=2)
    work()

    assert len(sender.sent) == 1
    assert newest(admin, clock).status == "failed"


def test_an_address_that_is_refused_by_now_is_reached_by_nobody(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    sender.answer = failing(AddressRefused("private"))

    work()

    row = newest(admin, clock)
    assert (row.status, row.error, row.status_code) == ("retrying", "refused_private", None)


def test_an_answer_is_kept_sealed_and_shown_to_the_tenant(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    sender.answer = answering(200, b"thanks, the heron is noted")

    work()

    shown = deliveries.page(admin, number=1, size=1, now=clock.now).deliveries[0]
    assert shown.response == "thanks, the heron is noted"
    with tenant_transaction(admin), connection.cursor() as cursor:
        cursor.execute("select d::text || e::text from webhooks_webhookdelivery d, webhooks_webhookendpoint e")
        (row,) = cursor.fetchone() or ("",)
    for plain in (b"heron", ADDRESS.encode(), b"xyz"):
        assert plain.decode() not in row
        assert plain.hex() not in row


def test_replay_sends_again_what_failed_under_the_same_ids(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = one_delivery(admin, scope)
    sender.answer = answering(410)
    work()
    sender.answer = answering(200)

    found = deliveries.replay(
        admin, endpoint.row.pk, since=NOW - timedelta(hours=1), statuses=["failed", "dead_letter"], limit=10,
        now=clock.now,
    )  # fmt: skip
    work()

    assert (found.eligible, list(found.ids)) == (1, [newest(admin, clock).pk])
    assert newest(admin, clock).status == "delivered"
    assert len({one.headers["X-MemorySync-Event-ID"] for one in sender.sent}) == 1
    assert len(sender.sent) == 2


def test_replay_takes_nothing_older_than_it_is_asked_for(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = one_delivery(admin, scope)
    sender.answer = answering(410)
    work()

    found = deliveries.replay(
        admin, endpoint.row.pk, since=NOW + timedelta(seconds=1), statuses=["dead_letter"], limit=10, now=clock.now
    )

    assert (found.eligible, list(found.ids)) == (0, [])


def test_what_was_delivered_is_not_retried(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    work()

    with pytest.raises(deliveries.AlreadyDelivered):
        deliveries.retry(admin, newest(admin, clock).pk, now=clock.now)


def test_retry_does_not_wait_for_its_time(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    sender.answer = answering(500)
    work()
    sender.answer = answering(200)

    deliveries.retry(admin, newest(admin, clock).pk, now=clock.now)
    work()

    assert newest(admin, clock).status == "delivered"


def test_what_waits_when_an_endpoint_is_paused_is_sent_when_it_is_resumed(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = one_delivery(admin, scope)
    services.pause(admin, endpoint.row.pk, now=clock.now)
    # As between an event's delivery being made and the pause.
    dispatcher.fan_out(now=clock.now)
    with tenant_transaction(admin):
        WebhookEndpoint.objects.within(admin).update(is_enabled=True)
    remember(scope, "Bees fly to the orchard.")
    dispatcher.fan_out(now=clock.now)
    services.pause(admin, endpoint.row.pk, now=clock.now)
    work()
    assert sender.sent == []

    services.resume(admin, endpoint.row.pk, now=clock.now)
    work()

    assert len(sender.sent) == 1


def test_of_one_endpoint_only_a_few_are_on_their_way_at_once(
    admin: Scope, scope: Scope, sender: FakeSender, clock: Clock
) -> None:
    make_endpoint(admin, wanted=["memory.created"])
    for number in range(6):
        remember(scope, f"Parcel {number} went to harbour office {number}.")
    dispatcher.fan_out(now=clock.now)

    jobs, is_crowded = dispatcher._lease(10, is_alone=True, now=clock.now)

    assert (len(jobs), is_crowded) == (dispatcher.MOST_OF_ONE, True)
    clock.advance(seconds=dispatcher.BUSY_SECONDS)
    assert dispatcher._lease(10, is_alone=False, now=clock.now) == ([], True)


def test_of_an_endpoint_that_is_deleted_nothing_stays(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = one_delivery(admin, scope)
    dispatcher.fan_out(now=clock.now)

    services.delete(admin, endpoint.row.pk, now=clock.now)
    work()

    assert (services.list_endpoints(admin), sender.sent) == ([], [])
    assert deliveries.page(admin, number=1, size=1, now=clock.now).total == 0
    assert not OutboxEvent.objects.filter(kind__startswith="webhook").exists()


def test_an_endpoint_of_a_project_says_which_and_so_does_what_it_is_told(
    admin: Scope, scope: Scope, acme: OpenedTenant, sender: FakeSender, work: Work
) -> None:
    public_id = make_project(acme.scope, "mine")
    project_id = get_project(acme.scope, public_id).pk
    endpoint = make_endpoint(replace(admin, project_id=project_id), wanted=["memory.created"])

    remember(replace(scope, project_id=project_id), TEXT)
    work()

    assert services.get(admin, endpoint.row.pk).project == public_id
    assert [orjson.loads(one.body)["project_id"] for one in sender.sent] == [public_id]


def test_a_slow_endpoint_does_not_hold_up_another(admin: Scope, scope: Scope, clock: Clock) -> None:
    for number in range(2):
        make_endpoint(admin, url=f"https://hooks{number}.example/", wanted=["memory.created"])
    for number in range(6):
        remember(scope, f"Parcel {number} went to harbour office {number}.")
    dispatcher.fan_out(now=clock.now)

    jobs, _ = dispatcher._lease(10, is_alone=True, now=clock.now)

    assert len({job.target.url for job in jobs}) == 2


def test_one_worker_leaves_it_to_another_that_is_sending(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    dispatcher.fan_out(now=clock.now)
    dispatcher._lease(10, is_alone=True, now=clock.now)

    assert work() == 0


def test_what_a_killed_worker_was_sending_is_sent_again_under_the_same_ids(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    dispatcher.fan_out(now=clock.now)
    (lost,), _ = dispatcher._lease(10, is_alone=True, now=clock.now)

    clock.advance(seconds=60)
    work()

    (sent,) = sender.sent
    assert sent.headers["X-MemorySync-Event-ID"] == lost.headers["X-MemorySync-Event-ID"]
    assert newest(admin, clock).attempt_number == 2


def test_what_kills_a_worker_each_time_is_given_up(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope, retry={"max_retries": 1})
    dispatcher.fan_out(now=clock.now)
    for _ in range(2):
        dispatcher._lease(10, is_alone=True, now=clock.now)
        clock.advance(seconds=60)

    work()

    row = newest(admin, clock)
    assert (sender.sent, row.status, row.error) == ([], "dead_letter", "interrupted")


def test_a_test_is_sent_whatever_the_endpoint_wants(admin: Scope, sender: FakeSender, work: Work, clock: Clock) -> None:
    endpoint = make_endpoint(admin, wanted=["memory.deleted"])

    row = deliveries.test(admin, endpoint.row.pk, "memory.created", now=clock.now)
    work()

    assert newest(admin, clock).pk == row.pk
    assert b'"test":true' in sender.sent[0].body


def test_deliveries_that_ended_long_ago_are_let_go_of(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    one_delivery(admin, scope)
    work()

    dispatcher.sweep(admin, now=clock.now + timedelta(days=29))
    assert deliveries.page(admin, number=1, size=1, now=clock.now).total == 1
    dispatcher.sweep(admin, now=clock.now + timedelta(days=31))

    assert deliveries.page(admin, number=1, size=1, now=clock.now).total == 0


def test_health_counts(admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock) -> None:
    one_delivery(admin, scope)
    work()
    sender.answer = answering(410)
    remember(scope, "Bees fly to the orchard.")
    work()

    found = deliveries.health(admin, now=clock.now)

    assert (found.endpoints, found.active, found.deliveries, found.deliveries_24h) == (1, 1, 2, 2)
    assert (found.success_rate_7d, found.dead_letters, found.retrying, found.failing) == (50.0, 1, 0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://hooks.example/"},
        {"url": "https://localhost/"},
        {"url": "https://user:pass@hooks.example/"},
        {"url": "https://hooks.example/" + "x" * 2_000},
        {"wanted": ["memory.imagined"]},
        {"wanted": []},
        {"name": " "},
        {"signature": {"signature_header": "Host"}},
        {"signature": {"signature_header": "X-Sig\r\nX-Evil: 1"}},
        {"signature": {"timestamp_header": "X-MemorySync-Signature"}},
        {"retry": {"retry_status_codes": ["200"]}},
        {"retry": {"retry_status_codes": []}},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], admin: Scope) -> None:
    with pytest.raises(DomainError):
        make_endpoint(admin, **wrong)  # type: ignore[arg-type]

    assert services.list_endpoints(admin) == []


def test_a_tenant_has_so_many_endpoints(admin: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_ENDPOINTS", 1)
    make_endpoint(admin)

    with pytest.raises(services.TooManyWebhooks):
        make_endpoint(admin)


@pytest.mark.parametrize("column", services.BOUNDS)
def test_settings_out_of_bounds_are_refused_whoever_says_them(column: str, admin: Scope) -> None:
    endpoint = make_endpoint(admin)
    kind = "signature" if column in services.SIGNATURE_DEFAULTS else "retry"
    for beyond in (services.BOUNDS[column][0] - 1, services.BOUNDS[column][1] + 1):
        with pytest.raises(services.WebhookMalformed):
            make_endpoint(admin, **{kind: {column: beyond}})
        with pytest.raises(services.WebhookMalformed):
            services.update(admin, endpoint.row.pk, **{kind: {column: beyond}}, now=NOW)
