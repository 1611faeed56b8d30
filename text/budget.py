"""What reading a text may cost.  Whoever reads opens a budget; what reads long asks ``checkpoint`` on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class TooCostly(Exception):
    """Reading the text took longer than its budget allows."""


Clock = Callable[[], float]

# The moment by which reading must be done, and the clock that tells it.
_until: ContextVar[tuple[float, Clock] | None] = ContextVar("until", default=None)


@contextmanager
def reading(milliseconds: float, *, clock: Clock = time.thread_time) -> Iterator[None]:
    """Within, ``checkpoint`` raises TooCostly once the milliseconds are over.  A budget around it goes on counting.

    milliseconds: of this thread's own work, so that a busy machine makes no text costly.  clock: in seconds.
    """
    outer = _until.get()
    until = clock() + milliseconds / 1000
    if outer is not None and outer[0] < until:
        until, clock = outer
    token = _until.set((until, clock))
    try:
        yield
    finally:
        _until.reset(token)


@contextmanager
def without() -> Iterator[None]:
    """Within, no budget counts: for guards, which must have read a text before anything of it is kept."""
    token = _until.set(None)
    try:
        yield
    finally:
        _until.reset(token)


def checkpoint() -> None:
    """Raise TooCostly where the budget is spent; nothing where none is open."""
    open_one = _until.get()
    if open_one is not None and open_one[1]() > open_one[0]:
        raise TooCostly
