"""The database backend notices a connection that the server closed, and asks about no other."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept() -> Iterator[Any]:
    """A connection of its own, as a process keeps it between two requests."""
    made = connections.create_connection("default")
    with made.cursor() as cursor:
        cursor.execute("select 1")
    yield made
    made.close()


def pid(kept: Any) -> int:
    with kept.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_a_connection_that_works_is_kept_without_a_query(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pid(kept)
    monkeypatch.setattr(kept, "is_usable", lambda: pytest.fail("the server was asked"))

    kept.close_if_unusable_or_obsolete()

    assert pid(kept) == before


def test_a_connection_that_the_server_ended_is_replaced(kept: Any) -> None:
    before = pid(kept)
    with connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s, 5000)", [before])
        assert cursor.fetchone() == (True,)

    kept.close_if_unusable_or_obsolete()

    assert pid(kept) != before


def test_a_connection_that_was_closed_here_is_replaced(kept: Any) -> None:
    before = pid(kept)
    kept.connection.close()

    kept.close_if_unusable_or_obsolete()

    assert pid(kept) != before
