"""Start, read and cancel imports."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.broker import notify
from apps.core.errors import NotFound
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import open_tenant
from apps.ingest.review import may_review
from apps.memories.spaces import get_or_create_end_user
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.transfers.imports.chunks import write_chunks
from apps.transfers.imports.import_worker import KIND
from apps.transfers.imports.jobs import Details, open_details, open_errors
from apps.transfers.imports.payload import ImportEmpty, batches, format_of, lines_of
from apps.transfers.imports.records import check_reference
from apps.transfers.imports.tasks import work
from apps.transfers.models.imports import ImportChunk, ImportJob, ImportStatus
from apps.transfers.models.jobs import OPEN


class ImportNotFound(NotFound):
    """Import not found."""

    code = "IMPORT_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A job as its tenant may see it.  errors: ``line`` and ``reason`` of the first hundred records refused."""

    job: ImportJob
    filename: str
    errors: Sequence[dict[str, Any]]

    @property
    def progress(self) -> float:
        """In percent; 100 exactly when the job is over, however it ended."""
        if not self.job.is_open:
            return 100.0
        return min(99.9, round(100 * self.job.processed_records / self.job.total_records, 1))


def start_import(
    scope: Scope,
    *,
    name: str,
    content: bytes,
    end_user: str | None,
    resume: bool = False,
    continue_on_error: bool = False,
    now: datetime,
) -> Import:
    """Store the records of a file encrypted and import them in the background.

    end_user: default for records that name none.  resume: every record must have a reference.  The records' own claims
    (such as pinned) are accepted if the caller may review.  Raises ImportUnreadable, ImportEmpty, ReferenceMissing or
    RecordTooLarge, and then stores nothing.
    """
    format_ = format_of(name)
    total = 0
    for line in lines_of(content, format_):  # validate the whole file first, so that a refused file creates no end user
        total += 1
        if resume:
            check_reference(line)
    if not total:
        raise ImportEmpty
    space = get_or_create_end_user(scope, end_user, now=now) if end_user is not None else None
    (job_id,) = reserve_ids(1, sequence="transfers_importjob_id_seq")
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        details = Details(filename=name, end_user=end_user, is_vouched=may_review(scope))
        job = ImportJob(
            id=job_id,
            tenant_id=scope.tenant_id,
            public_id=f"imp_{secrets.token_hex(12)}",
            environment=scope.environment,
            project_id=scope.project_id,
            space_id=space.id if space else None,
            actor=scope.principal.label,
            format=format_,
            resume=resume,
            continue_on_error=continue_on_error,
            details_ct=details.seal(cipher, job_id),
            key_version=cipher.key_version,
            total_records=total,
            created_at=now,
        )
        ImportJob.objects.bulk_create(scope, [job])
        write_chunks(scope, job, enumerate(batches(lines_of(content, format_))), cipher, now=now)
        enqueue(scope, KIND, [job_id], now=now)
        record(
            scope, actor=job.actor, action=AuditAction.IMPORT_CREATE, target=f"import:{job_id}", count=total, now=now
        )
        transaction.on_commit(partial(notify, work))
    return Import(job=job, filename=name, errors=[])


def get_import(scope: Scope, public_id: str) -> Import:
    """Raises ImportNotFound, also for imports of another tenant or environment."""
    with tenant_transaction(scope):
        return _opened(scope, _get(scope, public_id))


def list_imports(scope: Scope, *, status: str | None, limit: int) -> tuple[list[Import], int]:
    """The newest imports, and their total number.  limit: of the list."""
    with tenant_transaction(scope):
        jobs = _visible(scope)
        if status is not None:
            jobs = jobs.filter(status=status)
        return [_opened(scope, job) for job in jobs.order_by("-id")[:limit]], jobs.count()


def cancel_import(scope: Scope, public_id: str, *, now: datetime) -> Import:
    """Stop an import at once; one that has ended does not change.  Imported records stay.  Raises ImportNotFound."""
    with tenant_transaction(scope):
        job = _get(scope, public_id)
        mine = ImportJob.objects.within(scope).filter(pk=job.pk, status__in=OPEN)
        if mine.update(status=ImportStatus.CANCELLED, completed_at=now):
            # A worker that is importing one of them finds it deleted at the end, and rolls back.
            ImportChunk.objects.within(scope).filter(job_id=job.pk).delete()
            record(
                scope, actor=scope.principal.label, action=AuditAction.IMPORT_CANCEL, target=f"import:{job.pk}", now=now
            )
            job.refresh_from_db(from_queryset=ImportJob.objects.within(scope))
        return _opened(scope, job)


def _get(scope: Scope, public_id: str) -> ImportJob:
    job = _visible(scope).filter(public_id=public_id).first() if "\x00" not in public_id else None
    if job is None:
        raise ImportNotFound
    return job


def _visible(scope: Scope) -> ScopedQuerySet[ImportJob]:
    jobs = ImportJob.objects.within(scope).filter(environment=scope.environment)
    return jobs if scope.wall is None else jobs.filter(project_id=scope.wall)


def _opened(scope: Scope, job: ImportJob) -> Import:
    cipher = open_tenant(scope.tenant)
    return Import(job=job, filename=open_details(cipher, job).filename, errors=open_errors(cipher, job))
