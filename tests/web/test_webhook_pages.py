"""Webhooks for people: secrets shown once, and the same endpoints and deliveries as through the API."""

import html
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.adapters.senders.base import Answered
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.tenants.models import Role
from apps.webhooks import deliveries, dispatcher, services
from apps.webhooks.events import TYPES
from apps.webhooks.signing import sign
from tests.makers import make_project
from tests.web.people import Person, kept_in_sessions, make_person
from tests.web.test_memory_pages import counted, older_in
from tests.web.test_pages import now, text_of

pytestmark = pytest.mark.django_db(databases="__all__")

PAGE = "/app/t/acme/webhooks"
IN = "environment=production"
URL = "https://hooks.example.com/in?token=xyz"
FORM = {
    "name": "my service", "url": URL, "description": "tells the wiki", "events": ["memory.created", "memory.deleted"],
    "retry_enabled": "on", "max_retries": "3", "initial_delay_seconds": "10", "max_delay_seconds": "3600",
    "backoff_multiplier": "2.5", "retry_status_codes": "5xx, 429", "signature_algorithm": "hmac-sha512",
    "signature_header": "X-Signed", "timestamp_header": "X-When", "signature_tolerance": "120",
}  # fmt: skip
AT_MOST = {"": 14, "/{}": 17, "/deliveries/{}": 18}


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor(ago=1)


@pytest.fixture
def sender() -> FakeSender:
    return FakeSender()


def make(scope: Scope, *, name: str = "my service", **more: Any) -> services.OpenedEndpoint:
    return services.create(scope, name=name, url=URL, wanted=TYPES, now=now(), **more)


def work(sender: FakeSender, *, later: float = 0) -> None:
    while dispatcher.work(seconds=5.0, clock=lambda: now() + timedelta(seconds=later), sender=sender):
        pass


def send_tests(scope: Scope, endpoint: services.OpenedEndpoint, count: int = 1) -> list[int]:
    return [deliveries.test(scope, endpoint.row.pk, TYPES[0], now=now()).pk for _ in range(count)]


def actions(scope: Scope) -> list[tuple[str, str]]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(action__startswith="webhook.").order_by("id")
        return [(row.actor, row.action) for row in rows]


# -- endpoints -------------------------------------------------------------------------------------------------------


def test_webhook_is_made_as_it_was_asked_for_and_its_secret_shown_once(
    browser: Client, owner: Person, acme: OpenedTenant
) -> None:
    assert "No webhooks yet" in text_of(browser.get(f"{PAGE}?{IN}"))

    made = browser.post(f"{PAGE}/new?{IN}", FORM)

    shown = made.content.decode()
    (secret,) = set(re.findall(r"whsec_[\w-]{43}", shown))
    assert "no-store" in made["Cache-Control"]
    assert made.get("Location") is None
    for word in ("X-Signed", "X-When", "X-Signed-Previous", "hashlib.sha512", "&gt; 120"):
        assert word in shown, word
    (one,) = services.list_endpoints(acme.scope)
    row = one.row
    assert (one.url, one.description, row.name, row.events) == (URL, "tells the wiki", "my service", FORM["events"])
    assert (row.max_retries, row.backoff_multiplier, row.retry_status_codes) == (3, 2.5, ["5xx", "429"])
    assert (row.signature_algorithm, row.signature_tolerance, row.retry_enabled) == ("hmac-sha512", 120, True)
    assert actions(acme.scope) == [(f"account:{owner.user.pk}", "webhook.create")]
    for page in (f"{PAGE}?{IN}", f"{PAGE}/{row.pk}?{IN}", f"{PAGE}/{row.pk}/change?{IN}"):
        assert secret not in browser.get(page).content.decode()
    assert not any(secret in one for one in kept_in_sessions())


def test_snippet_that_is_shown_accepts_what_is_sent_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, browser: Client, sender: FakeSender
) -> None:
    made = browser.post(f"{PAGE}/new?{IN}", FORM).content.decode()
    secret, code = re.findall(r"<code>(.*?)</code>", made, re.DOTALL)[:2]
    (endpoint_id,) = set(re.findall(rf"{PAGE}/(\d+)/test", made))
    browser.post(f"{PAGE}/{endpoint_id}/test?{IN}", {"event_type": "memory.deleted"})
    work(sender)
    (sent,) = sender.sent

    monkeypatch.setenv("MEMSYNC_WEBHOOK_SECRET", secret)
    found: dict[str, Any] = {}

    exec(html.unescape(code), found)  # noqa: S102  (what the page tells people to run)

    assert found["is_ours"](sent.headers, sent.body) is True
    assert found["is_ours"](sent.headers, sent.body + b" ") is False
    assert found["is_ours"]({**sent.headers, "X-When": "1"}, sent.body) is False
    old = {"X-When": sent.headers["X-When"], "X-Signed-Previous": sign(secret, "hmac-sha512",
           int(sent.headers["X-When"]), sent.body)}  # fmt: skip
    assert found["is_ours"](old, sent.body) is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "http://hooks.example.com/"}, "begins with https://"),
        ({"url": "https://127.0.0.1/"}, "is a public one"),
        ({"events": []}, "Choose at least one event"),
        ({"events": ["memory.eaten"]}, "Select a valid choice"),
        ({"name": ""}, "This field is required"),
        ({"max_retries": "11"}, "less than or equal to 10"),
        ({"signature_tolerance": "5"}, "greater than or equal to 60"),
        ({"signature_header": "Host"}, "Headers are two names"),
        ({"retry_status_codes": "200"}, "retry_status_codes are such as"),
    ],
)
def test_what_the_service_refuses_is_said_beside_the_form(
    change: dict[str, Any], said: str, browser: Client, acme: OpenedTenant
) -> None:
    endpoint = make(acme.scope)

    for page in (f"{PAGE}/new?{IN}", f"{PAGE}/{endpoint.row.pk}/change?{IN}"):
        answer = browser.post(page, FORM | change)
        assert answer.status_code == 422
        assert said in answer.content.decode(), page
    assert [one.row.name for one in services.list_endpoints(acme.scope)] == ["my service"]
    assert services.get(acme.scope, endpoint.row.pk).row.events == list(TYPES)


def test_webhook_is_of_the_environment_and_the_project_that_were_chosen(browser: Client, acme: OpenedTenant) -> None:
    public_id = make_project(acme.scope, "Garden")

    browser.post(f"{PAGE}/new?environment=staging", FORM | {"project": public_id})

    assert services.list_endpoints(acme.scope) == []
    (one,) = services.list_endpoints(replace(acme.scope, environment=Environment.STAGING))
    assert one.project == public_id
    assert "project Garden" in text_of(browser.get(f"{PAGE}?environment=staging"))
    assert "Garden" in text_of(browser.get(f"{PAGE}/{one.row.pk}?environment=staging"))
    assert browser.get(f"{PAGE}/{one.row.pk}?{IN}").status_code == 404
    assert browser.post(f"{PAGE}/new?{IN}", FORM | {"project": "proj_absent"}).status_code == 404


def test_webhook_is_changed_paused_resumed_and_deleted(browser: Client, acme: OpenedTenant) -> None:
    endpoint = make(acme.scope)
    page = f"{PAGE}/{endpoint.row.pk}"

    assert browser.post(f"{page}/change?{IN}", FORM | {"name": "the wiki"})["Location"] == f"{page}?{IN}"
    changed = services.get(acme.scope, endpoint.row.pk)
    assert (changed.row.name, changed.description) == ("the wiki", "tells the wiki")

    browser.post(f"{page}/pause?{IN}")
    assert "paused" in text_of(browser.get(f"{page}?{IN}"))
    browser.post(f"{page}/resume?{IN}")
    assert services.get(acme.scope, endpoint.row.pk).row.is_enabled

    assert "Delete the wiki?" in text_of(browser.get(f"{page}/delete?{IN}"))
    assert services.list_endpoints(acme.scope)
    browser.post(f"{page}/delete?{IN}")
    assert services.list_endpoints(acme.scope) == []
    assert [action for _, action in actions(acme.scope)] == [
        "webhook.create", "webhook.update", "webhook.pause", "webhook.resume", "webhook.delete",
    ]  # fmt: skip


def test_new_secret_is_shown_once_and_the_old_one_signs_for_a_day(
    browser: Client, acme: OpenedTenant, sender: FakeSender
) -> None:
    endpoint = make(acme.scope)
    page = f"{PAGE}/{endpoint.row.pk}"
    browser.get(f"{page}/secret?{IN}")
    assert services.get(acme.scope, endpoint.row.pk).row.secret_prefix == endpoint.row.secret_prefix

    shown = browser.post(f"{page}/secret?{IN}").content.decode()

    (secret,) = set(re.findall(r"whsec_[\w-]{43}", shown))
    assert secret != endpoint.secret
    assert "also signs until" in text_of(browser.get(f"{page}?{IN}"))
    send_tests(acme.scope, endpoint)
    work(sender)
    assert "X-MemorySync-Signature-Previous" in sender.sent[0].headers


def test_making_and_turning_secrets_wants_a_step_up(owner: Person, acme: OpenedTenant) -> None:
    endpoint = make(acme.scope)
    client = owner.show_factor()

    for page in (f"{PAGE}/new?{IN}", f"{PAGE}/{endpoint.row.pk}/secret?{IN}"):
        assert client.get(page)["Location"].startswith("/app/step-up")
        assert client.post(page, FORM)["Location"].startswith("/app/step-up")
    assert len(services.list_endpoints(acme.scope)) == 1
    assert services.get(acme.scope, endpoint.row.pk).row.former_until is None


# -- deliveries ------------------------------------------------------------------------------------------------------


def test_delivery_is_followed_from_the_test_to_the_answer(
    browser: Client, acme: OpenedTenant, sender: FakeSender
) -> None:
    endpoint = make(acme.scope)

    sent = browser.post(f"{PAGE}/{endpoint.row.pk}/test?{IN}", {"event_type": "memory.deleted"})
    waiting = browser.get(sent["Location"])
    sender.answer = lambda _: Answered(status=503, body=b"<b>try later</b>")
    work(sender)
    tried = text_of(browser.get(sent["Location"]))

    assert "data-live" in waiting.content.decode()
    assert '<noscript><meta http-equiv="refresh"' in " ".join(waiting.content.decode().split()).replace("> <", "><")
    assert "memory.deleted" in tried
    assert "status 503" in tried
    assert "&lt;b&gt;try later" in tried
    assert '"test": true' in tried.replace("&quot;", '"')


def test_dead_letters_are_found_and_sent_again(browser: Client, acme: OpenedTenant, sender: FakeSender) -> None:
    endpoint = make(acme.scope)
    page = f"{PAGE}/{endpoint.row.pk}"
    first, second = send_tests(acme.scope, endpoint, 2)
    sender.answer = lambda _: Answered(status=410, body=b"")
    work(sender)
    assert "2 dead letters" in text_of(browser.get(f"{PAGE}?{IN}"))
    assert "No deliveries." not in text_of(browser.get(f"{page}?{IN}&state=dead_letter"))
    assert "No deliveries." in text_of(browser.get(f"{page}?{IN}&state=delivered"))
    sender.answer = lambda _: Answered(status=200, body=b"")

    again = browser.post(f"{page}/replay?{IN}")
    assert "2 queued again" in text_of(browser.get(again["Location"]))
    work(sender)

    assert {deliveries.get(acme.scope, one, now=now()).row.status for one in (first, second)} == {"delivered"}
    assert len({one.headers["X-MemorySync-Event-ID"] for one in sender.sent}) == 2
    assert "No failed deliveries" in text_of(browser.get(browser.post(f"{page}/replay?{IN}")["Location"]))
    refused = browser.post(f"{PAGE}/deliveries/{first}/again?{IN}")
    assert "This delivery succeeded already" in text_of(browser.get(refused["Location"]))


def test_deliveries_come_in_pages_that_keep_their_state(
    monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant
) -> None:
    monkeypatch.setattr("apps.web.webhooks.PAGE", 2)
    endpoint = make(acme.scope)
    ids = send_tests(acme.scope, endpoint, 3)
    page = f"{PAGE}/{endpoint.row.pk}?{IN}&state=pending"

    def shown(query: str) -> list[int]:
        return [int(one) for one in re.findall(r"deliveries/(\d+)\?", browser.get(query).content.decode())]

    first = browser.get(page)

    assert shown(page) == [ids[2], ids[1]]
    assert shown(f"{PAGE}/{endpoint.row.pk}?{older_in(first)}") == [ids[0]]


def test_webhooks_and_deliveries_of_another_tenant_look_absent(browser: Client, globex: OpenedTenant) -> None:
    endpoint = make(globex.scope)
    (delivery_id,) = send_tests(globex.scope, endpoint)

    for page in ("", "/change", "/secret", "/delete"):
        assert browser.get(f"{PAGE}/{endpoint.row.pk}{page}?{IN}").status_code == 404, page
    for page in ("/change", "/secret", "/delete", "/pause", "/resume", "/test", "/replay"):
        assert browser.post(f"{PAGE}/{endpoint.row.pk}{page}?{IN}", FORM).status_code == 404, page
    assert browser.get(f"{PAGE}/deliveries/{delivery_id}?{IN}").status_code == 404
    assert browser.post(f"{PAGE}/deliveries/{delivery_id}/again?{IN}").status_code == 404
    assert [one.row.name for one in services.list_endpoints(globex.scope)] == ["my service"]


def test_developers_have_webhooks_and_analysts_none(acme: OpenedTenant) -> None:
    make(acme.scope)

    assert "my service" in text_of(make_person(acme.tenant, Role.DEVELOPER).show_factor().get(f"{PAGE}?{IN}"))
    assert make_person(acme.tenant, Role.ANALYST).show_factor().get(f"{PAGE}?{IN}").status_code == 403


@pytest.mark.parametrize("page", AT_MOST)
def test_statements_of_a_page_are_few_and_do_not_grow(page: str, browser: Client, acme: OpenedTenant) -> None:
    project = get_project(acme.scope, make_project(acme.scope, "Garden"))
    endpoint = make(acme.scope)
    (delivery_id,) = send_tests(acme.scope, endpoint)
    address = f"{PAGE}{page.format(delivery_id if 'deliveries' in page else endpoint.row.pk)}?{IN}"
    browser.get(address)
    for number in range(4):
        make(replace(acme.scope, project_id=project.pk), name=f"service {number}")
        send_tests(acme.scope, endpoint, 3)

    with counted() as count:
        browser.get(address)

    assert count() <= AT_MOST[page]
