"""What reading a text may cost.  The reader opens a budget; what reads long asks ``checkpoint`` on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class TooCostly(Exception):
    """Reading the text takes more than its budget."""


Clock = Callable[[], float]


@dataclass(slots=True)
class Budget:
    """until: a moment of the clock, in seconds.  outer: the budget around it, which goes on counting."""

    until: float
    clock: Clock
    outer: "Budget | None"

    @property
    def left(self) -> float:
        """Seconds; below 0 by how much it is overrun."""
        return self.until - self.clock()


_open: ContextVar[Budget | None] = ContextVar("open", default=None)


@contextmanager
def reading(milliseconds: float, *, clock: Clock = time.thread_time) -> Iterator[Budget]:
    """Within, ``checkpoint`` raises TooCostly once the milliseconds are over, or those of a budget around it.

    milliseconds: of this thread's own work, so that a busy machine makes no text costly; with 0 nothing is read.
    clock: in seconds.
    """
    budget = Budget(clock() + milliseconds / 1000, clock, _open.get())
    token = _open.set(budget)
    try:
        yield budget
    finally:
        _open.reset(token)


@contextmanager
def without() -> Iterator[None]:
    """What is done within counts towards no budget, and none ends it.

    For guards, which must have read a text before anything of it is kept, and for what is made once for all texts.
    """
    budget = _open.get()
    if budget is None:
        yield
        return
    every = list(_around(budget))
    began = [one.clock() for one in every]
    token = _open.set(None)
    try:
        yield
    finally:
        _open.reset(token)
        for one, start in zip(every, began, strict=True):
            one.until += one.clock() - start


def checkpoint() -> None:
    """Raise TooCostly where a budget is spent; nothing where none is open."""
    budget = _open.get()
    if budget is not None and any(one.left <= 0 for one in _around(budget)):
        raise TooCostly


def _around(budget: Budget | None) -> Iterator[Budget]:
    while budget is not None:
        yield budget
        budget = budget.outer
