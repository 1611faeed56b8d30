"""Celery tasks of exports.  Messages carry ids; the state is in the rows."""

from celery import shared_task
from django.utils import timezone

from apps.core.slices import SLICE_SECONDS
from apps.projects.system import open_jobs
from apps.transfers.exports import export_worker
from apps.transfers.models import ExportJob
from apps.transfers.models.jobs import OPEN


@shared_task(name="exports.work", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def work(tenant_id: int, job_id: int, **_: object) -> None:
    """Work on an export for a while, and queue the task again if it is not finished."""
    outcome = export_worker.work(tenant_id, job_id, seconds=SLICE_SECONDS, clock=timezone.now)
    if outcome == export_worker.ExportOutcome.MORE:
        work.apply_async(kwargs={"tenant_id": tenant_id, "job_id": job_id})


@shared_task(name="exports.tend", ignore_result=True)  # type: ignore[untyped-decorator]
def tend(**_: object) -> None:
    """Queue tasks for exports without a worker, such as those of a killed worker; delete expired files."""
    for tenant_id, job_id in open_jobs(ExportJob.objects, OPEN):
        work.apply_async(kwargs={"tenant_id": tenant_id, "job_id": job_id})
    export_worker.sweep(now=timezone.now())
