"""Celery's way in to the outbox."""

from celery import shared_task
from django.utils import timezone

from apps.ingest import work

MOST_BATCHES = 200  # a run ends well within the task's time limit; beat starts the next


@shared_task(name="ingest.drain", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def drain(**_: object) -> None:
    """Do due work until there is none, or long enough for one task."""
    for _batch in range(MOST_BATCHES):
        if not work.drain(now=timezone.now()):
            return
