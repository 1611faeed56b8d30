"""The chain grows in the transaction it is about, without a gap and without a deadlock, and is only ever added to."""

import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import DatabaseError, ProgrammingError, connection, connections, transaction

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.chain import NO_HASH, digest
from apps.audit.models import AuditEvent
from apps.audit.selectors import all_entries, count_rows
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from tests.audit.conftest import entries, heads, note, superuser, verified
from tests.makers import NOW, make_tenant

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def test_rows_are_numbered_and_chained_as_they_commit(acme: OpenedTenant) -> None:
    note(acme, "a", "b", "c")

    chain = entries(acme.scope.tenant_id)

    assert [entry.seq for entry in chain] == list(range(1, len(chain) + 1))
    assert [entry.prev_hash for entry in chain] == [NO_HASH, *(entry.hash for entry in chain[:-1])]
    assert all(digest(entry) == entry.hash for entry in chain)
    assert heads()[acme.scope.tenant_id].hash == chain[-1].hash
    assert (chain[-1].target, chain[-1].network) == ("c", "203.0.113.0/24")


def test_database_and_python_compute_the_same_over_any_text(acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        record(acme.scope, actor="", action="é\U0001f511", target="\t'\"\\\n", reason="x" * 64, count=-1, now=NOW)
    with transaction.atomic():
        record(None, actor="nobody", action="test", now=NOW)

    assert [digest(entry) == entry.hash for entry in entries()] == [True] * len(entries())
    assert verified().is_whole


def test_rows_of_no_tenant_are_a_chain_of_their_own(acme: OpenedTenant) -> None:
    before = len(entries(0))
    with transaction.atomic():
        record(None, actor="anonymous", action="session.refused", now=NOW)

    assert [entry.seq for entry in entries(0)] == list(range(1, before + 2))


def test_one_chain_can_be_read_and_counted_by_itself(acme: OpenedTenant, globex: OpenedTenant) -> None:
    note(acme, "a", "b")
    note(globex, "c")

    for chain in (acme.scope.tenant_id, globex.scope.tenant_id, 0):
        with transaction.atomic(using="operator"):
            found = list(all_entries(chain, using="operator"))
        assert found == entries(chain)
        assert count_rows(chain, using="operator") == len(found)


def test_what_is_rolled_back_leaves_no_gap(acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        record(acme.scope, actor="test", action="lost", now=NOW)
        transaction.set_rollback(True)
    with tenant_transaction(acme.scope):
        record(acme.scope, actor="test", action="kept", now=NOW)
        with transaction.atomic():
            record(acme.scope, actor="test", action="lost", now=NOW)
            transaction.set_rollback(True)
    note(acme, "after")

    chain = entries(acme.scope.tenant_id)

    assert [entry.action for entry in chain[-2:]] == ["kept", "test.note"]
    assert verified().is_whole


def test_sixteen_threads_of_one_tenant_leave_one_whole_chain(acme: OpenedTenant) -> None:
    before = len(entries(acme.scope.tenant_id))

    def write(thread: int) -> int:
        dice, kept = random.Random(thread), 0
        try:
            for index in range(50):
                try:
                    with tenant_transaction(acme.scope):
                        for _ in range(dice.choice((1, 1, 3))):
                            record(acme.scope, actor=f"thread:{thread}", action="test", target=str(index), now=NOW)
                        if dice.random() < 0.2:
                            raise ZeroDivisionError
                        written = AuditEvent.objects.filter(seq=None).count()
                    kept += written
                except ZeroDivisionError:
                    continue
        finally:
            connections.close_all()
        return kept

    with ThreadPoolExecutor(16) as threads:
        kept = sum(threads.map(write, range(16)))

    chain = entries(acme.scope.tenant_id)
    assert [entry.seq for entry in chain] == list(range(1, before + kept + 1))
    assert verified().is_whole


def test_two_tenants_in_both_orders_in_one_transaction_do_not_wait_for_each_other(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    def write(order: tuple[OpenedTenant, OpenedTenant]) -> None:
        try:
            for _ in range(100):
                with transaction.atomic():
                    for tenant in order:
                        with tenant_transaction(tenant.scope):
                            record(tenant.scope, actor="worker", action="test", now=NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, [(acme, globex), (globex, acme)] * 4))

    assert verified().is_whole


# -- who may write what ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", [
    "insert into audit_auditevent (tenant_id, created_at, actor, action, target, outcome, reason, request_id, count, "
    "network, code_version, prev_hash, hash) values ({tenant}, now(), '', '', '', '', '', '', 1, '', '', '', '')",
    "update audit_auditevent set actor = 'x'",
    "delete from audit_auditevent",
    "insert into audit_chainhead values (77, 1, '')",
    "update audit_chainhead set seq = 0",
    "delete from audit_chainhead",
    "update audit_checkpoint set number = 0",
    "delete from audit_checkpointhead",
    "select audit_extend(1)",
])  # fmt: skip
def test_application_can_only_add_and_only_through_the_one_function(acme: OpenedTenant, statement: str) -> None:
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        tenant_transaction(acme.scope),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(tenant=acme.scope.tenant_id))


def test_row_of_another_tenant_is_refused(acme: OpenedTenant, globex: OpenedTenant) -> None:
    for mine, row in ((acme.scope, globex.scope), (acme.scope, None)):
        with pytest.raises(ProgrammingError, match="another tenant"), tenant_transaction(mine):
            record(row, actor="test", action="test", now=NOW)
    with pytest.raises(ProgrammingError, match="another tenant"), transaction.atomic():
        record(acme.scope, actor="test", action="test", now=NOW)


@pytest.mark.parametrize("statement", [
    "update audit_auditevent set actor = 'x'",
    "update audit_auditevent set seq = seq + 100",
    "update audit_auditevent set hash = ''",
    "update audit_auditevent set seq = null",
    "delete from audit_auditevent",
    "truncate audit_auditevent",
    "insert into audit_auditevent (created_at, actor, action, target, outcome, reason, request_id, count, network, "
    "code_version, seq, prev_hash, hash) values (now(), '', '', '', '', '', '', 1, '', '', 99, '', '')",
    "update audit_chainhead set seq = 0",
    "delete from audit_chainhead",
    "truncate audit_chainhead",
    "truncate audit_checkpoint cascade",
])  # fmt: skip
def test_not_even_the_owner_or_a_superuser_changes_a_row(
    acme: OpenedTenant, superuser_url: str, statement: str
) -> None:
    note(acme, "a")
    with superuser(superuser_url) as cursor:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only ever added to"):
            cursor.execute(statement)

        cursor.connection.rollback()


def test_a_row_put_in_by_the_owner_is_chained_like_any_other(acme: OpenedTenant, superuser_url: str) -> None:
    with superuser(superuser_url) as cursor:
        cursor.execute(
            "insert into audit_auditevent (tenant_id, created_at, actor, action, target, outcome, reason, request_id, "
            "count, network, code_version, prev_hash, hash) "
            "values (%s, now(), 'owner', 'test', '', 'ok', '', '', 1, '', '', '', '')",
            [acme.scope.tenant_id],
        )

    assert entries(acme.scope.tenant_id)[-1].actor == "owner"
    assert verified().is_whole


def test_change_whose_row_cannot_be_written_does_not_happen(acme: OpenedTenant) -> None:
    before = len(entries())
    with pytest.raises(DatabaseError), tenant_transaction(acme.scope):
        record(acme.scope, actor="x" * 65, action="test", now=NOW)

    assert len(entries()) == before


def test_every_tenant_s_chain_begins_with_one() -> None:
    first, second = make_tenant("one"), make_tenant("two")

    assert [entries(tenant.scope.tenant_id)[0].seq for tenant in (first, second)] == [1, 1]
