"""Celery tasks of connectors.  Messages carry ids only."""

from celery import shared_task
from django.utils import timezone

from apps.connectors import runs


@shared_task(name="connectors.tend", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def tend(**_: object) -> None:
    """Queue a run of each connector that is due."""
    for tenant_id, connector_id in runs.due_connectors(now=timezone.now()):
        run.apply_async(kwargs={"tenant_id": tenant_id, "connector_id": connector_id})


@shared_task(  # type: ignore[untyped-decorator]
    name="connectors.run", ignore_result=True, soft_time_limit=runs.SOFT_LIMIT, time_limit=runs.HARD_LIMIT
)
def run(tenant_id: int, connector_id: int, **_: object) -> None:
    """Run a connector, unless another worker does."""
    runs.run(tenant_id, connector_id, clock=timezone.now)
