"""Notifying workers that there is work.  The work is rows, committed already: a message that is lost costs a delay."""

import logging
import threading
import time
from typing import Any, Final, Protocol

logger = logging.getLogger(__name__)

EXPIRES_SECONDS: Final = 5  # of a message that no worker takes: the rows stay, and the schedule sends another
QUIET_SECONDS: Final = 5.0  # after a failure, requests do not wait for the broker again so soon
_lock = threading.Lock()
_quiet_until = 0.0


class Task(Protocol):
    """What Celery makes of a function."""

    def apply_async(self, **options: Any) -> Any: ...


def notify(task: Task, **ids: int) -> None:
    """Have a worker run the task with these ids soon, or not at all.  Never raises; waits for a broken broker at most
    once in a while."""
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
