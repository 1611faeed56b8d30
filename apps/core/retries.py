"""Transactions that PostgreSQL gave up in favour of others are done again, by the code that began them.

Of transactions that wait for each other in a circle one is chosen and undone (40P01); one that saw what another has
changed since may be undone as well (40001).  Nothing is wrong with it: done again, it goes through.
"""

import random
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from django.db import OperationalError, connections
from psycopg.errors import DeadlockDetected, SerializationFailure

P = ParamSpec("P")
T = TypeVar("T")

TRIES: Final = 4  # the first, and three more
PAUSE_SECONDS: Final = 0.05  # at most, before the second; twice as long before each that follows
READS: Final = ("select", "set", "show", "with")  # how statements begin that write nothing, unless they hold one of ...
WRITES: Final = re.compile(r"insert into|delete from|audit_record\(|(?<!for )(?<!no key )update ")


def retried(work: Callable[P, T]) -> Callable[P, T]:
    """The same function, which is called again, up to three times, when its transaction was given up.

    Only as long as nothing that it wrote was committed: what is done is not done twice.  Inside of a transaction it is
    called once, as only who began that can do all of it again.  Raises the last error; who is further out and retries
    as well then leaves it at that.
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
    """Whether the transaction was undone in favour of another, and would go through now."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)


class _Commits:
    """Sees whether anything was written and committed.  For Django's ``execute_wrapper``."""

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
    """Whether it may not be done twice."""
    if not isinstance(sql, str):  # made of parts, by the few places that name tables in them: they delete
        return True
    text = sql.strip().lower()
    if text.startswith("insert into") and text.endswith("on conflict do nothing"):
        return False  # it may be done as often as one likes
    return not text.startswith(READS) or WRITES.search(text) is not None
