"""An attacker writes to the database, as its superuser, to read what another user said."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import DecryptError, open_tenant
from apps.key_management import rotation
from apps.memories.models import QuarantinedRow
from apps.memories.quarantine_retry import release
from apps.memories.spaces import find_end_user, get_or_create_end_user
from apps.projects.scope import Environment, Scope
from apps.transfers.exports import people
from tests.api.conftest import Caller
from tests.crypto.broken import listed
from tests.key_management.bound import attacker, keys, names, told, told_of_nothing, two

__all__ = ["attacker", "told_of_nothing", "two"]  # the fixtures
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


EXCHANGES = {
    "who they are looked up as": (
        "update tenants_enduser set external_mac = case id when %(one)s then %(b)s else %(a)s end "
        "where id in (%(one)s, %(two)s)"
    ),
    "the same with their hashes": (
        "update tenants_enduser u set external_mac = o.external_mac, row_mac = o.row_mac from tenants_enduser o "
        "where (u.id, o.id) in ((%(one)s, %(two)s), (%(two)s, %(one)s))"
    ),
    "whose spaces they are": (
        "update projects_space set owner_id = %(one)s + %(two)s - owner_id where owner_id in (%(one)s, %(two)s)"
    ),
    "the same with the hashes of spaces": (
        "update projects_space u set owner_id = o.owner_id, row_mac = o.row_mac from projects_space o "
        "where (u.owner_id, o.owner_id) in ((%(one)s, %(two)s), (%(two)s, %(one)s))"
    ),
}


@pytest.fixture
def unconstrained(attacker: Any) -> Iterator[Any]:
    """He drops the indexes that would refuse it half way, and puts them back."""
    names = ("tenants_enduser add constraint end_user_once unique (tenant_id, external_mac)",
             "projects_space add constraint space_once unique (tenant_id, environment, kind, owner_id)")  # fmt: skip
    for name in names:
        attacker.execute(f"alter table {name.split()[0]} drop constraint {name.split()[3]}")
    yield attacker
    for name in names:
        attacker.execute(f"alter table {name}")


@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_two_people_who_were_exchanged_are_answered_nothing(
    exchange: str, acme: OpenedTenant, two: tuple[Scope, Scope], unconstrained: Any
) -> None:
    one, other = (scope.space.owner_id for scope in two)
    a, b = (open_tenant(acme.tenant).end_user_mac(name) for name in ("cr1", "cr2"))

    unconstrained.execute(exchange, {"one": one, "two": other, "a": a, "b": b})
    assert unconstrained.rowcount == 2

    for name in ("cr1", "cr2"):
        with pytest.raises(DecryptError):
            find_end_user(acme.scope, name)
        with pytest.raises(DecryptError):
            get_or_create_end_user(acme.scope, name, now=datetime.now(UTC))
        answer = Caller(acme.keys[Environment.PRODUCTION], name)("POST", "/memory/query", {"query": "who am I"})
        assert (answer.status_code, b"I am" in answer.content) == (503, False)
    rows = listed(acme.scope)
    assert [(table, who, reason) for table, who, reason, _ in rows] == [
        ("end_user", one, "row_mac"), ("end_user", other, "row_mac")
    ]  # fmt: skip
    with tenant_transaction(acme.scope):
        ids = list(QuarantinedRow.objects.within(acme.scope).values_list("pk", flat=True))
        assert release(acme.scope, ids, now=datetime.now(UTC)) == 0


def test_person_of_another_name_gets_no_space_of_theirs(
    acme: OpenedTenant, two: tuple[Scope, Scope], attacker: Any
) -> None:
    """Where nothing was written yet in an environment, a space would be made in the name that the row was given."""
    attacker.execute(
        "update tenants_enduser set external_mac = %s where id = %s",
        [open_tenant(acme.tenant).end_user_mac("cr3"), two[0].space.owner_id],
    )

    staging = replace(acme.scope, environment=Environment.STAGING)
    with pytest.raises(DecryptError):
        get_or_create_end_user(staging, "cr3", now=datetime.now(UTC))


def test_space_of_another_is_in_nobodys_file(acme: OpenedTenant, two: tuple[Scope, Scope], attacker: Any) -> None:
    one, other = (scope.space for scope in two)
    attacker.execute(
        "update projects_space set owner_id = %s, environment = 'staging' where id = %s", [other.owner_id, one.id]
    )

    with tenant_transaction(acme.scope):
        assert [space.pk for space in people.spaces_of(acme.scope, other.owner_id)] == [other.id]
    assert told(acme.scope) == [(f"space:{one.id}", "row_mac")]


def test_people_are_found_again_under_another_identity_key(acme: OpenedTenant, two: tuple[Scope, Scope]) -> None:
    now = datetime.now(UTC)
    turn = rotation.rotate(acme.scope, reason="lost", is_compromise=True, now=now)
    while rotation.work(turn.pk, seconds=60.0, workers=1, clock=lambda: now) != SliceOutcome.OVER:
        pass

    assert [find_end_user(acme.scope, name) is not None for name in ("cr1", "cr2")] == [True, True]
    assert names() == []


def test_person_who_was_put_right_leaves_the_quarantine(
    acme: OpenedTenant, two: tuple[Scope, Scope], attacker: Any, now: datetime
) -> None:
    attacker.execute("update projects_space set row_mac = null where id = %s", [two[0].space.id])
    with pytest.raises(DecryptError):
        find_end_user(acme.scope, "cr1")
    assert len(listed(acme.scope)) == 1

    keys("bind", f"space:{two[0].space.id}", "--yes")

    assert find_end_user(acme.scope, "cr1") == two[0].space
    with tenant_transaction(acme.scope):
        ids = list(QuarantinedRow.objects.within(acme.scope).values_list("pk", flat=True))
        assert release(acme.scope, ids, now=now) == 1


def test_who_somebody_is_costs_no_statement(acme: OpenedTenant, two: tuple[Scope, Scope]) -> None:
    find_end_user(acme.scope, "cr1")

    with CaptureQueriesContext(connection) as asked:
        find_end_user(acme.scope, "cr1")

    statements = [query["sql"] for query in asked if "tenants_enduser" in query["sql"]]
    assert len(statements) == 1
    assert len([query for query in asked if query["sql"].lower().startswith("select")]) <= 3
