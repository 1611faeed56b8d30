"""The first day of a new user, in a real Chromium: ten journeys, one after the other, in the tenant that signing up
made.  Every page on the way that no journey of test_console*.py passes is looked at with axe-core, light and dark, and
on a phone.  And how a person without JavaScript signs in and deletes."""

import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Locator, Page, expect

from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import list_projects, scope_in
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ask
from apps.tenants.models import Tenant
from tests.api.test_exports import finish
from tests.makers import make_api_key, make_scope
from tests.web.browsers import MARKS, open_page, plug_in_authenticator, shoot
from tests.web.people import Person, code_of
from tests.web.test_console import check, live
from tests.web.test_webhook_pages import work

pytestmark = MARKS

EMAIL, PASSWORD = "ann@initech.example", "correct horse battery"
SAID = (
    ("I moved to Lisbon in May and cycle to work.", "chat"),
    ("The spare key lies under the blue flower pot.", "chat"),
    ("My sister Ana teaches the violin in Porto.", "chat"),
    ("I am allergic to penicillin.", "intake"),
    ("My bicycle has the frame number WX-4711.", "notes"),
    ("The attic light switch is behind the door.", "notes"),
    ("I prefer short answers with the numbers first.", "chat"),
)


def test_ten_journeys_of_somebody_new(
    chromium: Browser,
    live_server: Any,
    complaints: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: Any,
) -> None:
    settings.SIGNUP = True
    base = live_server.url.replace("127.0.0.1", "localhost")
    page = open_page(chromium, complaints, base)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    plug_in_authenticator(page)

    opened = sign_up_and_in(page)
    enrol_both_factors(page)
    text = make_key(page)
    add_first_memory(page, text, monkeypatch, capsys)
    recall_it(page)
    rotate_and_revoke(page, base, opened, text)
    nora = make_scope(opened, "nora", now=datetime.now(UTC))
    live(nora)
    review(page)
    travel_in_time(page)
    bob = make_scope(opened, "bob", now=datetime.now(UTC))
    fill_in(bob)
    delete_and_bring_back(page, bob)
    erase_and_verify(page, bob, tmp_path)
    tell_export_and_check(page, opened)

    assert complaints == []


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
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="alice").click()
    page.get_by_role("link", name="Delete memory").first.click()
    shoot(page, "step-up-code")
    page.get_by_label("Authenticator code").fill(owner.code(steps=1))
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Delete memory").click()

    expect(page.get_by_text("Deleted. The memory is removed from search")).to_be_visible()
    assert there(alice_scope) == len(SAID) - 1
    assert complaints == []


# -- 1 and 2: signing up, signing in, second factors ----------------------------------------------------------------


def sign_up_and_in(page: Page) -> OpenedTenant:
    page.goto("/app/")
    check(page, "sign-in-open")
    page.get_by_role("link", name="Sign up").click()
    check(page, "sign-up")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Your organization").fill("Initech")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_label("The code")).to_have_text(re.compile(r"(\w{5}-){3}\w{5}"))
    check(page, "signed-up")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("Until then this is the only page you can open")).to_be_visible()
    check(page, "account-empty")
    tenant = Tenant.objects.get()
    page.goto(f"/app/t/{tenant.name}")
    expect(page.get_by_text("Until then this is the only page you can open")).to_be_visible()
    scope = scope_in(tenant)
    return OpenedTenant(tenant=tenant, project=list_projects(scope)[0], scope=scope, keys={})


def enrol_both_factors(page: Page) -> None:
    page.get_by_role("link", name="Add a passkey").click()
    check(page, "step-up-password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    check(page, "add-passkey")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.locator(".codes code")).to_have_count(10)
    check(page, "recovery-codes")
    page.get_by_role("link", name="I've saved them").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    page.get_by_role("link", name="Account", exact=True).click()
    page.get_by_role("link", name="Add an authenticator").click()
    check(page, "add-codes")
    seed = page.locator("code.seed").inner_text().replace(" ", "")
    page.locator("input[name=code]").fill(code_of(seed))
    page.get_by_role("button", name="Add authenticator").click()
    page.get_by_role("link", name="Account", exact=True).click()
    expect(page.get_by_text("10 left")).to_be_visible()

    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Verify your identity")).to_be_visible()
    check(page, "sign-in-code")
    page.get_by_label("Code").fill(code_of(seed, steps=1))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


# -- 3 and 4: a key, the first memory, the first recall -------------------------------------------------------------


def make_key(page: Page) -> str:
    expect(page.get_by_role("heading", name="Store your first memory")).to_be_visible()
    page.get_by_role("link", name="Create another here").click()
    step_up(page)
    check(page, "key-make")
    page.get_by_role("textbox", name="Name").fill("my agent")
    page.get_by_label("projects:read").uncheck()
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_text("Copy it now.")).to_be_visible()
    assert "ms_live_" not in page.url
    check(page, "key-new")
    text = page.get_by_label("The key").inner_text()
    assert f"MEMSYNC_API_KEY={text}\n" in copied(page, "Try it")
    return copied(page, "The key")


def add_first_memory(
    page: Page, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page.get_by_role("link", name="First steps").click()
    page.get_by_text("The same in Python").click()
    check(page, "overview-steps")
    (export,) = [line for line in copied(page, "With curl").splitlines() if line.startswith("export ")]
    monkeypatch.setenv("MEMSYNC_URL", export.split("MEMSYNC_URL=")[1].split()[0])
    monkeypatch.setenv("MEMSYNC_API_KEY", text)

    exec(copied(page, "With Python"), {})  # noqa: S102  (what the page tells people to run)

    assert "'created'" in capsys.readouterr().out
    page.reload()
    expect(page.get_by_role("link", name="I am allergic to peanuts.")).to_be_visible()


def recall_it(page: Page) -> None:
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="alice").click()
    expect(page.get_by_label("Search memories")).to_be_visible()
    page.wait_for_load_state()  # or no script listens yet
    page.keyboard.press("/")
    expect(page.get_by_label("Search memories")).to_be_focused()
    page.keyboard.type("What is she allergic to?")
    page.keyboard.press("Enter")
    first = page.locator(".hits > li").first
    expect(first).to_contain_text("I am allergic to peanuts.")
    assert "allergic" not in page.url
    why = first.locator(".why")
    expect(why.locator(".sum .number")).to_have_text(why.locator("caption strong").inner_text())
    assert why.locator("tr").count() > 2
    check(page, "search")


# -- 5: rotating and revoking ---------------------------------------------------------------------------------------


def rotate_and_revoke(page: Page, base: str, opened: OpenedTenant, text: str) -> None:
    make_api_key(opened.scope, name="nightly import", environment=Environment.STAGING, scopes=["memory:add"])
    page.get_by_role("link", name="API keys").click()
    check(page, "keys")
    page.get_by_role("link", name="my agent").click()
    expect(page.get_by_role("heading", name="Status active")).to_be_visible()
    assert page.get_by_text("projects:read").count() == 0
    check(page, "key")
    old = page.url.rsplit("/", 1)[1]
    page.get_by_role("link", name="Rotate…").click()
    check(page, "key-rotate")
    page.get_by_label("an hour").check()
    page.get_by_role("button", name="Rotate key").click()
    expect(page.get_by_text("works until")).to_be_visible()
    check(page, "key-rotated")
    new = page.get_by_label("The key").inner_text()
    assert [status_of(base, one) for one in (text, new)] == [200, 200]

    page.get_by_role("link", name="API keys").first.click()
    page.locator(f"input[name=id][value='{old}']").check()
    page.get_by_label("Key nightly import").check()
    page.get_by_role("button", name="Revoke selected").click()
    expect(page.get_by_role("heading", name="Revoke 2 keys?")).to_be_visible()
    check(page, "keys-revoke")
    assert status_of(base, text) == 200
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("2 revoked")).to_be_visible()
    assert [status_of(base, one) for one in (text, new)] == [403, 200]
    page.get_by_role("link", name="Revoked and expired").click()
    expect(page.get_by_text("nightly import")).to_be_visible()
    check(page, "keys-past")


# -- 6 and 7: reviewing, and one memory through time ----------------------------------------------------------------


def review(page: Page) -> None:
    page.get_by_role("link", name="Review").click()
    waiting = page.locator(".candidates > li")
    expect(waiting).to_have_count(3)
    check(page, "review")
    page.get_by_role("button", name="Accept candidate").first.click()
    expect(page.get_by_text("1 accepted and stored")).to_be_visible()
    expect(waiting).to_have_count(2)
    check(page, "review-undo")
    page.get_by_role("button", name="Undo the decision").click()
    expect(waiting).to_have_count(3)

    page.get_by_text("Edit and accept").first.click()
    page.get_by_label("New text").first.fill("Answer in Dutch when I write in Dutch.")
    page.get_by_role("button", name="Accept edited text").first.click()
    expect(waiting).to_have_count(2)
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Reject selected").click()
    expect(page.get_by_text("2 rejected")).to_be_visible()
    expect(page.get_by_text("Nothing to review")).to_be_visible()
    check(page, "review-empty")


def travel_in_time(page: Page) -> None:
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="nora").click()
    page.get_by_role("link", name="replaced").click()
    check(page, "memories-replaced")
    page.locator("article.memory a").first.click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    check(page, "memory")

    field = page.get_by_label("Show the state at the end of")
    first, last = field.get_attribute("min") or "", field.get_attribute("max") or ""
    early, late = (held_on(page, day) for day in (first, last))
    check(page, "memory-as-of")

    assert page.locator(".versions > li").count() > 1
    assert early != late


def held_on(page: Page, day: str) -> str:
    """The version that the page marks as true on that day."""
    page.get_by_label("Show the state at the end of").fill(day)
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("The line marks the end of")).to_be_visible()
    held: Locator = page.locator(".versions > li.held")
    expect(held).to_have_count(1)
    expect(held.get_by_text("true on")).to_be_visible()
    return held.locator(".said").inner_text().removeprefix("This memory: ")


# -- 8 and 9: deleting, bringing back, erasing ----------------------------------------------------------------------


def delete_and_bring_back(page: Page, bob: Scope) -> None:
    sign_in_again(page)
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="bob").click()
    page.get_by_text("The spare key lies").click()
    page.get_by_role("link", name="Delete…").click()
    expect(page.get_by_role("heading", name="Confirm your identity")).to_be_visible()
    check(page, "step-up")
    step_up(page)
    check(page, "delete-memory")
    page.get_by_role("button", name="Delete memory").click()
    expect(page.locator("article.memory")).to_have_count(len(SAID) - 1)
    page.get_by_role("link", name="recently deleted").click()
    expect(page.get_by_text("The spare key lies")).to_be_visible()
    check(page, "deleted")
    page.get_by_role("button", name="Restore memory").click()
    expect(page.get_by_text("Restored.")).to_be_visible()
    assert there(bob) == len(SAID)

    page.get_by_role("link", name="bob").click()
    page.get_by_text("Filters and time").click()
    page.get_by_label("Source").select_option("notes")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("article.memory")).to_have_count(2)
    check(page, "memories-narrowed")
    page.get_by_role("link", name="Delete all listed…").click()
    expect(page.get_by_role("heading", name="Delete 2 memories?")).to_be_visible()
    check(page, "delete-many")
    page.get_by_role("button", name="Delete 2").click()
    expect(page.get_by_text("2 deleted.")).to_be_visible()
    assert there(bob) == len(SAID) - 2
    page.get_by_role("link", name="recently deleted").click()
    page.get_by_role("button", name="Restore memory").first.click()
    expect(page.get_by_text("Restored.")).to_be_visible()
    assert there(bob) == len(SAID) - 1

    # A user asked that a memory be forgotten: the confirmation of before was spent on the two.
    asked = MemorySelection(memory_ids=(memory_ids(bob)[0],))
    ask(bob, asked, reason=Plaintext("She asked me to forget where she lives."), now=datetime.now(UTC))
    page.get_by_role("link", name="Requests").click()
    page.get_by_role("link", name="Decide…").click()
    step_up(page)
    expect(page.get_by_text("She asked me to forget where she lives.")).to_be_visible()
    check(page, "confirm-request")
    page.get_by_role("button", name="Forget 1").click()
    expect(page.get_by_text("Confirmed: 1 deleted.")).to_be_visible()


def erase_and_verify(page: Page, bob: Scope, directory: Path) -> None:
    page.get_by_role("link", name="People and spaces").click()
    page.get_by_role("link", name="bob").click()
    page.get_by_role("link", name="Erase this end user…").click()
    step_up(page)
    check(page, "erase")
    page.get_by_label("To continue").fill("bob")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_text("Keep the receipt")).to_be_visible()
    check(page, "erasure")
    receipt = taken(page, page.get_by_role("link", name="Download").first, directory / "receipt.json")
    assert there(bob) == 0
    page.get_by_role("link", name="Erasures").first.click()
    check(page, "erasures")
    page.get_by_role("link", name="Receipts").first.click()
    keys = taken(page, page.get_by_role("link", name="Download keys"), directory / "keys.json")

    out = StringIO()
    call_command("receipt", "verify", str(receipt), "--keys", str(keys), "--json", stdout=out)
    found = orjson.loads(out.getvalue())
    assert found["verdict"] == "genuine"
    assert found["receipt"]["authorised"]["method"] == "session+webauthn"


# -- 10: telling others, taking along, checking ---------------------------------------------------------------------


def tell_export_and_check(page: Page, opened: OpenedTenant) -> None:
    sign_in_again(page)
    sender = FakeSender()
    page.get_by_role("link", name="Webhooks").click()
    page.get_by_role("link", name="New webhook").click()
    step_up(page)
    page.get_by_label("Name", exact=True).fill("The wiki")
    page.get_by_label("Address").fill("https://wiki.example.com/memsync?token=4f1c")
    page.get_by_label("memory.deleted").check()
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_role("heading", name="Save this secret now")).to_be_visible()
    page.get_by_role("button", name="I've saved it").click()
    expect(page.get_by_text("the first one is due")).to_be_visible()
    work(sender)
    expect(page.get_by_text("status 200")).to_be_visible()  # the page follows by itself
    assert len(sender.sent) == 1

    page.get_by_role("link", name="Exports").click()
    check(page, "exports-empty")
    page.get_by_role("link", name="New export").click()
    page.get_by_label("End user").fill("alice")
    page.get_by_label("Words").fill("peanuts")
    check(page, "export-form")
    page.get_by_role("button", name="Create export").click()
    expect(page.get_by_text("This page updates by itself")).to_be_visible()
    check(page, "export-waiting")
    finish(opened)
    page.get_by_role("link", name="Create download link").click()
    check(page, "export-link")
    page.get_by_role("button", name="Create link").click()
    check(page, "export-linked")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download file").click()
    (line,) = Path(download.value.path()).read_bytes().splitlines()
    assert orjson.loads(line)["text"] == "I am allergic to peanuts."
    page.get_by_role("link", name="Exports", exact=True).first.click()
    check(page, "exports")

    page.get_by_role("link", name="Audit trail").click()
    expect(page.locator(".trail > li").first).to_contain_text("export.")
    page.get_by_role("button", name="Verify chain").click()
    expect(page.get_by_role("heading", name="The chain is intact")).to_be_visible()


# -- what they share ------------------------------------------------------------------------------------------------


def sign_in_again(page: Page) -> None:
    """With the passkey alone, which is no step-up."""
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def step_up(page: Page) -> None:
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Confirm your identity")).to_have_count(0)


def copied(page: Page, snippet: str) -> str:
    """What the button of that snippet puts on the clipboard."""
    box = page.locator(".snippet", has=page.get_by_label(snippet, exact=True))
    box.get_by_role("button", name="Copy").click()
    expect(box.get_by_role("button", name="Copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def taken(page: Page, link: Locator, file: Path) -> Path:
    with page.expect_download() as download:
        link.click()
    download.value.save_as(file)
    return file


def call(address: str, *, key: str = "", **body: Any) -> tuple[int, Any]:
    request = Request(address, orjson.dumps(body) if body else None, {"Content-Type": "application/json"})  # noqa: S310
    if key:
        request.add_header("X-API-Key", key)
    try:
        with urlopen(request, timeout=20) as answer:  # noqa: S310  (the test's own server)
            return answer.status, orjson.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, orjson.loads(error.read())


def status_of(base: str, key: str) -> int:
    return call(f"{base}/v1/quota", key=key)[0]


def fill_in(scope: Scope) -> None:
    now = datetime.now(UTC)
    for text, source in SAID:
        remember(scope, [Proposal(text=Plaintext(text), importance=0.9, source=source)], now=now)


def there(scope: Scope) -> int:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).filter(retention_status="active").count()


def memory_ids(scope: Scope) -> list[int]:
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).filter(retention_status="active").order_by("pk")
        return list(rows.values_list("pk", flat=True))
