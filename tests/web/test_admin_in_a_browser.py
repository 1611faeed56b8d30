"""The operators' site in a real Chromium before axe-core: no serious fault, light or dark."""

from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.accounts.models import User
from apps.apikeys.onboarding import Opened
from apps.projects.scope import Scope
from apps.recall import pace
from apps.retention.sweeping import sweep
from memsync import overview
from tests.web.browsers import MARKS, faults, open_page, shoot
from tests.web.people import say

pytestmark = MARKS

PASSWORD = "correct horse battery staple"


@pytest.fixture
def page(chromium: Browser, live_server: Any, complaints: list[str]) -> Page:
    return open_page(chromium, complaints, live_server.url.replace("127.0.0.1", "localhost"))


def faults_of(page: Page, name: str) -> list[str]:
    """Of AA, not of AAA: the theme's own buttons and labels are as they are."""
    shoot(page, f"admin-{name}", anew=True)
    return [f"{name}, {one}" for one in faults(page, anew=True) if "color-contrast-enhanced" not in one]


def test_operators_pages_have_no_serious_fault(
    page: Page, acme: Opened, alice_scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_superuser("ana@operators.example", PASSWORD)
    now = datetime.now(UTC)
    say(alice_scope, "The spare key lies under the flower pot.", "The attic light switch is behind the door.")
    sweep(alice_scope, now=now)
    pace.add({pace.pace_of(7.0, now=now): 90, pace.pace_of(700.0, now=now): 10})

    page.goto("/admin/")
    found = faults_of(page, "login")
    page.get_by_label("Email").fill("ana@operators.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Latest in the audit trail")).to_be_visible()
    found += faults_of(page, "overview")
    page.goto("/admin/apikeys/apikey/")
    found += faults_of(page, "list")
    page.goto(f"/admin/tenants/tenant/{acme.tenant.pk}/change/")
    found += faults_of(page, "row")
    page.get_by_role("link", name="Issue a key").click()
    expect(page.get_by_text("Valid for")).to_be_visible()
    found += faults_of(page, "form")

    page.goto("/admin/nowhere/")
    expect(page.get_by_role("heading", name="Not Found")).to_be_visible()
    found += faults_of(page, "404")
    page.goto("/admin/audit/auditevent/add/")
    expect(page.get_by_role("heading", name="Forbidden")).to_be_visible()
    found += faults_of(page, "403")
    monkeypatch.setattr(overview, "pictures", _fail)
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="Internal Server Error")).to_be_visible()
    found += faults_of(page, "500")
    assert found == []


def _fail(**_: Any) -> None:
    raise RuntimeError("spoilt")
