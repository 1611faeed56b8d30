"""A value that is loaded on first use, once per process."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Thread-safe.  A forked child loads its own value: it inherits native state made for another process, and maybe a
    locked lock whose owner thread does not exist in the child."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: tuple[T, ...] = ()
        _every.add(self)

    def get(self) -> T:
        """Return the value, loaded on the first call.  Raises whatever loading raises; the next call tries again."""
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    self._loaded = (self._load(),)
        return self._loaded[0]

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._loaded = ()


_every: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()


def _start_afresh_after_fork() -> None:
    for one in list(_every):
        one._start_afresh()


os.register_at_fork(after_in_child=_start_afresh_after_fork)
