"""Which tenant a transaction speaks for: named on the way in, put back on the way out, however it is left."""

import pytest
from django.db import DataError, connection, transaction

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)


def named() -> str:
    """The tenant that row-level security goes by now; empty for none."""
    with connection.cursor() as cursor:
        cursor.execute("select coalesce(current_setting('app.tenant_id', true), '')")
        (tenant,) = cursor.fetchone() or ("",)
    return str(tenant)


def divide_by_zero() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select 1 / 0")


def test_it_ends_with_the_transaction(acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        assert named() == str(acme.scope.tenant_id)

    assert named() == ""


def test_inside_another_tenants_it_is_put_back(acme: OpenedTenant, globex: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        with tenant_transaction(globex.scope):
            assert named() == str(globex.scope.tenant_id)
        assert named() == str(acme.scope.tenant_id)


def test_inside_a_transaction_of_no_tenant_it_is_taken_away(acme: OpenedTenant) -> None:
    with transaction.atomic():
        with tenant_transaction(acme.scope):
            pass
        assert named() == ""


def test_left_by_an_exception_it_is_put_back_as_well(acme: OpenedTenant, globex: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        with pytest.raises(DataError), tenant_transaction(globex.scope), tenant_transaction(acme.scope):
            divide_by_zero()
        assert named() == str(acme.scope.tenant_id)
    with transaction.atomic():
        with pytest.raises(DataError), tenant_transaction(globex.scope):
            divide_by_zero()
        assert named() == ""


def test_a_snapshot_inside_another_transaction_keeps_its_tenant(acme: OpenedTenant, globex: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        with tenant_transaction(globex.scope, snapshot=True):
            assert named() == str(globex.scope.tenant_id)
        assert named() == str(acme.scope.tenant_id)
