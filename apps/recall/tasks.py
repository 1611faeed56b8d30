"""Letting go of old traces."""

import logging

from celery import shared_task
from django.utils import timezone

from apps.projects.system import system_scopes
from apps.recall.traces import sweep

logger = logging.getLogger(__name__)


@shared_task(name="recall.sweep_traces", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_traces(**_: object) -> None:
    """In every tenant."""
    now = timezone.now()
    for scope in system_scopes():
        try:
            sweep(scope, now=now)
        except Exception as error:  # noqa: BLE001  (whatever it is, the tenants behind this one are not to wait for it)
            logger.warning("a tenant was not swept", extra={"tenant": scope.tenant_id, "error": type(error).__name__})
