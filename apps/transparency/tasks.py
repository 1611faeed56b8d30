"""Celery task: sign checkpoints of the audit log."""

from celery import shared_task
from django.utils import timezone

from apps.transparency import checkpoints


@shared_task(name="audit.checkpoint", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def checkpoint(**_: object) -> None:
    """Sign the heads of the audit chains, if a checkpoint is due."""
    checkpoints.take_checkpoint(now=timezone.now())
