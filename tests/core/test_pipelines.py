"""Statements of a pipeline are sent without waits in between, and their results and errors come as without one."""

from typing import Any

import pytest
from django.db import DataError
from django.db.backends.utils import CursorWrapper
from psycopg import Pipeline

from apps.apikeys.onboarding import OpenedTenant
from apps.core.prepared_sql import pipelined, prepared_cursor
from apps.core.scoping import tenant_transaction
from tests.core.test_tenant_transaction import named

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Filled with each wait for the socket inside of a pipeline."""
    noted: list[object] = []
    communicate, fetch = Pipeline._communicate_gen, Pipeline._fetch_gen

    def noting(generator: Any) -> Any:
        def waiting(self: Any, **options: Any) -> Any:
            noted.append(self)
            yield from generator(self, **options)

        return waiting

    monkeypatch.setattr(Pipeline, "_communicate_gen", noting(communicate))
    monkeypatch.setattr(Pipeline, "_fetch_gen", noting(fetch))
    return noted


def test_more_statements_are_not_more_waits(acme: OpenedTenant, waits: list[object]) -> None:
    counts = []
    with tenant_transaction(acme.scope):
        for statements in (1, 30):
            waits.clear()
            with pipelined():
                for number in range(statements):
                    with prepared_cursor() as cursor:
                        cursor.execute("select %s::int", [number])
            counts.append(len(waits))

    assert counts[0] == counts[1] > 0


def test_begin_and_its_settings_are_one_round_trip(acme: OpenedTenant, waits: list[object]) -> None:
    with tenant_transaction(acme.scope, snapshot=True), pipelined():
        in_between = len(waits)
        with prepared_cursor() as cursor:
            cursor.execute("show transaction isolation level")
            assert cursor.fetchone() == ("repeatable read",)
    assert in_between == 2  # at the end of the pipeline: to send and to read


def test_results_are_those_of_their_statements(acme: OpenedTenant) -> None:
    with tenant_transaction(acme.scope):
        with pipelined():
            cursors = [_select(number, "int") for number in range(5)]
            assert cursors[3].fetchone() == (3,)  # waits for what was sent
        assert [cursor.fetchone() for cursor in (*cursors[:3], cursors[4])] == [(0,), (1,), (2,), (4,)]


def test_an_error_comes_at_the_end_and_undoes_the_transaction(acme: OpenedTenant) -> None:
    with pytest.raises(DataError), tenant_transaction(acme.scope):
        _divide_by_zero()

    assert named() == ""


def test_more_than_the_socket_takes_is_sent_and_read(acme: OpenedTenant) -> None:
    large = "x" * 200_000
    with tenant_transaction(acme.scope):
        with pipelined():
            cursors = [_select(large, "text") for _ in range(100)]
        assert all(cursor.fetchone() == (large,) for cursor in cursors)


def _select(value: int | str, type_: str) -> CursorWrapper:
    cursor = prepared_cursor()
    cursor.execute(f"select %s::{type_}", [value])
    return cursor


def _divide_by_zero() -> None:
    with pipelined(), prepared_cursor() as cursor:
        cursor.execute("select set_config('app.tenant_id', 'lost', true)")
        cursor.execute("select 1 / %s::int", [0])
        cursor.execute("select 1")
