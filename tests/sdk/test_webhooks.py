"""The sixteen methods for webhooks of the published control-plane client, sync and async."""

from datetime import UTC, datetime
from typing import Any

import pytest
from memorysync import AuthError, NotFoundError, ValidationError
from memorysync.control_plane import ControlPlaneClient
from memorysync.control_plane_types import Webhook, WebhookDelivery

from apps.adapters.senders.base import Answered
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from apps.tenants.models import Role
from apps.webhooks import dispatcher
from tests import once
from tests.api.people import sign_in
from tests.makers import make_api_key, make_project, make_scope
from tests.sdk.conftest import SERVER, Make, refused
from tests.web.people import make_person
from tests.webhooks.conftest import remember

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

URL = "https://hooks.example/in?token=xyz"
WANTED = ["memory.created", "memory.deleted"]
SCOPES = ["webhooks:read", "webhooks:write"]


@pytest.fixture
def make(published: Make, acme: OpenedTenant) -> Make:
    """A client with a key of acme's that may do everything with webhooks, unless told otherwise."""

    def client(key: str | None = None, **options: Any) -> Any:
        token = key or make_api_key(acme.scope, scopes=SCOPES).text
        return published(ControlPlaneClient, SERVER, access_token=token, **options)

    return client


@pytest.fixture
def client(make: Make) -> Any:
    return make()


def deliver(status: int = 200, body: bytes = b"thanks") -> FakeSender:
    """What a worker would do."""
    sender = FakeSender(answer=lambda _: Answered(status=status, body=body))
    dispatcher.work(seconds=0.2, clock=lambda: datetime.now(UTC), sender=sender)
    return sender


def say(acme: OpenedTenant, text: str = "The heron nests by the lock.") -> int:
    return remember(make_scope(acme), text, now=datetime.now(UTC))[0]


def test_create_webhook_shows_the_secret_once(client: Any) -> None:
    made = client.create_webhook(
        "my service", URL, WANTED, description="for the dashboard",
        retry_config={"max_retries": 7, "retry_status_codes": ["429", "5xx"], "backoff_multiplier": 1.5},
        signature_config={"algorithm": "hmac-sha512", "header_name": "X-Sig", "tolerance_seconds": 600},
    )  # fmt: skip
    got = client.get_webhook(made["id"])

    assert made["secret"].startswith(made["secret_prefix"])
    assert "secret" not in got
    assert got == {key: value for key, value in made.items() if key != "secret"}
    assert set(Webhook.__annotations__) <= set(got)
    assert (got["name"], got["url"], got["events"], got["description"]) == (
        "my service", URL, WANTED, "for the dashboard",
    )  # fmt: skip
    assert (got["max_retries"], got["retry_status_codes"], got["backoff_multiplier"]) == (7, ["429", "5xx"], 1.5)
    assert (got["signature_algorithm"], got["signature_header"]) == ("hmac-sha512", "X-Sig")
    assert (got["signature_tolerance"], got["enabled"], got["retry_enabled"]) == (600, True, True)


def test_list_webhooks(client: Any) -> None:
    older, newer = (client.create_webhook(name, URL, WANTED) for name in ("older", "newer"))
    client.pause_webhook(older["id"])

    found = client.list_webhooks()

    assert [one["id"] for one in found["endpoints"]] == [newer["id"], older["id"]]
    assert (found["total_endpoints"], found["active_endpoints"], found["total_deliveries"]) == (2, 1, 0)
    assert (found["avg_success_rate"], found["failing_endpoints"]) == (100.0, 0)


def test_update_webhook_changes_what_is_given_and_nothing_else(client: Any) -> None:
    made = client.create_webhook("my service", URL, WANTED, description="first")

    changed = client.update_webhook(
        made["id"], url="https://other.example/", retry_config={"enabled": False}, events=["api_key.created"]
    )

    assert changed["url"] == "https://other.example/"
    assert (changed["events"], changed["retry_enabled"]) == (["api_key.created"], False)
    assert (changed["name"], changed["description"], changed["max_retries"]) == ("my service", "first", 5)
    assert changed["secret_prefix"] == made["secret_prefix"]


def test_delete_webhook(client: Any) -> None:
    made = client.create_webhook("my service", URL, WANTED)

    assert client.delete_webhook(made["id"]) is None

    refused(NotFoundError, lambda: client.get_webhook(made["id"]))


def test_pause_and_resume_webhook(client: Any, acme: OpenedTenant) -> None:
    made = client.create_webhook("my service", URL, WANTED)

    assert client.pause_webhook(made["id"])["enabled"] is False
    say(acme)
    assert deliver().sent == []
    assert client.resume_webhook(made["id"])["enabled"] is True
    say(acme, "Bees fly to the orchard.")

    assert len(deliver().sent) == 1


def test_rotate_webhook_secret(client: Any) -> None:
    made = client.create_webhook("my service", URL, WANTED)

    renewed = client.rotate_webhook_secret(made["id"])

    assert renewed["secret"] != made["secret"]
    assert client.get_webhook(made["id"])["secret_prefix"] == renewed["secret_prefix"]


def test_test_webhook_and_get_webhook_delivery(client: Any) -> None:
    made = client.create_webhook("my service", URL, WANTED)

    sent = client.test_webhook(made["id"], event_type="memory.superseded")
    (arrived,) = deliver().sent
    got = client.get_webhook_delivery(sent["delivery_id"])

    assert (sent["status"], sent["endpoint_id"]) == ("pending", made["id"])
    assert sent["payload"]["data"] == {"test": True}
    assert arrived.headers["X-MemorySync-Event"] == sent["event_type"] == "memory.superseded"
    assert arrived.headers["X-MemorySync-Event-ID"] == sent["event_id"] == got["event_id"]
    assert set(WebhookDelivery.__annotations__) <= set(got)
    assert (got["status"], got["status_code"], got["response_body"]) == ("delivered", 200, "thanks")
    assert (got["attempt_number"], got["max_attempts"], len(got["attempts"])) == (1, 6, 1)
    assert got["signature"] == arrived.headers["X-MemorySync-Signature"]
    refused(ValidationError, lambda: client.test_webhook(made["id"], event_type="memory.imagined"))


def test_list_webhook_deliveries(client: Any, acme: OpenedTenant) -> None:
    made = client.create_webhook("my service", URL, WANTED)
    memory_ids = [say(acme, f"Parcel {number} went to harbour office {number}.") for number in range(3)]
    deliver()

    page = client.list_webhook_deliveries(made["id"], page=2, page_size=2)
    failed = client.list_webhook_deliveries(made["id"], status="dead_letter")

    assert (page["total"], page["page"], page["page_size"]) == (3, 2, 2)
    assert [one["payload"]["data"]["memory_id"] for one in page["deliveries"]] == memory_ids[:1]
    assert (failed["total"], failed["deliveries"]) == (0, [])
    refused(ValidationError, lambda: client.list_webhook_deliveries(made["id"], status="imagined"))


def test_get_latest_webhook_delivery(client: Any, acme: OpenedTenant) -> None:
    made = client.create_webhook("my service", URL, WANTED)
    assert client.get_latest_webhook_delivery(made["id"]) is None

    memory_id = say(acme)
    deliver()

    assert client.get_latest_webhook_delivery(made["id"])["payload"]["data"]["memory_id"] == memory_id


def test_list_recent_webhook_deliveries(client: Any, acme: OpenedTenant) -> None:
    one, other = (client.create_webhook(name, URL, WANTED) for name in ("one", "other"))
    say(acme)
    deliver()

    every = client.list_recent_webhook_deliveries()
    of_one = client.list_recent_webhook_deliveries(endpoint_id=one["id"])

    assert {delivery["endpoint_id"] for delivery in every["deliveries"]} == {one["id"], other["id"]}
    assert [delivery["endpoint_id"] for delivery in of_one["deliveries"]] == [one["id"]]
    assert len({delivery["event_id"] for delivery in every["deliveries"]}) == 1


def test_retry_and_replay(client: Any, acme: OpenedTenant) -> None:
    made = client.create_webhook("my service", URL, WANTED)
    say(acme)
    deliver(410)
    (dead,) = client.list_webhook_deliveries(made["id"])["deliveries"]
    assert (dead["status"], dead["error_message"]) == ("dead_letter", "status_410")

    replayed = client.replay_webhook_deliveries(made["id"])
    deliver(410)
    retried = client.retry_webhook_delivery(dead["id"])
    (sent,) = deliver().sent

    assert replayed == {
        "endpoint_id": made["id"], "eligible": 1, "replayed": 1, "skipped": 0, "delivery_ids": [dead["id"]],
    }  # fmt: skip
    assert retried["status"] == "pending"
    assert sent.headers["X-MemorySync-Event-ID"] == dead["event_id"]
    assert client.get_webhook_delivery(dead["id"])["status"] == "delivered"
    refused(ValidationError, lambda: client.retry_webhook_delivery(dead["id"]))


def test_get_webhook_event_types(client: Any) -> None:
    found = client.get_webhook_event_types()

    assert len(found["event_types"]) == 15
    assert [name for names in found["categories"].values() for name in names] == found["event_types"]
    assert {name.partition(".")[0] for name in found["categories"]["memory"]} == {"memory"}


def test_get_webhook_health(client: Any, acme: OpenedTenant) -> None:
    client.create_webhook("my service", URL, WANTED)
    say(acme)
    deliver()

    found = client.get_webhook_health()

    assert found == {
        "active_webhooks": 1, "total_webhooks": 1, "total_deliveries_all_time": 1, "total_deliveries_24h": 1,
        "success_rate_7d": 100.0, "failing_endpoints": 0, "pending_retries": 0, "dead_letter_count": 0,
    }  # fmt: skip


@pytest.mark.parametrize("url", ["http://hooks.example/", "https://localhost/", "https://127.0.0.1/"])
def test_an_address_that_may_not_be_is_refused(client: Any, url: str) -> None:
    error = refused(ValidationError, lambda: client.create_webhook("my service", url, WANTED))

    assert error.response["error"]["code"] == "WEBHOOK_URL_REFUSED"
    assert client.list_webhooks()["endpoints"] == []


def test_a_webhook_of_a_project_is_of_no_other(make: Make, acme: OpenedTenant) -> None:
    mine, other = make_project(acme.scope, "mine"), make_project(acme.scope, "other")
    made = make().create_webhook("my service", URL, WANTED, project_id=mine)

    assert made["project_id"] == mine
    assert make(project_id=mine).get_webhook(made["id"])["id"] == made["id"]
    refused(NotFoundError, lambda: make(project_id=other).get_webhook(made["id"]))


@pytest.mark.parametrize("who", ["another tenant", "another environment"])
def test_a_webhook_is_nobody_elses(who: str, make: Make, acme: OpenedTenant, globex: OpenedTenant) -> None:
    made = make().create_webhook("my service", URL, WANTED)
    sent = make().test_webhook(made["id"])
    stranger = make(
        make_api_key(globex.scope, scopes=SCOPES).text
        if who == "another tenant"
        else make_api_key(acme.scope, environment=Environment.STAGING, scopes=SCOPES).text
    )

    for call in (
        lambda: stranger.get_webhook(made["id"]),
        lambda: stranger.update_webhook(made["id"], name="mine"),
        lambda: stranger.delete_webhook(made["id"]),
        lambda: stranger.pause_webhook(made["id"]),
        lambda: stranger.rotate_webhook_secret(made["id"]),
        lambda: stranger.test_webhook(made["id"]),
        lambda: stranger.replay_webhook_deliveries(made["id"]),
        lambda: stranger.list_webhook_deliveries(made["id"]),
        lambda: stranger.list_recent_webhook_deliveries(endpoint_id=made["id"]),
        lambda: stranger.get_latest_webhook_delivery(made["id"]),
        lambda: stranger.get_webhook_delivery(sent["delivery_id"]),
        lambda: stranger.retry_webhook_delivery(sent["delivery_id"]),
    ):
        refused(NotFoundError, call)
    assert stranger.list_webhooks()["endpoints"] == []
    assert stranger.list_recent_webhook_deliveries()["deliveries"] == []
    assert stranger.get_webhook_health()["total_webhooks"] == 0
    assert make().get_webhook(made["id"])["enabled"] is True


def test_a_key_that_may_read_may_not_write(make: Make, acme: OpenedTenant) -> None:
    reader = make(make_api_key(acme.scope, scopes=["webhooks:read"]).text)

    assert reader.list_webhooks()["endpoints"] == []
    refused(AuthError, lambda: reader.create_webhook("my service", URL, WANTED))


def test_people_do_it_as_their_role_lets_them_and_get_secrets_after_a_second_factor_alone(
    make: Make, acme: OpenedTenant
) -> None:
    def signed_in(role: str, **how: Any) -> Any:
        found = sign_in(make_person(acme.tenant, role, **how))
        return make(found["tokens"]["access_token"])

    developer = signed_in(Role.DEVELOPER)
    made = developer.create_webhook("my service", URL, WANTED)

    assert developer.get_webhook(made["id"])["created_by_name"].startswith("account:")
    assert make().get_webhook(made["id"])["id"] == made["id"]
    careless = signed_in(Role.DEVELOPER, email="careless@acme.example", factor=False)
    assert careless.list_webhooks()["total_endpoints"] == 1
    refused(AuthError, lambda: careless.rotate_webhook_secret(made["id"]))
    refused(AuthError, lambda: careless.create_webhook("mine", URL, WANTED))
    refused(AuthError, signed_in(Role.ANALYST).list_webhooks)
