"""A time budget for reading a text.  The reader opens it; slow code calls ``checkpoint``, which enforces it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class TooCostly(Exception):
    """Reading the text exceeds its budget."""


Clock = Callable[[], float]


@dataclass(slots=True)
class Budget:
    """until: deadline on the clock, in seconds.  outer: the enclosing budget, which keeps counting."""

    until: float
    clock: Clock
    outer: "Budget | None"

    @property
    def left(self) -> float:
        """Remaining seconds; negative once the budget is exceeded."""
        return self.until - self.clock()


_open: ContextVar[Budget | None] = ContextVar("open", default=None)


@contextmanager
def reading(milliseconds: float, *, clock: Clock = time.thread_time) -> Iterator[Budget]:
    """Open a budget: inside, ``checkpoint`` raises TooCostly once this or an enclosing budget is spent.

    milliseconds: CPU time of this thread, so that a busy machine makes no text costly; with 0 nothing is read.
    clock: returns seconds.
    """
    budget = Budget(clock() + milliseconds / 1000, clock, _open.get())
    token = _open.set(budget)
    try:
        yield budget
    finally:
        _open.reset(token)


@contextmanager
def without() -> Iterator[None]:
    """Suspend all budgets inside the block: its time is not counted, and it is not interrupted.

    Used for guards, which must check a text before any of it is stored, and for work done once for all texts.
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
    """Raise TooCostly if a budget is spent.  Does nothing if none is open."""
    budget = _open.get()
    if budget is not None and any(one.left <= 0 for one in _around(budget)):
        raise TooCostly


def _around(budget: Budget | None) -> Iterator[Budget]:
    while budget is not None:
        yield budget
        budget = budget.outer
