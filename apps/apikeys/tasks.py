"""Deleting counts of requests whose time is over."""

from celery import shared_task
from django.utils import timezone

from apps.apikeys import limits


@shared_task(name="apikeys.sweep_windows", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_windows(**_: object) -> None:
    """Of all callers: one that comes again deletes its own, one that never does would leave them for good."""
    limits.forget(now=timezone.now())
