"""The functions that run one statement, with Django's own cursors and with prepared ones."""

import pytest
from django.db import transaction
from psycopg.sql import SQL, Identifier

from apps.core.queries import execute, fetch_all, fetch_column, fetch_one, fetch_value

pytestmark = pytest.mark.django_db(databases="__all__")

NUMBERS = "select n, n * 10 from generate_series(1, %s::int) n order by n"


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("using", ["default", "keyring"])
def test_rows_of_a_statement_are_returned(using: str, prepared: bool) -> None:
    with transaction.atomic(using=using):
        assert fetch_all(NUMBERS, [2], using=using, prepared=prepared) == [(1, 10), (2, 20)]
        assert fetch_column(NUMBERS, [2], using=using, prepared=prepared) == [1, 2]
        assert fetch_one(NUMBERS, [2], using=using, prepared=prepared) == (1, 10)
        assert fetch_value(NUMBERS, [2], using=using, prepared=prepared) == 1
        assert execute(NUMBERS, [2], using=using, prepared=prepared) == 2


def test_nothing_found() -> None:
    assert (fetch_all(NUMBERS, [0]), fetch_column(NUMBERS, [0]), fetch_one(NUMBERS, [0])) == ([], [], None)
    assert (fetch_value(NUMBERS, [0]), fetch_value(NUMBERS, [0], default=7)) == (None, 7)
    assert fetch_value("select null", default=7) is None
    assert execute(NUMBERS, [0]) == 0


def test_named_parameters_composed_statements_and_percent_signs() -> None:
    assert fetch_value("select %(first)s - %(second)s", {"second": 2, "first": 5}) == 3
    assert fetch_value(SQL("select {} from (select 4) t({})").format(Identifier("n"), Identifier("n"))) == 4
    assert fetch_value("select 'a' like '%'") is True
