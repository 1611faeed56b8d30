"""Celery tasks: expand events and send deliveries; delete old deliveries and events."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.projects.system import sweep_each_tenant
from apps.webhooks import dispatcher, event_log

logger = logging.getLogger(__name__)

SLICE_SECONDS = 60.0  # then the worker process is free again; beat queues the next task


@shared_task(name="webhooks.work", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def work(**_: object) -> None:
    """Expand and send what is due."""
    dispatcher.work(seconds=SLICE_SECONDS, clock=timezone.now)


@shared_task(name="webhooks.sweep", ignore_result=True)  # type: ignore[untyped-decorator]
def sweep(**_: object) -> None:
    """Delete old deliveries and events of every tenant."""
    now = timezone.now()
    sweep_each_tenant(partial(dispatcher.sweep, now=now), logger)
    sweep_each_tenant(partial(event_log.sweep, now=now), logger)
