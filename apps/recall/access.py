"""Counting what recall returned, later and together: a read answers without waiting for a write."""

import logging
import threading
from collections import Counter
from collections.abc import Sequence

from django.db import connections
from django.utils import timezone

from apps.memories.services import count_accesses
from apps.projects.scope import Scope

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0
_lock = threading.Lock()
_waiting: dict[int, tuple[Scope, Counter[int]]] = {}
_timer: threading.Timer | None = None


def note(scope: Scope, memory_ids: Sequence[int]) -> None:
    """Remember that these were returned.  Written within EVERY_SECONDS; a crash before that loses the count only."""
    global _timer
    if not memory_ids:
        return
    with _lock:
        _, counts = _waiting.setdefault(scope.tenant_id, (scope, Counter()))
        counts.update(memory_ids)
        if _timer is None:
            _timer = threading.Timer(EVERY_SECONDS, _flush_in_background)
            _timer.daemon = True
            _timer.start()


def flush() -> None:
    """Write what is waiting, now.  What cannot be written of one tenant is lost, and nothing of the others."""
    global _timer
    with _lock:
        batches = list(_waiting.values())
        _waiting.clear()
        if _timer is not None:
            _timer.cancel()
            _timer = None
    for scope, counts in batches:
        try:
            count_accesses(scope, dict(counts), now=timezone.now())  # noqa: TID251  (a background thread is a way in)
        except Exception as error:  # noqa: BLE001  (nobody is there to catch it, and only counts are lost)
            logger.warning("access counts were not written", extra={"error": type(error).__name__})


def _flush_in_background() -> None:
    try:
        flush()
    finally:
        connections.close_all()
