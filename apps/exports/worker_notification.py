"""Worker notifications. The job is committed already: a lost message delays it until the next beat."""

import logging

from apps.exports.tasks import work

logger = logging.getLogger(__name__)


def notify_worker(tenant_id: int, job_id: int) -> None:
    """Notify a worker that there is an export.  Never raises."""
    try:
        work.apply_async(kwargs={"tenant_id": tenant_id, "job_id": job_id})
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises, the job is already committed)
        logger.warning("broker not reached", extra={"error": type(error).__name__})
