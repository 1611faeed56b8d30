"""Celery tasks: resume erasures, and purge erased data from the database's files."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from apps.erasure import disk_purge, workflow

logger = logging.getLogger(__name__)

STOPPED_AFTER = timedelta(minutes=10)  # by then the worker of an erasure has died


@shared_task(name="erasure.carry_through")  # type: ignore[untyped-decorator]
def carry_through(**_: object) -> None:
    """Resume interrupted erasures, and issue the last receipt of erasures whose backups have expired."""
    now = timezone.now()
    workflow.resume(begun_before=now - STOPPED_AFTER, now=now)
    disk_purge.expire_backups(now=now)


@shared_task(name="erasure.purge")  # type: ignore[untyped-decorator]
def purge_erased(**_: object) -> None:
    """Purge erased data from the database's files.  The next run does the tables that have to wait."""
    try:
        done = disk_purge.rewrite_tables(now=timezone.now())
    except (disk_purge.PurgeUnderWay, disk_purge.PurgeNotAllowed) as error:
        logger.warning("nothing was purged", extra={"error": type(error).__name__})
    else:
        if done.waits:
            logger.warning("a purge waits for others", extra={"count": len(done.waits)})
