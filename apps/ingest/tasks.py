"""Celery's ways in: to the outbox, and to what nobody reviewed in time."""

import logging
import time
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.ingest import work
from apps.ingest.waiting import expire_candidates
from apps.projects.system import sweep_each_tenant

logger = logging.getLogger(__name__)

SLICE_SECONDS = 2.0  # then whatever else waits in the queue has its turn: embedding a file takes many minutes
EXPIRES_SECONDS = 5  # of a ring that nobody hears: the outbox keeps the work, and beat rings again


@shared_task(name="ingest.drain", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def drain(**_: object) -> None:
    """Do due work until there is none; for a while, and then ring again."""
    deadline = time.monotonic() + SLICE_SECONDS
    while work.drain(now=timezone.now()):
        if time.monotonic() > deadline:
            drain.apply_async(expires=EXPIRES_SECONDS)
            return


@shared_task(name="ingest.expire_candidates")  # type: ignore[untyped-decorator]
def expire_due_candidates(**_: object) -> None:
    """Let go of what nobody reviewed in time, in every tenant."""
    sweep_each_tenant(partial(expire_candidates, now=timezone.now()), logger)
