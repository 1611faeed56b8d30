"""Celery tasks: expire candidates that were not reviewed in time, and state items."""

import logging
from functools import partial

from celery import shared_task
from django.utils import timezone

from apps.ingest.conversation_sync import purge_expired_state
from apps.ingest.review_storage import expire_candidates
from apps.projects.system import sweep_each_tenant

logger = logging.getLogger(__name__)


@shared_task(name="ingest.expire_candidates")  # type: ignore[untyped-decorator]
def expire_due_candidates(**_: object) -> None:
    """Expire candidates that were not reviewed in time, in every tenant."""
    sweep_each_tenant(partial(expire_candidates, now=timezone.now()), logger)


@shared_task(name="ingest.purge_expired_state")  # type: ignore[untyped-decorator]
def purge_expired_states(**_: object) -> None:
    """Delete expired state items of every tenant.  Reads have hidden them since they expired."""
    sweep_each_tenant(partial(purge_expired_state, now=timezone.now()), logger)
