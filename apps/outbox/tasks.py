"""Celery tasks of the outbox."""

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.outbox import handlers
from apps.outbox.handlers import OF_THE_DOCTOR
from apps.outbox.models import OutboxEvent
from apps.outbox.relay import HARD_LIMIT, SOFT_LIMIT


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="outbox.drain", ignore_result=True, soft_time_limit=SOFT_LIMIT, time_limit=HARD_LIMIT
)
def drain(**_: object) -> None:
    """Do due work for a while; if there may be more, notify another task."""
    if handlers.relay().work(clock=timezone.now):
        notify(drain)


@shared_task(name="outbox.answer", ignore_result=True)  # type: ignore[untyped-decorator]
def answer(number: int, **_: object) -> None:
    """Delete the doctor's row with this number: this proves that a worker takes tasks from the queue."""
    OutboxEvent.objects.filter(kind=OF_THE_DOCTOR, tenant_id=0, subject_id=number).delete()
