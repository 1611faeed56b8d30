"""A person connects a client, in a browser."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page

from apps.apikeys.onboarding import OpenedTenant
from apps.web.oauth import clients
from tests.web.browsers import MARKS, faults, fits, open_page, shoot
from tests.web.people import Person, make_person

pytestmark = MARKS


def test_a_person_connects_a_client_in_a_browser(
    live_server: Any, settings: Any, acme: OpenedTenant, chromium: Browser, complaints: list[str]
) -> None:
    settings.OAUTH_ISSUER = live_server.url
    client, _ = clients.create("Claude", ["https://claude.example/back"], is_public=True, now=acme.tenant.created_at)
    owner = make_person(acme.tenant)
    address = (
        f"/app/connect?response_type=code&client_id={client.pk}&redirect_uri=https%3A%2F%2Fclaude.example%2Fback"
        f"&scope=memory:read+memory:add+history:read&state=7&code_challenge={'x' * 43}&code_challenge_method=S256"
    )
    page = open_page(chromium, complaints, live_server.url)
    sent: list[str] = []
    page.route("https://claude.example/**", lambda route: (sent.append(route.request.url), route.fulfill(body="ok")))

    page.goto(address)
    _sign_in(page, owner)

    assert page.locator("h1").inner_text() == "Connect Claude?"
    assert faults(page) == []
    assert fits(page)
    shoot(page, "connect")
    page.get_by_label("End user").fill("alice")
    page.get_by_label("Read stored turns of conversations").uncheck()
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url("https://claude.example/**")

    assert parse_qs(urlsplit(sent[0]).query).keys() == {"code", "state", "iss"}
    assert complaints == []


def _sign_in(page: Page, person: Person) -> None:
    """With the password and a code; and another code, to confirm."""
    page.get_by_label("Email").fill(person.user.email)
    page.get_by_label("Password").fill(person.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_label("Code").fill(person.code())
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Authenticator code").fill(person.code(steps=1))
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url("**/app/connect?*")
