"""Celery tasks: changes of memory types."""

from celery import shared_task
from django.utils import timezone

from apps.core.slices import SLICE_SECONDS, SliceOutcome
from apps.memory_types import change_worker


@shared_task(name="types.tend", ignore_result=True)  # type: ignore[untyped-decorator]
def tend_types(**_: object) -> None:
    """Queue tasks for changes of types that need work."""
    for change_id in change_worker.open_changes():
        retype.apply_async(kwargs={"change_id": change_id})


@shared_task(name="types.turn", ignore_result=True)  # type: ignore[untyped-decorator]
def retype(change_id: int, **_: object) -> None:
    """Work on a change of types for a while, and queue the task again if it is not finished."""
    if change_worker.work(change_id, seconds=SLICE_SECONDS, clock=timezone.now) == SliceOutcome.MORE:
        retype.apply_async(kwargs={"change_id": change_id})
