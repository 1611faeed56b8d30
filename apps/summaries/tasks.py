"""Scheduled maintenance of summaries, as a fallback for the outbox."""

import logging
from functools import partial

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.projects.system import sweep_each_tenant, system_scopes
from apps.summaries.reflections import reflect
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


@shared_task(name="summaries.reflect", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def reflect_on_sessions(**_: object) -> None:
    """Digest old summaries of sessions, in every tenant; nothing while REFLECTIONS is off."""
    if settings.REFLECTIONS:
        sweep_each_tenant(partial(reflect, now=timezone.now()), logger)
