"""Scheduled maintenance of memories."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.memories.services import expire
from apps.projects.system import sweep_each_tenant

logger = logging.getLogger(__name__)


@shared_task(name="memories.expire")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due(**_: object) -> None:
    """Soft-delete the expired memories of every tenant, one batch per run."""
    sweep_each_tenant(partial(expire, now=timezone.now()), logger)
