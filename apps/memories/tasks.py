"""Tending memories on a schedule."""

import logging

from celery import shared_task
from django.utils import timezone

from apps.memories.services import expire
from apps.projects.system import system_scopes

logger = logging.getLogger(__name__)


@shared_task(name="memories.expire")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due(**_: object) -> None:
    """Take what is past its time out of every tenant, a batch at a time; the next run takes the next batch."""
    now = timezone.now()
    for scope in system_scopes():
        try:
            expire(scope, now=now)
        except Exception as error:  # noqa: BLE001  (whatever it is, the tenants behind this one are not to wait for it)
            logger.warning("a tenant was not swept", extra={"tenant": scope.tenant_id, "error": type(error).__name__})
