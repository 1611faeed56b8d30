"""Tending memories on a schedule."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.memories.services import expire
from apps.projects.system import sweep_each_tenant

logger = logging.getLogger(__name__)


@shared_task(name="memories.expire")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due(**_: object) -> None:
    """Take what is past its time out of every tenant, a batch at a time; the next run takes the next batch."""
    sweep_each_tenant(partial(expire, now=timezone.now()), logger)
