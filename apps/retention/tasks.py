"""Closing requests to forget that nobody decided."""

import logging

from celery import shared_task
from django.utils import timezone

from apps.projects.system import system_scopes
from apps.retention.requests import expire_requests

logger = logging.getLogger(__name__)


@shared_task(name="retention.expire_requests")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due_requests(**_: object) -> None:
    """Close what is past its time, in every tenant."""
    now = timezone.now()
    for scope in system_scopes():
        try:
            expire_requests(scope, now=now)
        except Exception as error:  # noqa: BLE001  (whatever it is, the tenants behind this one are not to wait for it)
            logger.warning("a tenant was not swept", extra={"tenant": scope.tenant_id, "error": type(error).__name__})
