"""Notifies workers of new work.  The work itself is committed rows, so a lost message only causes a delay."""

import logging
import threading
import time
from typing import Any, Final, Protocol

logger = logging.getLogger(__name__)

EXPIRES_SECONDS: Final = 5  # lifetime of a message; the rows stay, and the schedule sends another one
QUIET_SECONDS: Final = 5.0  # after a failure, skip the broker for this long
_lock = threading.Lock()
_quiet_until = 0.0


class Task(Protocol):
    """A Celery task."""

    def apply_async(self, **options: Any) -> Any: ...


def notify(task: Task, **ids: int) -> None:
    """Ask a worker to run the task with these ids, without a guarantee.

    Never raises.  After a failure it skips the broker for QUIET_SECONDS.
    """
    global _quiet_until
    with _lock:
        if time.monotonic() < _quiet_until:
            return
    try:
        task.apply_async(kwargs=ids, expires=EXPIRES_SECONDS)
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises, the work is already committed)
        with _lock:
            _quiet_until = time.monotonic() + QUIET_SECONDS
        logger.warning("broker not reached", extra={"error": type(error).__name__})
