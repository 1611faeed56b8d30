"""Ringing for a worker.  The work is already in the outbox: an unheard bell costs a delay, never the work."""

import logging
import threading
import time

from apps.ingest.tasks import EXPIRES_SECONDS, drain

logger = logging.getLogger(__name__)

QUIET_SECONDS = 5.0  # after a failure, requests do not wait for the broker again so soon
_lock = threading.Lock()
_quiet_until = 0.0


def ring() -> None:
    """Tell a worker that there is work.  Never raises, and waits for a broken broker at most once in a while."""
    global _quiet_until
    with _lock:
        if time.monotonic() < _quiet_until:
            return
    try:
        drain.apply_async(expires=EXPIRES_SECONDS)
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises, the add is already committed)
        with _lock:
            _quiet_until = time.monotonic() + QUIET_SECONDS
        logger.warning("broker not reached", extra={"error": type(error).__name__})
