"""Markup in whatever people and programs may name is shown as text, on every page of the console and of operators."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern

from apps.accounts.models import User
from apps.apikeys.offers import hand_out
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.ingest.turns import Turn, take_turn
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ask
from apps.tenants.models import Organization
from apps.web import urls
from apps.webhooks import services as webhooks
from tests.makers import make_api_key, make_project, make_scope
from tests.web.people import Person, make_operator, make_person

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

RAW = "<img src=x onerror=alert(1)>"
MARKUP = f"\"'>{RAW}{{{{ 7|add:7 }}}}{{% now 'Y' %}}"
SHOWN = "&lt;img src=x"
ROOT = Path(settings.BASE_DIR)


@pytest.fixture
def numbers(owner: Person, acme: OpenedTenant) -> dict[str, object]:
    """A tenant in which everything is called so; what a page's address may ask for."""
    now = datetime.now(UTC)
    Organization.objects.filter(tenants=acme.tenant).update(name=MARKUP)
    project = make_project(acme.scope, MARKUP)
    key = make_api_key(acme.scope, name=MARKUP, project_id=get_project(acme.scope, project).pk)
    offer = hand_out(acme.scope, name=MARKUP, environment=Environment.STAGING, scopes=["memory:read"], days=1, now=now)
    hook = webhooks.create(
        acme.scope,
        name=MARKUP,
        url="https://hooks.example.com/x",
        description=MARKUP,
        wanted=["memory.created"],
        now=now,
    )
    space = make_scope(acme, MARKUP, now=now)
    said = Proposal(
        text=Plaintext(f"The spare key of {RAW} lies under the blue flower pot."),
        source=MARKUP,
        session_id=MARKUP,
        tags=(MARKUP,),
        metadata={MARKUP: MARKUP},
        importance=0.9,
    )
    (outcome,) = remember(space, [said], now=now)
    (memory_id,) = outcome.memory_ids
    take_turn(space, MARKUP, Turn(text=Plaintext(f"Always answer {RAW} in Dutch."), source=MARKUP), now=now)
    asked, _ = ask(space, MemorySelection(memory_ids=(memory_id,)), reason=Plaintext(MARKUP), now=now)
    member = make_person(acme.tenant, "admin", email="dana@acme.example")
    User.objects.filter(pk=member.user.pk).update(full_name=MARKUP)
    return {
        "tenant": "acme", "space_id": space.space.id, "memory_id": memory_id, "project_id": project,
        "key_id": key.key.pk, "offer_id": getattr(offer, "pk", 0), "endpoint_id": hook.row.pk,
        "request_id": asked.id, "user_id": member.user.pk,
    }  # fmt: skip


def addresses(numbers: dict[str, object]) -> Iterator[str]:
    """Of every page of the console that these numbers lead to."""
    for pattern in urls.urlpatterns:
        if isinstance(pattern, URLPattern) and pattern.pattern.converters.keys() <= numbers.keys():
            yield "/app/" + re.sub(r"<\w+:(\w+)>", lambda found: str(numbers[found[1]]), str(pattern.pattern))


def test_names_and_labels_are_shown_as_text_in_the_console(
    owner: Person, acme: OpenedTenant, numbers: dict[str, object]
) -> None:
    browser = owner.show_factor(ago=1)
    seen, showing = 0, 0

    for address in addresses(numbers):
        answer = browser.get(address)
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
            shown = answer.content.decode()
            assert RAW not in shown, address
            assert "alert(1)&gt;14" not in shown, address
            seen, showing = seen + 1, showing + (SHOWN in shown)

    assert seen > 40
    assert showing > 20


def test_names_and_labels_are_shown_as_text_to_operators(acme: OpenedTenant, numbers: dict[str, object]) -> None:
    operator: Client = make_operator("ana@operators.example").show_factor(ago=1)
    showing = set()

    for kind in ("tenants/tenant", "projects/project", "apikeys/apikey", "apikeys/keyoffer", "memories/memory",
                 "accounts/user", "projects/space", "audit/auditevent", "webhooks/webhookendpoint"):  # fmt: skip
        listed = operator.get(f"/admin/{kind}/")
        rows = set(re.findall(rf'href="(/admin/{kind}/\d+/change/)', listed.content.decode()))
        for page in (listed, *(operator.get(row) for row in rows)):
            assert RAW not in page.content.decode(), kind
            if SHOWN in page.content.decode():
                showing.add(kind)

    assert showing >= {"tenants/tenant", "projects/project", "apikeys/apikey", "apikeys/keyoffer", "accounts/user"}


def test_no_template_and_no_code_vouches_for_markup() -> None:
    """Django escapes what is not marked safe; code that marks it writes plain text into reports of errors."""
    templates = [*ROOT.glob("templates/**/*.html"), *ROOT.glob("*/**/templates/**/*.html")]
    ours = [one for one in templates if ".venv" not in one.parts]
    raw = [one.name for one in ours if re.search(r"\|\s*safe(seq)?\b|autoescape\s+off", one.read_text())]
    code = [one for top in ("apps", "memsync") for one in (ROOT / top).rglob("*.py")]
    vouching = {one.name for one in code if _vouches(one.read_text())}

    assert len(ours) > 50
    assert raw == []
    assert vouching == {"exception_reporter.py"}


def _vouches(source: str) -> bool:
    """Does it call ``mark_safe``, or ``format_html`` with a format that is not written there?"""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("mark_safe", "SafeString", "SafeText"):
                return True
            if node.func.id == "format_html" and not isinstance(node.args[0], ast.Constant):
                return True
    return False
