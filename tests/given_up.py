"""Transactions that PostgreSQL gives up in favour of others, on purpose."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import DeadlockDetected


def given_up(kind: type[Exception] = DeadlockDetected) -> OperationalError:
    """As Django raises it."""
    error = OperationalError()
    error.__cause__ = kind()
    return error


@contextmanager
def commits_fail(*numbers: int) -> Iterator[list[int]]:
    """Those transactions of the main database that write, counted from 1, are given up as they commit; the list grows
    with each."""
    seen: list[int] = []
    usual = BaseDatabaseWrapper.commit

    def commit(self: BaseDatabaseWrapper) -> None:
        if self.alias == "default" and not self.needs_rollback and wrote(self):
            seen.append(len(seen) + 1)
            if seen[-1] in numbers:
                raise given_up()
        usual(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "commit", commit)
        yield seen


def wrote(wrapper: BaseDatabaseWrapper) -> bool:
    """Whether the transaction has been given a number, as one that writes is."""
    row = wrapper.connection.execute("select pg_current_xact_id_if_assigned() is not null").fetchone()
    return bool(row and row[0])
