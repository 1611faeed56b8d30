"""A circuit breaker: after several failures in a row it blocks calls for a while, then lets a single one try."""

import threading
import time
from collections.abc import Callable
from typing import Final

FAILURES: Final = 5
REST_SECONDS: Final = 30.0


class Breaker:
    """Circuit breaker of this process.  clock: monotonic seconds."""

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most: Final = failures
        self._rest: Final = rest_seconds
        self._clock: Final = clock
        self._lock: Final = threading.Lock()
        self._failed = 0
        self._rests_until = 0.0

    def lets_through(self) -> bool:
        """Whether a call may be made now.  After the rest one caller may try; the next may once that one succeeded, or
        after another rest."""
        with self._lock:
            if self._failed < self._most:
                return True
            if self._clock() < self._rests_until:
                return False
            self._rests_until = self._clock() + self._rest
            return True

    def note(self, *, is_success: bool) -> None:
        with self._lock:
            self._failed = 0 if is_success else self._failed + 1
            if self._failed >= self._most:
                self._rests_until = self._clock() + self._rest
