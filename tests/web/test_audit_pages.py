"""The trail for people: whose rows, by what they are narrowed, whether the chain is whole, and receipts."""

import json
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client

from apps.apikeys.onboarding import OpenedTenant
from apps.audit import selectors
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.projects.scope import Scope
from apps.tenants.models import Role
from apps.transparency import checkpoints, self_check
from apps.web import audit
from tests.audit.conftest import superuser
from tests.makers import make_api_key
from tests.web.people import Person, make_person, say
from tests.web.test_memory_pages import counted, older_in
from tests.web.test_pages import KEY, now, text_of

PAGE = "/app/t/acme/audit"
pytestmark = pytest.mark.django_db(databases="__all__")
AT_MOST = {PAGE: 13, "/app/t/acme/receipts": 13}


@pytest.fixture(autouse=True)
def _shipped(tmp_path: Path, settings: Any) -> None:
    settings.AUDIT_CHECKPOINT_DIR = str(tmp_path / "checkpoints")


@pytest.fixture
def browser(owner: Person) -> Client:
    return owner.show_factor()


def note(scope: Scope, action: str, *, actor: str = "", target: str = "", outcome: str = "ok", ago: int = 0) -> None:
    with tenant_transaction(scope):
        record(
            scope,
            actor=actor or scope.principal.label,
            action=action,
            target=target,
            outcome=outcome,
            now=now() - timedelta(days=ago),
        )
    settle()


def settle() -> None:
    """Rows are chained when their transaction commits; a test's never does."""
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")
        cursor.execute("set constraints all deferred")


def test_trail_is_narrowed_by_what_who_when_and_how_it_ended(
    browser: Client, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    note(acme.scope, "webhook.create", target="webhook:7", ago=3)
    note(acme.scope, "webhook.delete", actor="api_key:99", target="webhook:8")
    note(acme.scope, "export.create", outcome="denied", target="export:9")
    note(globex.scope, "webhook.create", target="webhook:666")
    today = now().date()

    def targets(query: str) -> set[str]:
        return set(re.findall(r"(?:webhook|export):\d+", text_of(browser.get(f"{PAGE}?{query}"))))

    assert targets("") == {"webhook:7", "webhook:8", "export:9"}
    assert targets("action=webhook.") == {"webhook:7", "webhook:8"}
    assert targets("action=webhook.create") == {"webhook:7"}
    assert targets("actor=api_key:99") == {"webhook:8"}
    assert targets("outcome=denied") == {"export:9"}
    assert targets(f"until={today - timedelta(days=1)}") == {"webhook:7"}
    assert targets(f"since={today}") == {"webhook:8", "export:9"}
    assert "No rows match these filters" in text_of(browser.get(f"{PAGE}?action=nothing"))
    assert browser.get(f"{PAGE}?since=soon").status_code == 400
    assert browser.get(f"{PAGE}?actor={'x' * 65}").status_code == 400


def test_trail_comes_in_pages_that_keep_what_was_asked(
    monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant
) -> None:
    monkeypatch.setattr(audit, "PAGE", 3)
    for number in range(5):
        note(acme.scope, "types.add", target=f"type:{number}")

    first = browser.get(f"{PAGE}?action=types.")
    second = browser.get(f"{PAGE}?{older_in(first)}")

    assert re.findall(r"type:\d", text_of(first)) == ["type:4", "type:3", "type:2"]
    assert re.findall(r"type:\d", text_of(second)) == ["type:1", "type:0"]


def test_rare_filter_reads_so_many_rows_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant
) -> None:
    note(acme.scope, "types.add", target="type:1")
    for _ in range(6):
        note(acme.scope, "types.drop")
    monkeypatch.setattr(selectors, "LOOKED_THROUGH", 4)

    first = browser.get(f"{PAGE}?action=types.add")
    (further,) = re.findall(r'href="\?([^"]*before=\d+)"', first.content.decode().replace("&amp;", "&"))

    assert "No match among the newest rows" in text_of(first)
    assert "type:1" in text_of(browser.get(f"{PAGE}?{further}"))


def test_actors_have_names_for_those_who_may_know_them(owner: Person, acme: OpenedTenant) -> None:
    key = make_api_key(acme.scope, name="the assistant").key
    note(acme.scope, "types.add", actor=f"api_key:{key.pk}")
    note(acme.scope, "types.add", actor=f"account:{owner.user.pk}")
    analyst = make_person(acme.tenant, Role.ANALYST).show_factor()

    seen, by_analyst = (text_of(one.get(f"{PAGE}?action=types.")) for one in (owner.show_factor(), analyst))

    assert "the assistant" in seen
    assert "you" in re.findall(r"\byou\b", seen)
    assert "the assistant" not in by_analyst
    assert owner.user.email not in by_analyst.replace("analyst@acme.example", "")


def test_whole_chain_is_checked_and_the_page_says_how_far(browser: Client, acme: OpenedTenant) -> None:
    note(acme.scope, "types.add")
    checkpoints.take_checkpoint(now=now(), at_once=True)
    note(acme.scope, "types.add")

    shown = text_of(browser.post(f"{PAGE}/check"))

    assert "The chain is intact" in shown
    rows, last, confirmed = (int(one) for one in re.search(
        r"(\d+) rows? 1–(\d+) range of rows 1 signed checkpoint (\d+) last row", shown).groups())  # fmt: skip  # type: ignore[union-attr]
    assert rows == last == confirmed + 1
    assert f"Rows after {confirmed} are not in a checkpoint yet" in shown


def test_rows_of_a_long_chain_are_checked_from_the_end(
    monkeypatch: pytest.MonkeyPatch, browser: Client, acme: OpenedTenant
) -> None:
    for _ in range(6):
        note(acme.scope, "types.add")
    monkeypatch.setattr(self_check, "MOST", 3)

    shown = text_of(browser.post(f"{PAGE}/check"))

    assert "The chain is intact" in shown
    assert "3 rows" in shown
    assert "were not checked: this page checks the newest rows" in shown


TAMPERINGS = {
    "edit": "update audit_auditevent set actor = 'account:1' where tenant_id = %s and seq = 2",
    "truncation": "delete from audit_auditevent where tenant_id = %s and seq = (select max(seq) from audit_auditevent)",
    "checkpoint": "update audit_checkpoint set signature = repeat('00', 64) where number = 1 and %s > 0",
}


@pytest.mark.django_db(transaction=True, databases="__all__")
@pytest.mark.parametrize("kind", TAMPERINGS)
def test_what_was_tampered_with_is_named(kind: str, browser: Client, acme: OpenedTenant, superuser_url: str) -> None:
    for _ in range(3):
        note(acme.scope, "types.add")
    checkpoints.take_checkpoint(now=now(), at_once=True)
    with superuser(superuser_url) as cursor:
        cursor.execute("set session_replication_role = replica")
        cursor.execute(TAMPERINGS[kind], [acme.tenant.pk])

    shown = text_of(browser.post(f"{PAGE}/check"))

    assert "The chain is not intact" in shown
    assert kind in shown


def test_own_copy_is_what_the_command_line_checks(browser: Client, acme: OpenedTenant, tmp_path: Path) -> None:
    note(acme.scope, "types.add")
    checkpoints.take_checkpoint(now=now(), at_once=True)

    taken = browser.get(f"{PAGE}/chain")

    copy, out = tmp_path / "chain.jsonl", StringIO()
    copy.write_bytes(b"".join(taken.streaming_content))  # type: ignore[arg-type]  # of a WSGI answer
    key = checkpoints.public_key().hex()
    call_command("audit", "verify", file=copy, key=bytes.fromhex(key), json=True, stdout=out)
    assert json.loads(out.getvalue())["whole"] is True
    assert "attachment" in taken["Content-Disposition"]
    copy.write_text(copy.read_text().replace("types.add", "types.bad"))
    with pytest.raises(CommandError):
        call_command("audit", "verify", file=copy, key=bytes.fromhex(key), json=True, stdout=StringIO())


def test_receipts_are_listed_and_their_keys_taken(browser: Client, owner: Person, alice_scope: Scope) -> None:
    assert "No receipts yet" in text_of(browser.get("/app/t/acme/receipts"))
    (memory_id,) = say(alice_scope, KEY)
    word = Authorisation(principal=alice_scope.principal, method="session+totp", step_up_age_s=1)
    start_erasure(alice_scope, Target.memories([memory_id]), authorised=word, now=now())

    shown = browser.get("/app/t/acme/receipts")
    keys = browser.get("/app/t/acme/receipt-keys").json()

    (receipt_id,) = set(re.findall(r"rcp_[0-9a-f]+", shown.content.decode()))
    file = browser.get(f"/app/t/acme/receipts/{receipt_id}").json()
    assert file["receipt"]["key_id"] in {one["key_id"] for one in keys["keys"]}
    assert keys["keys"][0]["key_id"] in text_of(shown)


@pytest.mark.parametrize("page", AT_MOST)
def test_statements_of_a_page_are_few_and_do_not_grow(page: str, browser: Client, acme: OpenedTenant) -> None:
    browser.get(page)
    for number in range(20):
        note(acme.scope, "types.add", actor=f"api_key:{number}")
        make_api_key(acme.scope, name=f"key {number}")

    with counted() as count:
        browser.get(page)

    assert count() <= AT_MOST[page]
