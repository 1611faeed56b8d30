"""Celery's way in to imports.  Messages carry nothing; rows say if there is anything to do."""

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.imports import import_worker


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="imports.work",
    ignore_result=True,
    soft_time_limit=import_worker.SOFT_LIMIT,
    time_limit=import_worker.HARD_LIMIT,
)
def work(**_: object) -> None:
    """Work at the imports of all tenants in turn for a while, and have it go on if that was not all."""
    if import_worker.turns.work(clock=timezone.now, seconds=import_worker.SLICE_SECONDS):
        notify(work)


@shared_task(name="imports.tend", ignore_result=True)  # type: ignore[untyped-decorator]
def tend(**_: object) -> None:
    """Ask for the jobs of which the outbox knows nothing, and forget those that have long ended."""
    now = timezone.now()
    import_worker.ask_for_work(now=now)
    import_worker.forget_old(now=now)
