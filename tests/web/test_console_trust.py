"""Journeys through retention, the trail, webhooks and exports in a real Chromium, every page before axe-core."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.adapters.senders.base import Answered
from apps.adapters.senders.fake import FakeSender, Sent
from apps.apikeys.onboarding import OpenedTenant
from apps.erasure.legal_holds import hold
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.policies.models import Level
from apps.policies.retention import set_policy
from apps.projects.scope import Scope
from apps.retention.retention_sweep import sweep
from apps.transparency import checkpoints
from tests.api.test_exports import finish
from tests.makers import make_api_key, make_scope
from tests.web.browsers import MARKS
from tests.web.people import Person, say
from tests.web.test_console import check, signed_in
from tests.web.test_webhook_pages import work

pytestmark = MARKS

SAID = ("My sister Ana teaches the violin in Porto.", "The attic light switch is behind the door.",
        "I am allergic to penicillin.", "My bicycle has the frame number WX-4711.")  # fmt: skip


@pytest.fixture(autouse=True)
def _shipped(tmp_path: Any, settings: Any) -> None:
    settings.AUDIT_CHECKPOINT_DIR = str(tmp_path / "checkpoints")


@pytest.fixture
def nora(acme: OpenedTenant) -> Scope:
    """Of whom memories are known that are of several ages."""
    scope = make_scope(acme, "nora", now=datetime.now(UTC))
    for text, days in zip(SAID, (85, 71, 40, 0), strict=True):
        say(scope, text, now=datetime.now(UTC) - timedelta(days=days))
    return scope


@pytest.fixture
def page(chromium: Browser, live_server: Any, owner: Person, complaints: list[str]) -> Page:
    return signed_in(chromium, live_server, owner, complaints)


def step_up(page: Page, owner: Person, *, steps: int = 1) -> None:
    """Shown the next code: each works once."""
    expect(page.get_by_role("heading", name="Confirm your identity")).to_be_visible()
    page.get_by_label("Authenticator code").fill(owner.code(steps=steps))
    page.get_by_role("button", name="Confirm").click()


def test_person_changes_retention_and_sees_what_goes(
    page: Page, owner: Person, acme: OpenedTenant, nora: Scope, complaints: list[str]
) -> None:
    set_policy(acme.scope, Level.SPACE, nora.space.id, {"active_days": 80, "grace_days": 3}, now=datetime.now(UTC))
    sweep(acme.scope, now=datetime.now(UTC) - timedelta(days=6))
    page.goto("/app/t/acme")
    expect(page.get_by_text("within a week")).to_be_visible()
    check(page, "overview-notice")
    page.goto(f"/app/t/acme/spaces/{nora.space.id}")
    expect(page.get_by_text("kept until").first).to_be_visible()
    check(page, "memories-kept-until")
    page.locator("article.memory a").first.click()
    expect(page.get_by_text("Kept until")).to_be_visible()
    check(page, "memory-kept-until")
    page.goto("/app/t/acme/retention")
    check(page, "retention")
    page.get_by_role("link", name="nora").click()
    expect(page.get_by_text("set for the end user").first).to_be_visible()
    check(page, "retention-person")

    page.get_by_role("link", name="Upcoming removals").click()
    expect(page.get_by_text("active for", exact=False).first).to_be_visible()
    check(page, "retention-next")
    page.get_by_role("link", name="7 days").click()
    page.get_by_role("link", name="staging").click()
    check(page, "retention-next-empty")

    page.get_by_role("link", name="Legal holds").click()
    check(page, "holds-empty")
    hold(acme.scope, Level.SPACE, nora.space.id, case="2026-117", now=datetime.now(UTC))
    page.reload()
    check(page, "holds")

    page.get_by_role("link", name="Rules").click()
    page.get_by_label("Active for", exact=True).fill("30")
    page.get_by_role("button", name="Preview").click()
    step_up(page, owner)
    expect(page.get_by_role("heading", name="Change retention of the tenant")).to_be_visible()
    check(page, "retention-change")
    page.get_by_role("link", name="Cancel").click()

    page.get_by_label("Unit of: Active for").select_option("for good")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("looser")).to_be_visible()
    check(page, "retention-loosen")
    page.get_by_role("button", name="Change retention").click()
    expect(page.get_by_text("Memories are kept for good")).to_be_visible()
    check(page, "retention-for-good")
    assert complaints == []


def test_person_reads_the_trail_and_checks_it(
    page: Page, owner: Person, acme: OpenedTenant, nora: Scope, complaints: list[str]
) -> None:
    page.goto("/app/t/acme/receipts")
    check(page, "receipts-empty")
    make_api_key(acme.scope, name="the assistant")
    word = Authorisation(principal=nora.principal, method="session+totp", step_up_age_s=1)
    start_erasure(nora, Target.space(nora.space.uid), authorised=word, now=datetime.now(UTC))
    page.reload()
    check(page, "receipts")

    page.get_by_role("link", name="Audit trail").click()
    page.locator(".trail summary").first.click()
    check(page, "audit")
    page.get_by_role("link", name="keys", exact=True).click()
    expect(page.locator(".trail > li").first).to_contain_text("api_key.")
    page.get_by_label("Action").fill("nothing")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("No rows match these filters")).to_be_visible()
    check(page, "audit-empty")

    checkpoints.take_checkpoint(now=datetime.now(UTC), at_once=True)
    page.get_by_role("button", name="Verify chain").click()
    expect(page.get_by_role("heading", name="The chain is intact")).to_be_visible()
    check(page, "audit-checked")
    assert complaints == []


def test_person_makes_a_webhook_tests_it_and_replays_what_failed(
    page: Page, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    sender = FakeSender()
    page.goto("/app/t/acme/webhooks")
    check(page, "webhooks-empty")
    page.get_by_role("link", name="New webhook").click()
    step_up(page, owner)
    page.get_by_label("Name", exact=True).fill("The wiki")
    page.get_by_label("Address").fill("http://wiki.example.com/memsync")
    page.get_by_label("memory.deleted").check()
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_role("alert")).to_contain_text("begins with https://")
    page.locator("details > summary", has_text="Retries and signature").click()
    check(page, "webhook-form")
    page.get_by_label("Address").fill("https://wiki.example.com/memsync?token=4f1c")
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_role("heading", name="Save this secret now")).to_be_visible()
    check(page, "webhook-secret")

    page.get_by_role("button", name="I've saved it").click()
    expect(page.get_by_text("the first one is due")).to_be_visible()
    check(page, "delivery-waiting")
    sender.answer = lambda _: Answered(status=410, body=b"no longer here")
    work(sender)
    expect(page.get_by_text("dead letter")).to_be_visible()  # the page follows by itself
    check(page, "delivery")

    page.get_by_role("link", name="The wiki").click()
    for status in (200, 200, 503):
        sender.answer = partial(_answer, status)
        page.get_by_role("button", name="Send test").click()
        work(sender)
        page.get_by_role("link", name="The wiki").click()
    check(page, "webhook")
    page.get_by_role("link", name="dead letters").click()
    expect(page.locator("#deliveries .rows > li")).to_have_count(1)
    page.get_by_role("button", name="Resend all failed").click()
    expect(page.get_by_text("1 queued again")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    check(page, "webhook-paused")
    page.get_by_role("link", name="New secret").click()
    check(page, "webhook-rotate")
    page.get_by_role("button", name="Create secret").click()
    check(page, "webhook-rotated")
    page.get_by_role("link", name="Webhooks", exact=True).first.click()
    check(page, "webhooks")
    page.get_by_role("link", name="The wiki").click()
    page.get_by_role("link", name="Delete").click()
    check(page, "webhook-delete")
    page.get_by_role("button", name="Delete webhook").click()
    expect(page.get_by_text("No webhooks yet")).to_be_visible()
    assert [line for line in complaints if "422" not in line] == []


def _answer(status: int, _: Sent) -> Answered:
    return Answered(status=status, body=b"")


def test_export_is_followed_and_the_trail_read_without_javascript(
    chromium: Browser, live_server: Any, owner: Person, acme: OpenedTenant, nora: Scope, complaints: list[str]
) -> None:
    page = signed_in(chromium, live_server, owner, complaints, java_script_enabled=False)

    page.goto("/app/t/acme/exports/new?environment=production")
    page.get_by_role("button", name="Create export").click()
    finish(acme)
    expect(page.get_by_role("link", name="Create download link")).to_be_visible(
        timeout=15_000
    )  # the page asks again by itself
    page.goto("/app/t/acme/audit")
    page.locator(".trail summary").first.click()
    expect(page.get_by_text("Hash of the previous row").first).to_be_visible()
    page.get_by_role("button", name="Verify chain").click()
    expect(page.get_by_role("heading", name="The chain is intact")).to_be_visible()
    assert complaints == []
