"""Ringing for a worker when work was asked for.  Unheard, it costs the minute until the schedule comes by."""

import logging

from apps.upkeep.models import KeyRotation, TypeChange
from apps.upkeep.tasks import tend, tend_types

logger = logging.getLogger(__name__)


def ring(work: KeyRotation | TypeChange) -> None:
    """Never raises: the work's row is committed, and is the authority."""
    try:
        (tend if isinstance(work, KeyRotation) else tend_types).apply_async()
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises)
        logger.warning("broker not reached", extra={"error": type(error).__name__, "job_id": work.pk})
