"""Celery's way in to imports.  Messages carry nothing; rows say if there is anything to do."""

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.imports import working


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="imports.work", ignore_result=True, soft_time_limit=working.SOFT_LIMIT, time_limit=working.HARD_LIMIT
)
def work(**_: object) -> None:
    """Work at the imports of all tenants in turn for a while, and have it go on if that was not all."""
    if working.turns.work(clock=timezone.now, seconds=working.SLICE_SECONDS):
        notify(work)


@shared_task(name="imports.tend", ignore_result=True)  # type: ignore[untyped-decorator]
def tend(**_: object) -> None:
    """Ask for the jobs of which the outbox knows nothing, and forget those that have long ended."""
    now = timezone.now()
    working.ask_for_work(now=now)
    working.forget_old(now=now)
