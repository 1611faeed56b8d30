"""Pages that no journey passes, in a real Chromium before axe-core."""

from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import Browser, Page

from apps.apikeys.onboarding import OpenedTenant
from apps.erasure.legal_holds import hold
from apps.policies.retention import Level
from apps.projects.scope import Scope
from apps.retention import subject_requests
from apps.retention.states import PrivacyKind
from apps.tenants.members import give_role
from apps.transfers.exports import export_worker
from tests.makers import make_scope
from tests.web.browsers import MARKS, open_page, with_session
from tests.web.people import Person, make_person, say
from tests.web.test_console import check

pytestmark = MARKS


def opened(chromium: Browser, live_server: Any, person: Person, complaints: list[str]) -> Page:
    """The person's, who has signed in and stepped up."""
    base = live_server.url.replace("127.0.0.1", "localhost")
    return with_session(open_page(chromium, complaints, base), person.show_factor(ago=1))


def test_other_pages_have_no_serious_fault(
    chromium: Browser,
    live_server: Any,
    owner: Person,
    acme: OpenedTenant,
    globex: OpenedTenant,
    alice_scope: Scope,
    complaints: list[str],
) -> None:
    now = datetime.now(UTC)
    make_person(acme.tenant, "admin", email="dana@acme.example")
    say(alice_scope, "The spare key lies under the blue flower pot.", "My bicycle has the frame number WX-4711.")
    bob = make_scope(acme, "bob", now=now)
    say(bob, "The attic light switch is behind the door.")
    page = opened(chromium, live_server, owner, complaints)

    for name, path in (
        ("password", "account/password"),
        ("recovery-codes-new", "account/recovery-codes/new"),
        ("factor-remove", "account/authenticator/remove"),
        ("privacy-empty", "t/acme/privacy"),
        ("glass-tenant", "t/acme/break-glass"),
        ("erase-person", f"t/acme/spaces/{alice_scope.space.id}/erase"),
        ("erase-tenant", "t/acme/erase"),
    ):
        page.goto(f"/app/{path}")
        check(page, name)

    asked, _ = subject_requests.open_request(alice_scope, PrivacyKind.ACCESS, now=now)
    subject_requests.open_request(bob, PrivacyKind.EXPORT, now=now)
    subject_requests.prepare_file(acme.scope, asked.id, now=now)
    export = subject_requests.files_of(acme.scope, [asked])[asked.id]
    export_worker.work(acme.scope.tenant_id, export.job.pk, seconds=30, clock=lambda: datetime.now(UTC))
    page.goto("/app/t/acme/privacy")
    page.get_by_role("button", name="Create link").click()
    check(page, "privacy")
    hold(acme.scope, Level.SPACE, alice_scope.space.id, case="2026-117", now=now)
    page.goto(f"/app/t/acme/spaces/{alice_scope.space.id}/erase")
    check(page, "erase-blocked")
    page.goto("/app/t/acme/erasures/absent")
    check(page, "refused-in-tenant")
    assert [line for line in complaints if "404" not in line and "409" not in line] == []


def test_first_page_of_who_works_for_several(
    chromium: Browser, live_server: Any, owner: Person, globex: OpenedTenant, complaints: list[str]
) -> None:
    page = opened(chromium, live_server, owner, complaints)
    give_role(globex.tenant, owner.user.pk, "analyst", actor="command:0", now=datetime.now(UTC))
    page.goto("/app/")
    check(page, "home")
    assert complaints == []
