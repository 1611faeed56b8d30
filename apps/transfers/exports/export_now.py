"""Run an export in the calling process, for commands that need the file immediately."""

import time
from datetime import datetime
from typing import Final

from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.transfers.exports import export_worker
from apps.transfers.exports.export_worker import ExportOutcome
from apps.transfers.exports.links import Download, ExportNotReady, download_of
from apps.transfers.models.exports import ExportJob, ExportStatus

PAUSE: Final = 0.2  # seconds between attempts while another worker has the job


def make_now(scope: Scope, job_id: int, *, now: datetime) -> Download:
    """Run the job and return its file.  Raises ExportNotReady if the export ended without one."""
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
