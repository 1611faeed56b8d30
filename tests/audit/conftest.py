"""A trail to attack, and an attacker whom no trigger and no grant stops."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections, transaction

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.chain import Entry
from apps.audit.checkpoint_statement import Head
from apps.audit.selectors import all_entries, all_heads
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.transparency.verify import VerificationReport, verify
from tests.makers import NOW

Attack = Callable[[str], None]


def note(tenant: OpenedTenant, *targets: str) -> None:
    """One row for each target, each in a transaction of its own."""
    for index, target in enumerate(targets):
        with tenant_transaction(tenant.scope):
            record(
                tenant.scope,
                actor="test:1",
                action="test.note",
                target=target,
                reason="because",
                request_id="r1",
                network="203.0.113.0/24",
                now=NOW + timedelta(seconds=index),
            )


def entries(chain: int | None = None) -> list[Entry]:
    with transaction.atomic(using="operator"):
        return [entry for entry in all_entries(using="operator") if chain is None or entry.chain == chain]


def heads() -> dict[int, Head]:
    return {head.chain: head for head in all_heads(using="operator")}


def verified(known: list[Head] | None = None) -> VerificationReport:
    return verify(entries(), heads=heads(), known=known or [])


@contextmanager
def superuser(url: str) -> Iterator[Any]:
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{url.rsplit('/', 1)[0]}/{name}") as connection, connection.cursor() as cursor:
        yield cursor


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where checkpoints are written."""
    monkeypatch.setattr(settings, "AUDIT_CHECKPOINT_DIR", str(tmp_path / "checkpoints"))
    return tmp_path / "checkpoints"


@pytest.fixture
def attack(superuser_url: str) -> Attack:
    """Runs SQL as a superuser for whom no trigger fires, and commits it."""

    def run(sql: str) -> None:
        with superuser(superuser_url) as cursor:
            cursor.execute("set session_replication_role = replica")
            cursor.execute(sql)

    return run
