"""Celery tasks of imports.  Messages carry nothing; the state is in the rows."""

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.transfers.imports import import_worker


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="imports.work",
    ignore_result=True,
    soft_time_limit=import_worker.SOFT_LIMIT,
    time_limit=import_worker.HARD_LIMIT,
)
def work(**_: object) -> None:
    """Work on the imports of all tenants in turn for a while, and queue the task again if some are left."""
    if import_worker.turns.work(clock=timezone.now, seconds=import_worker.SLICE_SECONDS):
        notify(work)


@shared_task(name="imports.tend", ignore_result=True)  # type: ignore[untyped-decorator]
def tend(**_: object) -> None:
    """Request work on open jobs that the outbox does not list, and delete jobs that ended long ago."""
    now = timezone.now()
    import_worker.ask_for_work(now=now)
    import_worker.forget_old(now=now)
