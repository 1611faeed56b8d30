"""An attacker who writes to the database, as its superuser, to gain access; and what the product noticed of it."""

import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.core.management import call_command

from apps.apikeys.onboarding import OpenedTenant
from apps.audit import unbound
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management.binding import list_unbound
from apps.projects.scope import Scope
from tests.crypto.broken import superuser
from tests.makers import make_scope


@pytest.fixture(autouse=True)
def told_of_nothing() -> Iterator[None]:
    unbound.forget_all()
    yield
    unbound.forget_all()


@pytest.fixture
def attacker(superuser_url: str) -> Iterator[Any]:
    with superuser(superuser_url) as cursor:
        yield cursor


@pytest.fixture
def two(acme: OpenedTenant, now: datetime) -> tuple[Scope, Scope]:
    """Two people of one tenant, who each said something."""
    found = make_scope(acme, "cr1"), make_scope(acme, "cr2")
    for scope in found:
        remember(scope, [Proposal(text=Plaintext(f"I am {scope.space.owner_id}."), importance=0.6)], now=now)
    return found


def names() -> list[str]:
    return sorted(one.name for one in list_unbound())


def told(scope: Any, action: str = "integrity.failed") -> list[tuple[str, str]]:
    """(target, reason) of every such row of the tenant's trail; None: of the deployment's."""
    rows = AuditEvent.objects.filter(action=action).order_by("pk")
    if scope is None:
        return list(rows.filter(tenant_id=None).values_list("target", "reason"))
    with tenant_transaction(scope):
        return list(rows.filter(tenant_id=scope.tenant_id).values_list("target", "reason"))


def keys(*arguments: str) -> str:
    out = io.StringIO()
    call_command("keys", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()
