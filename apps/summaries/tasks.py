"""Scheduled maintenance of summaries, as a fallback for the outbox."""

import logging

from celery import shared_task
from django.utils import timezone

from apps.projects.system import system_scopes
from apps.summaries.services import ask_for_work

logger = logging.getLogger(__name__)


@shared_task(name="summaries.tend", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def tend(**_: object) -> None:
    """Queue the outstanding work on summaries and clusters of every tenant; the outbox does it."""
    now = timezone.now()
    for scope in system_scopes():
        try:
            ask_for_work(scope, now=now)
        except Exception as error:  # noqa: BLE001  (whatever it is, the tenants behind this one are not to wait for it)
            logger.warning(
                "summaries were not looked at", extra={"tenant": scope.tenant_id, "error": type(error).__name__}
            )
