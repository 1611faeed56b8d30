"""Two tenants, their people, and what is remembered of one end user."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, sync_playwright

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Scope
from tests.makers import make_scope
from tests.web.browsers import CHROMIUM
from tests.web.people import Person, make_person
from tests.web.served_app import Server


@pytest.fixture
def alice_scope(acme: OpenedTenant) -> Scope:
    """At work in the space of the end user alice, by the real clock."""
    return make_scope(acme, "alice", now=datetime.now(UTC))


@pytest.fixture
def owner(acme: OpenedTenant) -> Person:
    return make_person(acme.tenant)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    # The driver keeps an event loop in this thread, which Django takes for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of: scripts that failed, things that the policy forbids."""
    return []


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Gives its clients more time than these tests take."""
    server = Server(120, tmp_path_factory.mktemp("patient") / "log")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Gives its clients a second."""
    server = Server(1, tmp_path_factory.mktemp("strict") / "log")
    yield server
    server.stop()
