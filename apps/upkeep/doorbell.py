"""Ringing for a worker when a rotation was asked for.  Unheard, it costs the minute until the schedule comes by."""

import logging

from apps.upkeep.models import KeyRotation
from apps.upkeep.tasks import tend

logger = logging.getLogger(__name__)


def ring(rotation: KeyRotation) -> None:
    """Never raises: the rotation's row is committed, and is the authority."""
    try:
        tend.apply_async()
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises)
        logger.warning("broker not reached", extra={"error": type(error).__name__, "job_id": rotation.pk})
