"""What is loaded on its first use, once in each process."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Safe to share between threads.  A forked child loads its own: it inherits native state made for another process,
    and perhaps a lock whose holder it did not inherit."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: tuple[T, ...] = ()
        _every.add(self)

    @property
    def is_loaded(self) -> bool:
        return bool(self._loaded)

    def get(self) -> T:
        """Raises whatever loading does; then the next call tries again."""
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
