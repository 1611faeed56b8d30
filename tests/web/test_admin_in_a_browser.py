"""The operators' site in a real Chromium before axe-core: no serious fault, light or dark."""

from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.accounts import services
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Scope
from apps.recall import latency_histogram
from apps.retention.retention_sweep import sweep
from memsync import admin_cards
from memsync.admin_theme import UNFOLD
from tests.web.browsers import MARKS, faults, open_page, shoot, with_session
from tests.web.people import code_of, make_operator, say

pytestmark = MARKS
TABS = 6


@pytest.fixture
def page(chromium: Browser, live_server: Any, complaints: list[str]) -> Page:
    return open_page(chromium, complaints, live_server.url.replace("127.0.0.1", "localhost"))


def faults_of(page: Page, name: str) -> list[str]:
    """Of AA, not of AAA: the theme's own buttons and labels are as they are."""
    shoot(page, f"admin-{name}", anew=True)
    return [f"{name}, {one}" for one in faults(page, anew=True) if "color-contrast-enhanced" not in one]


def test_operators_pages_have_no_serious_fault(
    page: Page, acme: OpenedTenant, alice_scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = services.make_operator("ana@operators.example", actor="command:0", now=datetime.now(UTC))
    now = datetime.now(UTC)
    say(alice_scope, "The spare key lies under the flower pot.", "The attic light switch is behind the door.")
    sweep(alice_scope, now=now)
    latency_histogram.add({latency_histogram.pace_of(7.0, now=now): 90, latency_histogram.pace_of(700.0, now=now): 10})

    page.goto("/admin/")
    page.get_by_label("Email").fill("ana@operators.example")
    page.get_by_label("Password").fill(made.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.goto("/admin/")
    expect(page.get_by_text("requires a passkey or an authenticator")).to_be_visible()
    found = faults_of(page, "first-sign-in")
    page.get_by_role("link", name="Add an authenticator").click()
    found += faults_of(page, "first-factor")
    page.get_by_label("Password").fill(made.password)
    page.get_by_label("One-time code").fill(made.enrolment_code)
    page.get_by_role("button", name="Confirm").click()
    seed = page.locator("code.seed").inner_text().replace(" ", "")
    page.locator("input[name=code]").fill(code_of(seed))
    page.get_by_role("button", name="Add authenticator").click()
    page.get_by_role("link", name="I've saved them").click()
    expect(page.get_by_text("Latest audit events")).to_be_visible()
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
    monkeypatch.setattr(admin_cards, "pictures", _fail)
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="Internal Server Error")).to_be_visible()
    found += faults_of(page, "500")
    assert found == []


def signed_in(page: Page) -> Page:
    return with_session(page, make_operator("ana@operators.example").show_factor())


def links_of_the_menu() -> list[str]:
    return [str(item["link"]) for group in UNFOLD["SIDEBAR"]["navigation"] for item in group["items"]]


def test_every_page_of_the_menu_does_without_evaluating_strings(
    page: Page, acme: OpenedTenant, alice_scope: Scope, complaints: list[str]
) -> None:
    """The browser says so of whatever its policy forbids, and of every expression that cannot be read."""
    say(alice_scope, "The spare key lies under the flower pot.")
    signed_in(page)

    links = [*links_of_the_menu(), f"/admin/tenants/tenant/{acme.tenant.pk}/change/"]
    for first in range(0, len(links), TABS):  # their scripts come to rest side by side
        some = links[first : first + TABS]
        tabs = {link: page.context.new_page() for link in some}
        answers = {link: tab.goto(link) for link, tab in tabs.items()}
        for link, tab in tabs.items():
            tab.wait_for_load_state("networkidle")
            answer = answers[link]
            assert answer is not None
            assert "unsafe-eval" not in answer.headers["content-security-policy"]
            assert answer.status == 200, link
            tab.close()
        assert complaints == [], some


def test_what_the_theme_s_scripts_do_is_done(page: Page, acme: OpenedTenant, complaints: list[str]) -> None:
    signed_in(page)
    page.goto("/admin/apikeys/apikey/")

    menu = page.locator("#nav-sidebar")
    expect(menu).to_be_visible()
    page.get_by_text("dock_to_right").first.click()
    expect(menu).not_to_be_visible()
    page.reload()
    expect(menu).not_to_be_visible()
    page.get_by_text("dock_to_right").first.click()
    expect(menu).to_be_visible()

    page.keyboard.press("Control+k")
    palette = page.locator("#search-input-command")
    expect(palette).to_be_visible()
    palette.press_sequentially("rotations")
    expect(page.locator("#command-results-list li")).to_have_count(1)
    palette.press("ArrowDown")
    expect(page.locator("#command-results-list li.active")).to_be_visible()
    palette.press("Enter")
    page.wait_for_url("**/admin/key_management/keyrotation/")

    page.goto("/admin/apikeys/apikey/")
    page.keyboard.press("Control+k")
    expect(palette).to_be_focused()  # on a busy machine it is visible before its scripts listen
    palette.press("Escape")
    expect(palette).not_to_be_visible()

    page.keyboard.press("Control+e")
    expect(page.locator("html.dark, html.light")).to_be_visible()
    expect(page.locator("#changelist-filter")).not_to_be_visible()
    page.get_by_text("Filters").first.click()
    expect(page.locator("#changelist-filter")).to_be_visible()
    assert complaints == []


def test_lists_are_searched_filtered_and_worked_at(page: Page, acme: OpenedTenant, complaints: list[str]) -> None:
    signed_in(page)
    page.goto("/admin/apikeys/apikey/")
    rows = page.locator("#result_list tbody tr")
    expect(rows).to_have_count(3)

    page.keyboard.press("/")
    search = page.locator("#searchbar")
    expect(search).to_be_focused()
    search.fill("nothing of this name")
    search.press("Enter")
    expect(rows).to_have_count(0)
    page.goto("/admin/apikeys/apikey/")
    page.get_by_text("Filters").first.click()
    page.locator("#changelist-filter").get_by_text("staging").click()
    page.wait_for_url("**environment=staging**")
    expect(rows).to_have_count(1)

    actions = page.locator("#changelist-actions")
    expect(actions).not_to_be_visible()
    page.locator("#result_list .action-select").check()
    expect(actions).to_be_visible()
    run = actions.get_by_role("button", name="Run")
    expect(run).not_to_be_visible()
    actions.locator("select").select_option(label="Revoke the selected keys")
    run.click()
    expect(page.get_by_text("is revoked.")).to_be_visible()
    expect(rows.first).to_contain_text("revoked", ignore_case=True)
    assert complaints == []


def test_menu_of_the_account_and_colours_work(page: Page, acme: OpenedTenant, complaints: list[str]) -> None:
    signed_in(page)
    page.goto("/admin/apikeys/apikey/issue/")

    account, out = page.get_by_text("unfold_more").first, page.get_by_text("Log out")
    expect(out).not_to_be_visible()
    account.click()
    expect(out).to_be_visible()
    page.get_by_text("dark_mode").first.click()
    expect(page.locator("html.dark")).to_be_visible()
    page.reload()
    expect(page.locator("html.dark")).to_be_visible()
    account.click()
    page.get_by_text("light_mode").first.click()
    expect(page.locator("html.dark")).to_have_count(0)
    page.mouse.click(900, 300)
    expect(out).not_to_be_visible()
    assert complaints == []


def _fail(**_: Any) -> None:
    raise RuntimeError("spoilt")
