"""How long a task may take, in a process of ``memsync.launcher.workers``.

Two limits, which Celery's own names give: ``soft_time_limit`` in seconds of the task's own work, ``time_limit`` by the
clock.  Past the first, or a second before the last, SoftTimeLimitExceeded is raised in the task, which notes what took
so long; so a machine with much else to do makes no work too long that is only slow.  Past the last the process is
killed from outside: what catches every exception, or never comes back from a library, ends all the same.
"""

import mmap
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from billiard.exceptions import SoftTimeLimitExceeded

LAST_CALL: Final = 1.0  # seconds by the clock between being told and being killed
_DEADLINE: Final = struct.Struct("d")


class Deadlines:
    """When each of some processes is to be killed, in memory that they share with the one that made this."""

    def __init__(self, processes: int) -> None:
        self._shared = mmap.mmap(-1, max(1, processes) * _DEADLINE.size)

    def __getitem__(self, place: int) -> float:
        """A moment of ``time.monotonic``; 0 where the process is at nothing."""
        return float(_DEADLINE.unpack_from(self._shared, place * _DEADLINE.size)[0])

    def __setitem__(self, place: int, deadline: float) -> None:
        _DEADLINE.pack_into(self._shared, place * _DEADLINE.size, deadline)

    def is_past(self, place: int) -> bool:
        return 0 < self[place] <= time.monotonic()


_mine: tuple[Deadlines, int] | None = None


def watch(deadlines: Deadlines, place: int) -> None:
    """Tasks of this process are limited from now on, and its parent kills it when they are past their time."""
    global _mine
    _mine = deadlines, place


@contextmanager
def limited(work: float | None, clock: float | None) -> Iterator[None]:
    """Within, SoftTimeLimitExceeded is raised after so many seconds of work, or before those by the clock are over.

    Of the main thread of a process that is watched; elsewhere nothing is limited, nor within another limit.
    """
    if _mine is None or _mine[0][_mine[1]]:
        yield
        return
    deadlines, place = _mine
    begun, worked = time.monotonic(), time.process_time()

    def look(number: int, frame: FrameType | None) -> None:
        left = min(_left(work, time.process_time() - worked), _left(clock, time.monotonic() - begun + LAST_CALL))
        if left <= 0:
            raise SoftTimeLimitExceeded
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.01))

    before = signal.signal(signal.SIGALRM, look)
    deadlines[place] = begun + clock if clock else 0.0
    if work is not None:
        signal.setitimer(signal.ITIMER_REAL, work)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        deadlines[place] = 0.0
        signal.signal(signal.SIGALRM, before)


def _left(most: float | None, spent: float) -> float:
    return float("inf") if most is None else most - spent
