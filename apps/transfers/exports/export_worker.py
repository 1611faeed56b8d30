"""Export worker: each part is read, encrypted and appended to the file in one transaction.

If a worker is killed, the file keeps the finished parts and the next worker continues after them; the result is the
same, byte for byte.  Each attempt is counted before it starts, so that a part that kills every worker fails in the end.
A worker holds one part in memory.  At the end the file is read back once: this proves that it can be decrypted, and
yields the digest of what the recipient will read.
"""

import contextlib
import hashlib
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import F

from apps.adapters.errors import AdapterError
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Unavailable
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space, open_tenant
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope, sweep_each_tenant
from apps.transfers.exports import formats, people, reading
from apps.transfers.exports.files import NOTHING, drop_file, read_pieces
from apps.transfers.exports.jobs import ExportResult, open_filters, seal_result
from apps.transfers.exports.reading import ExportPart
from apps.transfers.jobs import delete_ended, scope_of
from apps.transfers.models.exports import PAYLOAD, ExportChunk, ExportJob, ExportReach, ExportStatus, Format
from apps.transfers.models.jobs import OPEN

logger = logging.getLogger(__name__)

PIECE_BYTES: Final = 128 * 1024
MOST_ATTEMPTS: Final = 5


class FileIncomplete(Exception):
    """A piece of the file is missing."""


class ExportOutcome(Enum):
    """more: there is work left.  written: all parts are in the file.  busy: another worker has the job, or a later
    retry is due.  over: the job has ended, or is deleted."""

    MORE = auto()
    WRITTEN = auto()
    BUSY = auto()
    OVER = auto()


def work(tenant_id: int, job_id: int, *, seconds: float, clock: Callable[[], datetime]) -> ExportOutcome:
    """Export until the time is over.  Raises errors that mean that the database or the keys cannot be reached."""
    scope = find_system_scope(tenant_id)
    if scope is None:
        return ExportOutcome.OVER
    deadline = time.monotonic() + seconds
    while True:
        outcome = _count_attempt(scope, job_id, now=clock())
        if outcome != ExportOutcome.MORE:
            return outcome
        try:
            outcome = retried(export_part)(scope, job_id, now=clock())
            if outcome == ExportOutcome.WRITTEN:
                outcome = retried(finish)(scope, job_id, now=clock())
        except (DecryptError, FileIncomplete):
            outcome = _note_failure(scope, job_id, "unreadable", now=clock())
        except (OperationalError, InterfaceError, AdapterError, Unavailable):
            # The infrastructure failed, not the part: it is retried without limit.
            with contextlib.suppress(OperationalError, InterfaceError):
                _forgive_attempt(scope, job_id)
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is: no job stays open for ever)
            logger.warning("a part failed", extra={"job_id": job_id, "error": type(error).__name__})
            outcome = _note_failure(scope, job_id, "worker_failed", now=clock())
        if outcome != ExportOutcome.MORE or time.monotonic() > deadline:
            return outcome


def export_part(scope: Scope, job_id: int, *, now: datetime) -> ExportOutcome:
    """Append the next part to the job's file."""
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        jobs = ExportJob.objects.within(scope).filter(pk=job_id, status__in=OPEN)
        # Locked until the part is in the file: an erasure waits for this, and then finds the part there.
        job = jobs.select_for_update(no_key=True, skip_locked=True).first()
        if job is None:
            return ExportOutcome.BUSY if jobs.exists() else ExportOutcome.OVER
        part = _next_part(scope, job, cipher, now=now)
        lines = list(part.lines)
        if job.format == Format.CSV and job.chunks == 0:
            lines.insert(0, formats.csv_header())
        try:
            _write(scope, job, part, lines, cipher, now=now)
        except SpaceShredded:
            return ExportOutcome.BUSY  # the job itself is about to be deleted
        _move(job, part, now=now)
        return ExportOutcome.WRITTEN if part.is_last else ExportOutcome.MORE


def finish(scope: Scope, job_id: int, *, now: datetime) -> ExportOutcome:
    """Read the whole file back and complete the job.  Raises DecryptError if the file cannot be decrypted."""
    digest, size, count = hashlib.sha256(), 0, 0
    for piece in read_pieces(scope, job_id):
        digest.update(piece)
        size, count = size + len(piece), count + 1
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        jobs = ExportJob.objects.within(scope).filter(pk=job_id, status__in=OPEN)
        job = jobs.select_for_update(no_key=True).first()
        if job is None:
            return ExportOutcome.OVER
        if job.status == ExportStatus.PENDING:
            return ExportOutcome.MORE  # part of it was erased meanwhile: start over
        if job.chunks != count:
            raise FileIncomplete
        job.status, job.completed_at = ExportStatus.COMPLETED, now
        job.expires_at = now + timedelta(hours=settings.EXPORT_HOURS)
        seal_result(cipher, job, ExportResult(size_bytes=size, sha256=digest.hexdigest()))
        job.save(update_fields=["status", "completed_at", "expires_at", "filters_ct", "result_ct", "key_version"])
        _record(scope, job, AuditAction.EXPORT_END, job.status, now=now)
    return ExportOutcome.OVER


def sweep(*, now: datetime) -> None:
    """Delete expired files, and the rows of jobs that ended long ago."""

    def sweep_tenant(scope: Scope) -> None:
        with tenant_transaction(scope):
            due = ExportJob.objects.within(scope).filter(status=ExportStatus.COMPLETED, expires_at__lte=now)
            for job in due.order_by("pk").select_for_update(no_key=True, skip_locked=True):
                job.status, job.error, job.result_ct = ExportStatus.EXPIRED, "past_its_time", None
                job.save(update_fields=["status", "error", "result_ct"])
                drop_file(scope, [job.pk])
                _record(scope, job, AuditAction.EXPORT_EXPIRE, job.error, now=now)
        delete_ended(scope, ExportJob, kept_status=ExportStatus.COMPLETED, now=now)  # its file is there

    sweep_each_tenant(sweep_tenant, logger)


# --- one part -------------------------------------------------------------------------------------------------------


def _next_part(scope: Scope, job: ExportJob, cipher: SpaceCipher, *, now: datetime) -> ExportPart:
    if job.reach == ExportReach.PERSON:
        return people.next_of_person(scope, job, cipher, now=now)
    return reading.next_memories(scope_of(scope, job), job, open_filters(cipher, job), cipher, now=now)


def _write(
    scope: Scope, job: ExportJob, part: ExportPart, lines: list[bytes], cipher: SpaceCipher, *, now: datetime
) -> None:
    """Raises SpaceShredded."""
    space = part.space if part.lines else None  # a header has no space, and a shredded space cannot encrypt
    sealing = open_space(scope.tenant, space, writing=True) if space else cipher
    payloads = list(formats.pieces(lines, PIECE_BYTES))
    ids = reserve_ids(len(payloads), sequence="transfers_exportchunk_id_seq") if payloads else []
    ExportChunk.objects.bulk_create(
        scope,
        (
            ExportChunk(
                id=chunk_id,
                tenant_id=job.tenant_id,
                job_id=job.pk,
                space_id=space.id if space else None,
                number=number,
                first_id=min(part.memory_ids, default=None),
                last_id=max(part.memory_ids, default=None),
                memory_ids=sorted(set(part.memory_ids)),
                space_ids=list(part.space_ids),
                payload_ct=sealing.seal(PAYLOAD, chunk_id, payload),
                key_version=sealing.key_version,
                created_at=now,
            )
            for number, (chunk_id, payload) in enumerate(zip(ids, payloads, strict=True), start=job.chunks)
        ),
    )
    job.chunks += len(payloads)


def _move(job: ExportJob, part: ExportPart, *, now: datetime) -> None:
    if not part.is_last:  # the last part also has to be read back
        job.attempts = 0
    job.after_id, job.section = part.after_id, part.section
    job.scanned += part.scanned
    job.rows += len(part.lines)
    job.unreadable += part.unreadable
    job.status = ExportStatus.RUNNING
    job.started_at = job.started_at or now
    job.save(
        update_fields=["after_id", "section", "scanned", "rows", "unreadable", "status", "started_at", "chunks",
                       "attempts"]
    )  # fmt: skip


def _count_attempt(scope: Scope, job_id: int, *, now: datetime) -> ExportOutcome:
    """Count the attempt before it starts, because a killed worker cannot.  MORE if there is something to attempt."""
    with tenant_transaction(scope):
        jobs = ExportJob.objects.within(scope).filter(pk=job_id, status__in=OPEN)
        job = jobs.select_for_update(no_key=True, skip_locked=True).first()
        if job is None:
            return ExportOutcome.BUSY if jobs.exists() else ExportOutcome.OVER
        if job.attempts >= MOST_ATTEMPTS:
            return _fail(scope, job, "worker_failed", now=now)
        job.attempts += 1
        job.save(update_fields=["attempts"])
    return ExportOutcome.MORE


def _forgive_attempt(scope: Scope, job_id: int) -> None:
    with tenant_transaction(scope):
        jobs = ExportJob.objects.within(scope).filter(pk=job_id, status__in=OPEN, attempts__gt=0)
        jobs.update(attempts=F("attempts") - 1)


def _note_failure(scope: Scope, job_id: int, reason: str, *, now: datetime) -> ExportOutcome:
    """A part failed for an internal reason.  It is retried a few times; then the job fails, and its caller may retry
    it."""
    with tenant_transaction(scope):
        jobs = ExportJob.objects.within(scope).select_for_update(no_key=True)
        job = jobs.filter(pk=job_id, status__in=OPEN).first()
        if job is None:
            return ExportOutcome.OVER
        if job.attempts >= MOST_ATTEMPTS:
            return _fail(scope, job, reason, now=now)
        if reason == "unreadable":  # a damaged file stays damaged: start over
            drop_file(scope, [job.pk])
            begun = NOTHING | {"status": ExportStatus.PENDING, "attempts": job.attempts}
            ExportJob.objects.within(scope).filter(pk=job_id).update(**begun)
        return ExportOutcome.BUSY  # the periodic task queues it again later


def _fail(scope: Scope, job: ExportJob, reason: str, *, now: datetime) -> ExportOutcome:
    job.status, job.error, job.completed_at = ExportStatus.FAILED, reason, now
    job.save(update_fields=["status", "error", "completed_at"])
    drop_file(scope, [job.pk])
    _record(scope, job, AuditAction.EXPORT_END, job.status, now=now)
    return ExportOutcome.OVER


def _record(scope: Scope, job: ExportJob, action: AuditAction, reason: str, *, now: datetime) -> None:
    record(
        scope, actor=job.actor, action=action, target=f"export:{job.pk}", reason=str(reason), count=job.rows, now=now
    )
