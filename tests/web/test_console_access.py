"""Journeys through keys, the team, projects and usage in a real Chromium, every page before axe-core."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from playwright.sync_api import Browser, Page, expect

from apps.apikeys.offers import hand_out
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.quota import set_quota, take
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Principal
from apps.projects.selectors import scope_in
from apps.tenants.members import change_member
from apps.tenants.models import Role
from tests.makers import make_scope
from tests.web.browsers import MARKS
from tests.web.people import Person, make_operator, make_person, say
from tests.web.test_console import check, signed_in

pytestmark = MARKS


@pytest.fixture
def page(chromium: Browser, live_server: Any, owner: Person, complaints: list[str]) -> Page:
    return signed_in(chromium, live_server, owner, complaints)


def step_up(page: Page, owner: Person, *, steps: int = 1) -> None:
    """Shown the next code: each works once."""
    expect(page.get_by_role("heading", name="Confirm your identity")).to_be_visible()
    page.get_by_label("Authenticator code").fill(owner.code(steps=steps))
    page.get_by_role("button", name="Confirm").click()


def test_person_changes_a_role_and_removes_somebody(
    page: Page, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    make_person(acme.tenant, "developer", email="dana@acme.example")
    make_person(acme.tenant, "analyst", email="ben@acme.example", factor=False)
    suspended = make_person(acme.tenant, "admin", email="carol@acme.example")
    change_member(
        acme.tenant, suspended.user.pk, by=Role.OWNER, is_suspended=True, actor="command:0", now=datetime.now(UTC)
    )
    page.goto("/app/t/acme")
    page.get_by_role("link", name="Team").click()
    check(page, "team")

    page.get_by_role("link", name="Change dana@acme.example").click()
    step_up(page, owner)
    expect(page.get_by_role("heading", name="dana@acme.example")).to_be_visible()
    check(page, "member")
    page.get_by_label("Analyst").check()
    page.get_by_role("button", name="Change role").click()
    expect(page.get_by_text("now has the role analyst")).to_be_visible()
    page.get_by_role("link", name="Change ben@acme.example").click()
    page.get_by_role("link", name="Remove…").click()
    check(page, "member-remove")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("was removed from")).to_be_visible()
    assert complaints == []


def test_person_makes_archives_and_deletes_a_project(
    page: Page, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    page.goto("/app/t/acme/projects")
    check(page, "projects")
    for name in ("Customer support", "Travel assistant"):
        page.get_by_label("New project").fill(name)
        page.get_by_role("button", name="Create project").click()
        expect(page.get_by_text(f"{name} was created")).to_be_visible()
    say(make_scope(acme, "nora", project_id=acme.project.pk, now=datetime.now(UTC)), "The spare key lies at Ana's.")
    page.get_by_role("link", name="Customer support").click()
    check(page, "project")
    page.get_by_role("button", name="Archive project").click()
    expect(page.get_by_text("Archived: its memories")).to_be_visible()
    check(page, "project-archived")
    page.get_by_role("link", name="Projects").first.click()
    check(page, "projects-many")
    page.get_by_role("link", name="Customer support").click()
    page.get_by_role("link", name="Delete…").click()
    step_up(page, owner)
    check(page, "project-remove")
    page.get_by_role("button", name="Delete project").click()
    expect(page.get_by_text("Customer support was deleted")).to_be_visible()
    assert complaints == []


def test_usage_and_settings_are_drawn_without_javascript(
    chromium: Browser, live_server: Any, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    page = signed_in(chromium, live_server, owner, complaints, java_script_enabled=False)
    page.goto("/app/t/acme/usage")
    expect(page.get_by_text("No usage")).to_be_visible()
    use(acme)
    page.reload()
    expect(page.locator("svg.chart rect").first).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Change to this… Keep both").click()
    step_up(page, owner)
    page.get_by_role("button", name="Change setting").click()
    expect(page.get_by_text("Changed to: Keep both")).to_be_visible()
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Revoke selected").click()
    expect(page.get_by_role("heading", name="Revoke")).to_be_visible()
    assert complaints == []


def test_usage_and_settings_have_no_serious_fault(
    page: Page, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    page.goto("/app/t/acme/usage")
    check(page, "usage-empty")
    use(acme)
    set_quota(acme.scope, actor="command:0", mode="strict", adds=100, retrievals=20_000, now=datetime.now(UTC))
    with tenant_transaction(acme.scope):
        [take(acme.scope, "adds", actor="api_key:1", now=datetime.now(UTC)) for _ in range(86)]
    page.reload()
    expect(page.get_by_role("heading", name="Recalled")).to_be_visible()
    check(page, "usage")
    page.get_by_role("link", name="Settings").click()
    check(page, "settings")
    page.get_by_role("link", name="Change to this… Retire").click()
    step_up(page, owner)
    check(page, "settings-change")
    assert complaints == []


def use(acme: OpenedTenant) -> None:
    """A month of use by a user's programs."""
    production, staging = (
        make_scope(acme, "nora", environment=one, now=datetime.now(UTC))
        for one in (Environment.PRODUCTION, Environment.STAGING)
    )
    for ago in range(0, 28, 2):
        at = datetime.now(UTC) - timedelta(days=ago)
        texts = [f"Locker {ago}-{number} holds a red scarf." for number in range(1 + ago * 7 % 5)]
        say(production if ago % 3 else staging, *texts, now=at)
        with tenant_transaction(acme.scope):
            for actor, count in (("api_key:1", 40 + ago * 37 % 90), ("account:1", ago * 5 % 13 + 1)):
                record(acme.scope, actor=actor, action="memory.recall", target="space:1", count=count, now=at)
    cache.clear()  # of counts


def test_owner_makes_the_key_that_an_operator_made_ready(
    page: Page, owner: Person, acme: OpenedTenant, complaints: list[str]
) -> None:
    ana = scope_in(acme.tenant, principal=Principal(kind="account", id=make_operator("ana@operators.example").user.pk))
    asked = {"name": "nightly export", "environment": Environment.PRODUCTION, "days": 30}
    hand_out(ana, scopes=["memory:read", "exports:read"], **asked, now=datetime.now(UTC))  # type: ignore[arg-type]
    page.goto("/app/t/acme/keys")
    expect(page.get_by_text("An operator prepared a key for you")).to_be_visible()
    check(page, "keys-offered")

    page.get_by_role("link", name="Show key").click()
    step_up(page, owner)
    expect(page.get_by_text("ana@operators.example")).to_be_visible()
    check(page, "key-offer")
    page.get_by_role("button", name="Create key").click()

    expect(page.get_by_label("The key")).to_contain_text("ms_live_")
    check(page, "key-offer-made")
    assert complaints == []
