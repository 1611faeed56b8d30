"""Making a file in the process that asks for it: for commands, which hand it over immediately."""

import time
from datetime import datetime
from typing import Final

from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.transfers.exports import export_worker
from apps.transfers.exports.export_worker import ExportOutcome
from apps.transfers.exports.links import Download, ExportNotReady, download_of
from apps.transfers.models.exports import ExportJob, ExportStatus

PAUSE: Final = 0.2  # seconds, where a worker is at it


def make_now(scope: Scope, job_id: int, *, now: datetime) -> Download:
    """The file of this job, once it is there.  Raises ExportNotReady where it could not be made."""
    while (
        outcome := export_worker.work(scope.tenant_id, job_id, seconds=60.0, clock=lambda: now)
    ) != ExportOutcome.OVER:
        if outcome == ExportOutcome.BUSY:
            time.sleep(PAUSE)
    with tenant_transaction(scope):
        job = ExportJob.objects.within(scope).filter(pk=job_id, status=ExportStatus.COMPLETED).first()
    if job is None:
        raise ExportNotReady
    return download_of(scope, job)
