"""The journey of a person who deletes, in a real Chromium, with a passkey of a virtual authenticator."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from playwright.sync_api import Browser, expect

from apps.apikeys.onboarding import Opened
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.projects.scope import Scope
from apps.retention.forgetting import Choice
from apps.retention.receipt_log import public_keys
from apps.retention.receipts import verify
from apps.retention.requests import ask
from tests.makers import make_scope
from tests.web.browsers import MARKS, fits, open_page, plug_in_authenticator, shoot
from tests.web.people import Person, make_person

pytestmark = MARKS

SAID = (
    ("I moved to Lisbon in May and cycle to work.", "chat"),
    ("The spare key lies under the blue flower pot.", "chat"),
    ("My sister Ana teaches the violin in Porto.", "chat"),
    ("I am allergic to penicillin.", "intake"),
    ("My bicycle has the frame number WX-4711.", "notes"),
    ("The attic light switch is behind the door.", "notes"),
    ("I prefer short answers with the numbers first.", "chat"),
)


def fill_in(scope: Scope) -> None:
    now = datetime.now(UTC)
    for text, source in SAID:
        remember(scope, [Proposal(text=Plaintext(text), importance=0.9, source=source)], now=now)


def there(scope: Scope) -> int:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).filter(retention_status="active").count()


def test_person_signs_in_with_a_passkey_deletes_brings_back_and_erases(
    chromium: Browser, live_server: Any, acme: Opened, complaints: list[str], tmp_path: Path
) -> None:
    owner = make_person(acme.tenant, factor=False)
    alice = make_scope(acme, "alice", now=datetime.now(UTC))
    fill_in(alice)
    page = open_page(chromium, complaints, live_server.url.replace("127.0.0.1", "localhost"))
    plug_in_authenticator(page)

    # Signs in, and adds a passkey before anything is shown.
    page.goto("/app/")
    shoot(page, "sign-in")
    page.get_by_label("Email").fill(owner.user.email)
    page.get_by_label("Password").fill(owner.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("Until then no memories are shown")).to_be_visible()
    shoot(page, "account-empty")
    page.get_by_role("link", name="Add a passkey").click()
    shoot(page, "step-up-password")
    page.get_by_label("Password").fill(owner.password)
    page.get_by_role("button", name="Confirm").click()
    shoot(page, "add-passkey")
    page.get_by_role("button", name="Add it").click()
    expect(page.locator(".codes code")).to_have_count(10)
    shoot(page, "recovery-codes")
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    # Signs out, and in again with the passkey alone.
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="alice").click()
    expect(page.locator("article.memory")).to_have_count(len(SAID))
    shoot(page, "memories")
    assert fits(page)

    # Deletes one: asked who it is first, and then whether.
    page.get_by_text("The spare key lies").click()
    shoot(page, "memory")
    page.get_by_role("link", name="Delete…").click()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    shoot(page, "step-up-passkey")
    page.get_by_role("button", name="Use a passkey").click()
    shoot(page, "delete-memory")
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("article.memory")).to_have_count(len(SAID) - 1)
    page.get_by_role("link", name="recently deleted").click()
    expect(page.get_by_text("The spare key lies")).to_be_visible()
    shoot(page, "deleted")
    page.get_by_role("button", name="Bring memory").click()
    expect(page.get_by_text("It is back, as it was.")).to_be_visible()
    assert there(alice) == len(SAID)

    # Deletes all that pass a filter, once it was shown which.
    page.get_by_role("link", name="alice").click()
    page.get_by_text("Filters and time").click()
    page.get_by_label("Source").select_option("notes")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("article.memory")).to_have_count(2)
    shoot(page, "memories-narrowed")
    page.get_by_role("link", name="Delete all of this list…").click()
    expect(page.get_by_role("heading", name="Delete 2 memories?")).to_be_visible()
    shoot(page, "delete-many")
    assert fits(page)
    page.get_by_role("button", name="Delete 2").click()
    expect(page.get_by_text("2 deleted.")).to_be_visible()
    assert there(alice) == len(SAID) - 2

    # Decides about a request: that confirmation was spent.
    ids = memory_ids(alice)
    ask(alice, Choice(memory_ids=(ids[0],)), reason=Plaintext("She asked me to forget where she lives."), now=now())
    page.get_by_role("link", name="Requests").click()
    shoot(page, "requests")
    page.get_by_role("link", name="Decide…").click()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("She asked me to forget where she lives.")).to_be_visible()
    shoot(page, "confirm-request")
    page.get_by_role("button", name="Forget 1").click()
    expect(page.get_by_text("Confirmed: 1 deleted.")).to_be_visible()

    # Erases the person, and keeps the receipt.
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="alice").click()
    page.get_by_role("link", name="Erase everything of theirs…").click()
    page.get_by_role("button", name="Use a passkey").click()
    shoot(page, "erase")
    assert fits(page)
    page.get_by_label("To go on").fill("alice")
    page.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text("Keep the receipt")).to_be_visible()
    shoot(page, "erasure")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").first.click()
    download.value.save_as(tmp_path / "receipt.json")
    raw = (tmp_path / "receipt.json").read_bytes()
    assert verify(raw, public_keys())
    assert "webauthn" in raw.decode()
    assert there(alice) == 0
    page.get_by_role("link", name="Erasures").first.click()
    shoot(page, "erasures")
    page.get_by_role("link", name="Account").click()
    shoot(page, "account")
    page.get_by_role("link", name="Add an authenticator").click()
    shoot(page, "add-codes")
    page.goto("/app/account/sessions")
    shoot(page, "sessions")
    page.goto("/app/t/nowhere")
    shoot(page, "refused")

    complaints = [line for line in complaints if "404 (Not Found)" not in line]  # of the last page, as it should
    assert complaints == []
    assert orjson.loads(raw)


def test_everything_but_passkeys_works_without_javascript(
    chromium: Browser, live_server: Any, owner: Person, alice_scope: Scope, complaints: list[str]
) -> None:
    fill_in(alice_scope)
    base = live_server.url.replace("127.0.0.1", "localhost")
    page = open_page(chromium, complaints, base, java_script_enabled=False)

    page.goto("/app/")
    page.get_by_label("Email").fill(owner.user.email)
    page.get_by_label("Password").fill(owner.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    shoot(page, "sign-in-code")
    page.get_by_label("Code").fill(owner.code())
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="alice").click()
    page.get_by_role("link", name="Delete memory").first.click()
    shoot(page, "step-up-code")
    page.get_by_label("Code of your authenticator").fill(owner.code(steps=1))
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Delete it").click()

    expect(page.get_by_text("Deleted. It is out of every answer")).to_be_visible()
    assert there(alice_scope) == len(SAID) - 1
    assert complaints == []


def now() -> datetime:
    return datetime.now(UTC)


def memory_ids(scope: Scope) -> list[int]:
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).filter(retention_status="active").order_by("pk")
        return list(rows.values_list("pk", flat=True))
