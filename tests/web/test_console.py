"""Journeys through the console in a real Chromium, and every page of it before axe-core: no serious fault, light or
dark, and nothing that sticks out on a phone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.ingest.turns import Turn, take_turn
from apps.projects.scope import Scope
from apps.projects.selectors import list_projects
from memsync.demo.conversation import conversation
from tests.makers import make_scope
from tests.web.browsers import MARKS, faults, fits, open_page, shoot, with_session
from tests.web.people import Person, make_operator, make_person

pytestmark = MARKS

TODAY = datetime.now(UTC).date()


def live(scope: Scope) -> None:
    """Eight months of one user, from the demo, ending yesterday; and what of it waits for a person's review."""
    turns = [turn for turn in conversation() if turn.role == "user"]
    shift = datetime.now(UTC) - timedelta(days=1) - turns[-1].at
    for turn in turns:
        at = turn.at + shift
        proposal = Proposal(
            text=Plaintext(turn.text), source="chat", session_id=turn.session, occurred_at=at, tags=("diary",)
        )
        remember(scope, [proposal], now=at)
    orders = (
        "Always book the cheapest flight.",
        "Never pay an invoice without asking me.",
        "Always remind me of birthdays a week ahead.",
    )
    for text in orders:
        take_turn(scope, "nora", Turn(text=Plaintext(text), source="chat"), now=datetime.now(UTC))


@pytest.fixture
def nora(acme: OpenedTenant) -> Scope:
    scope = make_scope(acme, "nora", now=datetime.now(UTC))
    live(scope)
    return scope


@pytest.fixture
def page(chromium: Browser, live_server: Any, owner: Person, complaints: list[str]) -> Page:
    return signed_in(chromium, live_server, owner, complaints)


def signed_in(chromium: Browser, live_server: Any, person: Person, complaints: list[str], **options: Any) -> Page:
    """The person's, who has shown a second factor, not just now.  How one signs in: test_journeys.py."""
    base = live_server.url.replace("127.0.0.1", "localhost")
    return with_session(open_page(chromium, complaints, base, **options), person.show_factor())


def check(page: Page, name: str) -> None:
    shoot(page, name)
    assert fits(page), name
    assert faults(page) == [], name


def test_person_looks_at_what_is_remembered_and_at_its_graph(page: Page, nora: Scope, complaints: list[str]) -> None:
    page.goto("/app/t/acme")
    expect(page.get_by_role("heading", name="Outcomes")).to_be_visible()
    check(page, "overview")

    page.get_by_role("link", name="People and spaces").click()
    check(page, "spaces")
    page.get_by_role("link", name="nora").click()
    check(page, "memories")

    page.get_by_role("link", name="Graph").click()
    expect(page.locator("svg.graph .node").first).to_be_visible()
    check(page, "graph")
    page.get_by_role("link", name="memories", exact=True).click()
    check(page, "graph-memories")
    assert complaints == []


def test_as_of_and_review_work_without_javascript(
    chromium: Browser, live_server: Any, owner: Person, nora: Scope, complaints: list[str]
) -> None:
    page = signed_in(chromium, live_server, owner, complaints, java_script_enabled=False)

    page.goto(f"/app/t/acme/spaces/{nora.space.id}")
    page.get_by_text("Filters and time").click()
    page.get_by_label("As of").fill(str(TODAY - timedelta(days=100)))
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Memories that were current at the end of")).to_be_visible()
    page.locator("article.memory a").first.click()
    page.get_by_label("Show the state at the end of").fill(str(TODAY - timedelta(days=100)))
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("The line marks")).to_be_visible()
    page.get_by_role("link", name="Review").click()
    page.get_by_label("Candidate").first.check()
    page.get_by_role("button", name="Reject selected").click()
    expect(page.get_by_text("1 rejected")).to_be_visible()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-colours", "dark")
    assert complaints == []


def test_form_that_is_sent_twice_creates_one_project(page: Page, acme: OpenedTenant, complaints: list[str]) -> None:
    page.goto("/app/t/acme/projects")
    page.get_by_label("New project").fill("Garden")

    page.get_by_role("button", name="Create project").dblclick()

    expect(page.get_by_text("Garden was created")).to_be_visible()
    assert [one.name for one in list_projects(acme.scope)].count("Garden") == 1
    assert complaints == []


def test_first_steps_are_shown_where_nothing_is(page: Page, acme: OpenedTenant, complaints: list[str]) -> None:
    page.goto("/app/t/acme")
    expect(page.get_by_role("heading", name="Store your first memory")).to_be_visible()
    check(page, "overview-empty")
    page.get_by_role("link", name="People and spaces").click()
    check(page, "spaces-empty")
    make_scope(acme, "alice", now=datetime.now(UTC))
    page.reload()
    page.get_by_role("link", name="alice").click()
    check(page, "memories-empty")
    page.get_by_role("link", name="Search").click()
    check(page, "search-empty")
    page.get_by_role("link", name="Graph").click()
    check(page, "graph-empty")
    assert complaints == []


def test_what_stood_before_the_console_has_no_serious_fault_either(
    page: Page, acme: OpenedTenant, nora: Scope, complaints: list[str]
) -> None:
    make_person(acme.tenant, "admin")
    for name, address in (("requests", "/app/t/acme/requests"), ("erasures", "/app/t/acme/erasures"),
                          ("account", "/app/account"), ("sessions", "/app/account/sessions"),
                          ("refused", "/app/t/nowhere")):  # fmt: skip
        page.goto(address)
        check(page, name)
    page.get_by_role("button", name="Sign out").click()
    check(page, "sign-in")
    assert [line for line in complaints if "404" not in line] == []


def test_operator_breaks_the_glass_and_the_tenant_watches(
    chromium: Browser, live_server: Any, owner: Person, nora: Scope, complaints: list[str]
) -> None:
    ana, ben = make_operator("ana@operators.example"), make_operator("ben@operators.example")
    at_ana, at_ben = (at_glass(chromium, live_server, one, complaints) for one in (ana, ben))
    at_owner = signed_in(chromium, live_server, owner, complaints)

    at_ana.goto(f"/app/break-glass/acme/spaces/{nora.space.id}")
    check(at_ana, "glass-ask")
    at_ana.get_by_label("Reason").fill("Answers about Tuesday are wrong since the import.")
    at_ana.get_by_label("Ticket").fill("OPS-17")
    at_ana.get_by_role("button", name="Request access").click()
    expect(at_ana.get_by_text("waits for a second operator")).to_be_visible()
    grant = at_ana.url
    at_ben.goto(f"{grant}/approve")
    check(at_ben, "glass-approve")
    at_ben.get_by_role("button", name="Approve").click()
    expect(at_ben.get_by_text("An owner of the tenant has to allow it")).to_be_visible()
    at_owner.goto("/app/t/acme")
    at_owner.get_by_role("link", name="Review request").click()
    at_owner.get_by_role("link", name="Allow").click()
    step_up(at_owner, owner)
    check(at_owner, "glass-allow")
    at_owner.get_by_role("button", name="Allow access").click()
    at_ana.goto(grant)
    check(at_ana, "glass-list")
    for number in range(3):
        at_ana.get_by_role("checkbox").nth(number).check()
    at_ana.get_by_role("button", name="Open").click()
    expect(at_ana.locator("article.memory")).to_have_count(3)
    check(at_ana, "glass-read")
    at_owner.reload()
    at_owner.get_by_text("3 opened").click()
    check(at_owner, "glass-tenant-open")
    at_owner.get_by_role("button", name="End grant").click()
    at_ana.get_by_role("link", name="Back to the list").click()
    expect(at_ana.get_by_text("ended early")).to_be_visible()
    at_owner.get_by_role("link", name="Change to: Two operators").click()
    check(at_owner, "glass-policy")
    assert complaints == []


def at_glass(chromium: Browser, live_server: Any, person: Person, complaints: list[str]) -> Page:
    """The operator's, who has signed in and stepped up."""
    base = live_server.url.replace("127.0.0.1", "localhost")
    return with_session(open_page(chromium, complaints, base), person.show_factor(ago=1))


def step_up(page: Page, person: Person) -> None:
    page.get_by_label("Code").fill(person.code(steps=1))
    page.get_by_role("button", name="Confirm").click()
