"""A real Chromium for tests, and what is looked at in every page that it opens.

`PAGES_TO=DIR uv run pytest tests/web/test_journeys.py tests/web/test_console*.py tests/web/test_admin_in_a_browser.py`
also takes a picture of every page, light and dark, on a desk and on a phone.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SIZES = {"desk": (1280, 860), "phone": (390, 844)}
AXE = Path(__file__).with_name("axe") / "axe.min.js"

MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium"),
    pytest.mark.django_db(transaction=True, databases="__all__"),
]


def open_page(chromium: Browser, complaints: list[str], base: str, **options: Any) -> Page:
    context = chromium.new_context(base_url=base, accept_downloads=True, **options)
    context.set_default_timeout(15_000)
    context.on("page", lambda page: listen(page, complaints))
    return context.new_page()


def listen(page: Page, complaints: list[str]) -> None:
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)


def with_session(page: Page, client: Client) -> Page:
    """Signed in as the client is, without going through the pages for it."""
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": client.cookies[name].value, "domain": "localhost", "path": "/"}
    page.context.add_cookies([cookie])  # type: ignore[list-item]  # a dictionary of its keys
    return page


def plug_in_authenticator(page: Page) -> None:
    """One that knows its person, as a phone or a laptop does."""
    tools = page.context.new_cdp_session(page)
    tools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    tools.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def shoot(page: Page, name: str, *, anew: bool = False) -> None:
    """anew: as of ``faults``."""
    if not (directory := os.environ.get("PAGES_TO")):
        return
    Path(directory).mkdir(parents=True, exist_ok=True)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
            if anew:
                page.reload()
            page.screenshot(path=f"{directory}/{name}-{size}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.emulate_media(color_scheme="light")


def fits(page: Page) -> bool:
    """Whether nothing sticks out on a phone."""
    page.wait_for_load_state()  # a click is over before the page that it leads to is there
    page.set_viewport_size({"width": 360, "height": 700})
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 860})
    return bool(wide <= 360)


def faults(page: Page, *, anew: bool = False) -> list[str]:
    """What axe-core finds of serious and critical faults, in light and in dark.

    Run in a world of its own, as the page's policy lets no script of anybody else's in.  In dark what depends on
    colours is looked at again.  anew: the page asks once, when it is loaded, which colours are wanted.
    """
    found = []
    page.wait_for_load_state()
    for scheme, only in (("light", ""), ("dark", ", runOnly: ['cat.color']")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
        if anew:
            page.reload()
        if anew or scheme == "light":
            page.evaluate(AXE.read_text())
        report = page.evaluate(f"axe.run(document, {{resultTypes: ['violations']{only}}})")
        found += [
            f"{scheme}: {one['id']} at {[node['target'] for node in one['nodes']][:3]}"
            for one in report["violations"]
            if one["impact"] in ("serious", "critical")
        ]
    page.emulate_media(color_scheme="light")
    return found
