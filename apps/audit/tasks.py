"""Whether anybody takes from a queue."""

from celery import shared_task

from apps.audit.models import OutboxEvent

OF_THE_DOCTOR = "doctor"  # kind of a row of the outbox that is of no tenant, and there to be taken out


@shared_task(name="audit.answer", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def answer(number: int, **_: object) -> None:
    """Take the doctor's row of that number out of the outbox."""
    OutboxEvent.objects.filter(kind=OF_THE_DOCTOR, tenant_id=0, subject_id=number).delete()
