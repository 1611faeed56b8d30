"""Celery tasks: the outbox, and what was not reviewed in time."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.ingest import outbox_handlers
from apps.ingest.review_storage import expire_candidates
from apps.projects.outbox import HARD_LIMIT, SOFT_LIMIT
from apps.projects.system import sweep_each_tenant

logger = logging.getLogger(__name__)


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="ingest.drain", ignore_result=True, soft_time_limit=SOFT_LIMIT, time_limit=HARD_LIMIT
)
def drain(**_: object) -> None:
    """Do due work until there is none; for a while, and then another task goes on."""
    if outbox_handlers.turns.work(clock=timezone.now):
        notify(drain)


@shared_task(name="ingest.expire_candidates")  # type: ignore[untyped-decorator]
def expire_due_candidates(**_: object) -> None:
    """Expire what was not reviewed in time, in every tenant."""
    sweep_each_tenant(partial(expire_candidates, now=timezone.now()), logger)
