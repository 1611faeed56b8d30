"""Retries of transactions that PostgreSQL aborted in favour of others, by the code that began them.

PostgreSQL aborts one of several deadlocked transactions (40P01), and may abort one whose snapshot conflicts with a
concurrent change (40001).  The same transaction usually succeeds when it is repeated.
"""

import random
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache, wraps
from typing import Any, Final, ParamSpec, TypeVar

from django.db import OperationalError, connections
from psycopg.errors import DeadlockDetected, SerializationFailure

P = ParamSpec("P")
T = TypeVar("T")

TRIES: Final = 4  # the first attempt and three retries
PAUSE_SECONDS: Final = 0.05  # base of the random pause, which doubles with each attempt
READS: Final = ("select", "set", "show", "with")  # read-only statements begin like this, and do not match ...
WRITES: Final = re.compile(r"insert into|delete from|audit_record\(|(?<!for )(?<!no key )update ")


def retried(work: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that it is called again, up to three times, when its transaction was aborted.

    It is not called again once any of its writes was committed, so nothing is done twice.  Inside a transaction it is
    called once, because only the code that began the transaction can repeat it.  Raises the last error, which an outer
    ``retried`` function does not retry again.
    """

    @wraps(work)
    def trying(*args: P.args, **kwargs: P.kwargs) -> T:
        if any(connection.in_atomic_block for connection in connections.all(initialized_only=True)):
            return work(*args, **kwargs)
        for attempt in range(1, TRIES + 1):
            commits = _Commits()
            try:
                with ExitStack() as watched:
                    for connection in connections.all():
                        watched.enter_context(connection.execute_wrapper(commits))
                    return work(*args, **kwargs)
            except OperationalError as error:
                if not was_given_up(error) or commits.are_any or attempt == TRIES or hasattr(error, "tries"):
                    error.tries = attempt  # type: ignore[attr-defined]
                    raise
            time.sleep(random.uniform(0, PAUSE_SECONDS * 2**attempt))  # noqa: S311  (nothing is guessed by it)
        raise AssertionError  # the last attempt returns or raises

    return trying


def was_given_up(error: BaseException) -> bool:
    """Whether PostgreSQL aborted the transaction in favour of another one, so that a retry can succeed."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)


class _Commits:
    """Detects whether any write was committed.  For Django's ``execute_wrapper``."""

    def __init__(self) -> None:
        self.are_any = False

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        if _is_write(sql):
            context["connection"].on_commit(self._note)
        return done

    def _note(self) -> None:
        self.are_any = True


def _is_write(sql: Any) -> bool:
    """Whether the statement must not run twice."""
    if not isinstance(sql, str):  # composed SQL: used only in a few places, which delete rows
        return True
    return _writes(sql)


@lru_cache(maxsize=1024)  # statements have placeholders for values, so there are not many
def _writes(sql: str) -> bool:
    text = sql.strip().lower()
    if text.startswith("insert into") and text.endswith("on conflict do nothing"):
        return False  # idempotent
    return not text.startswith(READS) or WRITES.search(text) is not None
