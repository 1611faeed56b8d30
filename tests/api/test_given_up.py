"""Every route that writes answers as usual, and writes once, when PostgreSQL gives up a transaction of its."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from psycopg.sql import SQL, Identifier, Literal

from apps.api.permissions import OPEN
from apps.core import retries
from apps.projects.scope import Environment
from memsync.testing.databases import superuser_in
from tests.api.conftest import Caller
from tests.api.test_access import TABLE, TEXT, Row, _ask, _right
from tests.given_up import commits_fail
from tests.makers import make_tenant

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

WRITING = [row for row in TABLE if row.method != "GET" and row.permission != OPEN]
names = count()


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def rows(django_db_setup: None) -> Iterator[Callable[[], Counter[str]]]:
    """How many each table of every tenant has."""
    with superuser_in("default") as superuser:
        found = superuser.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
        ).fetchall()
        each = [SQL("select {}, count(*) from {}").format(Literal(name), Identifier(name)) for (name,) in found]
        count_each = SQL(" union all ").join(each)
        yield lambda: Counter(dict(superuser.execute(count_each).fetchall()))


def asked(row: Row, rows: Callable[[], Counter[str]], *fail: int) -> tuple[int, Counter[str], int]:
    """In a tenant of its own: the status, what was written, and in how many transactions."""
    opened = make_tenant(f"acme{next(names)}")
    alice = Caller(opened.keys[Environment.PRODUCTION])
    memory = alice.add(TEXT)
    caller, before = _right(row, opened, alice), rows()
    with commits_fail(*fail) as seen:
        status = _ask(row, caller, memory["id"]).status_code
    return status, rows() - before, len(seen)


@pytest.mark.parametrize("row", WRITING, ids=str)
def test_it_answers_as_usual_and_writes_once(row: Row, rows: Callable[[], Counter[str]]) -> None:
    status, written, commits = asked(row, rows)
    assert commits < 12
    for number in range(1, commits + 1):
        assert asked(row, rows, number)[:2] == (status, written), f"transaction {number} of {commits}"
