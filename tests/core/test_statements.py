"""What ``insert`` writes is what Django would write."""

import uuid
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.prepared_sql import insert
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory, MemoryTransition, MemoryVector
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


def test_row_of_every_kind_of_column_is_written_as_by_django(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    said = Proposal(text=Plaintext("Next week I fly to Oslo."), tags=("a", "b"), session_id="s", importance=0.6)
    remember(scope, [said], now=NOW)

    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get()
        row.source, row.importance, row.legal_hold = 'quotes " and \\ and \u2028 and ü', 1 / 3, True
        row.event_range, row.tag_tokens = (NOW, NOW + timedelta(days=7)), [2**63 - 1, -(2**63), 0]
        row.summary_ct, row.value_mac = bytes(range(256)), memoryview(b"0123456789abcdef")
        insert([_anew(row)])
        mine = Memory.objects.within(scope).get(pk=row.pk)
        Memory.objects.bulk_create(scope, [_anew(row)])
        django = Memory.objects.within(scope).get(pk=row.pk)

    names = [field.attname for field in Memory._meta.concrete_fields if field.attname not in ("id", "public_id")]
    assert {name: getattr(mine, name) for name in names} == {name: getattr(django, name) for name in names}
    assert mine.event_range.upper == NOW + timedelta(days=7)


def _anew(row: Memory) -> Memory:
    row.pk, row.public_id, row.slot = row.pk + 1_000, f"mem_{uuid.uuid4().hex}", None
    return row


def test_bits_are_kept_and_ids_come_from_the_database(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    remember(scope, [Proposal(text=Plaintext("I live in Lisbon."))], now=NOW)

    with tenant_transaction(scope):
        vector = MemoryVector.objects.within(scope).get()
        transition = MemoryTransition.objects.within(scope).get()
        MemoryVector.objects.within(scope).delete()
        transition.pk = None
        insert([vector])
        insert([transition] * 3)

        assert MemoryVector.objects.within(scope).get().signs == vector.signs
        assert MemoryTransition.objects.within(scope).count() == 4


def test_no_rows_are_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        insert([])
