"""Time limits of tasks in a process of ``memsync.launcher.workers``.

There are two limits, under Celery's names: ``soft_time_limit`` in seconds of CPU time, ``time_limit`` in seconds of
wall-clock time.  After the first, or one second before the second, the task gets SoftTimeLimitExceeded, and can record
what took so long; a busy machine therefore does not make a task exceed the first.  After the second, the parent kills
the process, even if the task catches every exception or never returns from a library.
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

LAST_CALL: Final = 1.0  # seconds of wall-clock time between the exception and the kill
_DEADLINE: Final = struct.Struct("d")


class Deadlines:
    """The deadline of each worker process, in memory shared with the parent."""

    def __init__(self, processes: int) -> None:
        self._shared = mmap.mmap(-1, max(1, processes) * _DEADLINE.size)

    def __getitem__(self, place: int) -> float:
        """A time of ``time.monotonic``; 0 if the process runs no task."""
        return float(_DEADLINE.unpack_from(self._shared, place * _DEADLINE.size)[0])

    def __setitem__(self, place: int, deadline: float) -> None:
        _DEADLINE.pack_into(self._shared, place * _DEADLINE.size, deadline)

    def is_past(self, place: int) -> bool:
        return 0 < self[place] <= time.monotonic()


_mine: tuple[Deadlines, int] | None = None


def watch(deadlines: Deadlines, place: int) -> None:
    """Limit the tasks of this process from now on; its parent kills it when its deadline has passed."""
    global _mine
    _mine = deadlines, place


@contextmanager
def limited(work: float | None, clock: float | None) -> Iterator[None]:
    """Raise SoftTimeLimitExceeded inside the block after ``work`` CPU seconds, or LAST_CALL before ``clock`` seconds.

    It acts only in the main thread of a watched process, and not inside another ``limited`` block.
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
