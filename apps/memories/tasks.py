"""Tending memories on a schedule."""

from celery import shared_task
from django.utils import timezone

from apps.memories.services import expire
from apps.projects.system import system_scopes


@shared_task(name="memories.expire")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due(**_: object) -> None:
    """Take what is past its time out of every tenant, a batch at a time; the next run takes the next batch."""
    now = timezone.now()
    for scope in system_scopes():
        expire(scope, now=now)
