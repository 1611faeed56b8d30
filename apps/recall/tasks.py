"""Task that deletes old traces and latency counts."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.projects.system import sweep_each_tenant
from apps.recall import latency_histogram
from apps.recall.traces import sweep

logger = logging.getLogger(__name__)


@shared_task(name="recall.sweep_traces", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_traces(**_: object) -> None:
    """Delete old traces of every tenant, and old latency counts."""
    now = timezone.now()
    sweep_each_tenant(partial(sweep, now=now), logger)
    latency_histogram.forget(now=now)
