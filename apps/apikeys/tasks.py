"""Celery task: delete expired rate windows."""

from celery import shared_task
from django.utils import timezone

from apps.apikeys import rate_limits


@shared_task(name="apikeys.sweep_windows", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def sweep_windows(**_: object) -> None:
    """Windows of all callers: a returning caller deletes its own, but one that never returns would leave its rows for
    ever."""
    rate_limits.forget(now=timezone.now())
