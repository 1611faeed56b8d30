"""Celery tasks: the outbox."""

from celery import shared_task
from django.utils import timezone

from apps.core.broker import notify
from apps.outbox import handlers
from apps.outbox.models import OutboxEvent
from apps.outbox.relay import HARD_LIMIT, SOFT_LIMIT

OF_THE_DOCTOR = "doctor"  # kind of a row of the outbox that is of no tenant, and there to be taken out


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name="outbox.drain", ignore_result=True, soft_time_limit=SOFT_LIMIT, time_limit=HARD_LIMIT
)
def drain(**_: object) -> None:
    """Do due work until there is none; for a while, and then another task goes on."""
    if handlers.relay().work(clock=timezone.now):
        notify(drain)


@shared_task(name="outbox.answer", ignore_result=True)  # type: ignore[untyped-decorator]
def answer(number: int, **_: object) -> None:
    """Take the doctor's row of that number out of the outbox: a worker takes tasks from this queue."""
    OutboxEvent.objects.filter(kind=OF_THE_DOCTOR, tenant_id=0, subject_id=number).delete()
