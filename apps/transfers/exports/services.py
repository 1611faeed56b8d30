"""Start, read, cancel and retry exports."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.db.models import Max

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.broker import notify
from apps.core.errors import Conflict
from apps.core.locks import lock
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, open_tenant
from apps.memories.spaces import find_end_user, name_in_namespace
from apps.projects.models import Project
from apps.projects.scope import Scope, SpaceRef
from apps.transfers.exports import people
from apps.transfers.exports.files import NOTHING, drop_file
from apps.transfers.exports.filters import ExportFilters, check, matching
from apps.transfers.exports.jobs import (
    REASONS,
    ExportNotFound,
    ExportResult,
    open_filters,
    open_result,
    seal_filters,
)
from apps.transfers.exports.tasks import work
from apps.transfers.jobs import scope_of
from apps.transfers.models.exports import ExportJob, ExportReach, ExportStatus, Format
from apps.transfers.models.jobs import OPEN

MOST_OPEN: Final = 5  # per tenant and environment, because each may read everything


class TooManyExports(Conflict):
    """Five exports of this environment are in progress; wait for one to end, or cancel one."""

    code = "TOO_MANY_EXPORTS"


class ExportNotOver(Conflict):
    """This export is completed or in progress: only one that failed, was cancelled or has expired can be retried."""

    code = "EXPORT_NOT_OVER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A job as its tenant may see it.  project: the public id, if the export covers one project."""

    job: ExportJob
    filters: ExportFilters
    project: str | None
    result: ExportResult | None = None

    @property
    def progress(self) -> float:
        """In percent; 100 exactly when the job is over, however it ended."""
        if not self.job.is_open:
            return 100.0
        return min(99.9, round(100 * self.job.scanned / self.job.to_scan, 1)) if self.job.to_scan else 0.0

    @property
    def total(self) -> int | None:
        """Rows of the file; None while only decrypting each row could tell."""
        if self.filters.q is None and self.job.is_open:
            return self.job.to_scan
        return self.job.rows if self.job.status in (ExportStatus.COMPLETED, ExportStatus.EXPIRED) else None

    @property
    def problem(self) -> str | None:
        return REASONS.get(self.job.error)

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.job.public_id}.{self.job.format}"


def start_export(scope: Scope, *, format_: Format, reach: ExportReach, filters: ExportFilters, now: datetime) -> Export:
    """Export the memories of the scope's environment and project to a file, in the background.

    Covers every end user, unless a filter names one; an unknown end user gives an empty file.  Raises FiltersClash,
    TimeRangeMalformed, TooManyExports.
    """
    check(reach, filters)
    space = _named(scope, filters)
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        job = _new(scope, cipher, format_, reach, filters, now=now)
        job.space_id = space.id if space else None
        if filters.user_id is None or space is not None:
            rows = matching(scope, filters, space_id=job.space_id, asked_at=now, now=now)
            job.newest_id = rows.aggregate(newest=Max("pk"))["newest"] or 0
            job.to_scan = rows.count()
        _check_open(scope)
        _begin(scope, job, now=now)
        return Export(job=job, filters=filters, project=_projects(scope).get(job.project_id))


def _named(scope: Scope, filters: ExportFilters) -> SpaceRef | None:
    if filters.user_id is None:
        return None
    is_plain = filters.namespace is None
    return find_end_user(
        scope, filters.user_id if is_plain else name_in_namespace(scope, filters.namespace or "", filters.user_id)
    )


def start_for_person(scope: Scope, end_user_id: int, privacy_request_id: int, *, now: datetime) -> ExportJob:
    """Export everything stored about an end user, in the background.  A running or finished export of the same request
    is reused."""
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        lock("export of a person", scope.tenant_id)  # two concurrent calls get the same job
        mine = ExportJob.objects.within(scope).filter(privacy_request_id=privacy_request_id)
        there = (
            mine.filter(status__in=(*OPEN, ExportStatus.COMPLETED)).exclude(expires_at__lte=now).order_by("-pk").first()
        )
        if there is not None:
            return there
        job = _new(scope, cipher, Format.JSONL, ExportReach.PERSON, ExportFilters(), now=now)
        job.project_id, job.end_user_id, job.privacy_request_id = None, end_user_id, privacy_request_id
        job.to_scan = people.count(scope, people.spaces_of(scope, end_user_id))
        _begin(scope, job, now=now)
    return job


def find_for_requests(scope: Scope, privacy_request_ids: Sequence[int]) -> dict[int | None, Export]:
    """The newest export for each of these privacy requests, if there is one."""
    with tenant_transaction(scope):
        mine = ExportJob.objects.within(scope).filter(privacy_request_id__in=privacy_request_ids)
        jobs = list(mine.order_by("privacy_request_id", "-pk").distinct("privacy_request_id"))
        if not jobs:
            return {}
        cipher = open_tenant(scope.tenant)
        return {job.privacy_request_id: _seen(job, cipher, {}) for job in jobs}


def list_exports(scope: Scope, *, limit: int, before: int | None = None) -> tuple[list[Export], int]:
    """The newest exports of the scope's environment, and their total number.  limit: of the list.  before: the id of a
    job; only older ones are listed."""
    with tenant_transaction(scope):
        jobs = _visible(scope)
        listed = jobs if before is None else jobs.filter(pk__lt=before)
        cipher, projects = open_tenant(scope.tenant), _projects(scope)
        return [_seen(job, cipher, projects) for job in listed.order_by("-pk")[:limit]], jobs.count()


def get_export(scope: Scope, public_id: str) -> Export:
    """Raises ExportNotFound, also for exports of another tenant or environment."""
    with tenant_transaction(scope):
        return _seen(get_job(scope, public_id), open_tenant(scope.tenant), _projects(scope))


def cancel_export(scope: Scope, public_id: str, *, now: datetime) -> Export:
    """Stop before the next part and delete the partial file.  A job that has ended does not change.

    Raises ExportNotFound.
    """
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant)
        job = get_job(scope, public_id, locked=True)
        if job.is_open:
            job.status, job.completed_at = ExportStatus.CANCELLED, now
            job.save(update_fields=["status", "completed_at"])
            drop_file(scope, [job.pk])
            _record(scope, job, AuditAction.EXPORT_CANCEL, now=now)
        return _seen(job, cipher, _projects(scope))


def retry_export(scope: Scope, public_id: str, *, now: datetime) -> Export:
    """Run a failed, cancelled or expired job again, with the current memories.

    Raises ExportNotFound, ExportNotOver, TooManyExports.
    """
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        job = get_job(scope, public_id, locked=True)
        if job.status not in (ExportStatus.FAILED, ExportStatus.CANCELLED, ExportStatus.EXPIRED):
            raise ExportNotOver
        filters = open_filters(cipher, job)
        own = scope_of(scope, job)
        for name, value in NOTHING.items():
            setattr(job, name, value)
        job.status, job.started_at, job.actor = ExportStatus.PENDING, None, scope.principal.label
        job.retries += 1
        if filters.user_id is None or job.space_id is not None:
            rows = matching(own, filters, space_id=job.space_id, asked_at=job.created_at, now=now)
            job.newest_id = rows.aggregate(newest=Max("pk"))["newest"] or 0
            job.to_scan = rows.count()
        _check_open(scope)
        job.save()
        _record(scope, job, AuditAction.EXPORT_RETRY, now=now)
        transaction.on_commit(partial(notify, work, tenant_id=scope.tenant_id, job_id=job.pk))
        return _seen(job, cipher, _projects(scope))


def get_job(scope: Scope, public_id: str, *, locked: bool = False) -> ExportJob:
    """Inside the tenant's transaction.  Raises ExportNotFound."""
    jobs = _visible(scope)
    if locked:
        jobs = jobs.select_for_update(no_key=True)
    job = jobs.filter(public_id=public_id).first() if "\x00" not in public_id else None
    if job is None:
        raise ExportNotFound
    return job


def _visible(scope: Scope) -> ScopedQuerySet[ExportJob]:
    jobs = _of_environment(scope)
    return jobs if scope.wall is None else jobs.filter(project_id=scope.wall)


def _of_environment(scope: Scope) -> ScopedQuerySet[ExportJob]:
    """Jobs of the environment, without those for privacy requests, which only users of the tenant handle."""
    return ExportJob.objects.within(scope).filter(environment=scope.environment).exclude(reach=ExportReach.PERSON)


def _new(
    scope: Scope, cipher: SpaceCipher, format_: Format, reach: ExportReach, filters: ExportFilters, *, now: datetime
) -> ExportJob:
    (job_id,) = reserve_ids(1, sequence="transfers_exportjob_id_seq")
    return ExportJob(
        id=job_id,
        tenant_id=scope.tenant_id,
        public_id=f"exp_{secrets.token_hex(12)}",
        environment=scope.environment,
        project_id=scope.project_id,
        actor=scope.principal.label,
        format=format_,
        reach=reach,
        filters_ct=seal_filters(cipher, job_id, filters),
        key_version=cipher.key_version,
        created_at=now,
    )


def _begin(scope: Scope, job: ExportJob, *, now: datetime) -> None:
    ExportJob.objects.bulk_create(scope, [job])
    _record(scope, job, AuditAction.EXPORT_CREATE, now=now)
    transaction.on_commit(partial(notify, work, tenant_id=scope.tenant_id, job_id=job.pk))


def _check_open(scope: Scope) -> None:
    """Raises TooManyExports."""
    if _of_environment(scope).filter(status__in=OPEN).count() >= MOST_OPEN:
        raise TooManyExports


def _projects(scope: Scope) -> Mapping[int | None, str]:
    rows: Any = Project.objects.within(scope).values_list("pk", "public_id")
    return dict(rows)


def _seen(job: ExportJob, cipher: SpaceCipher, projects: Mapping[int | None, str]) -> Export:
    return Export(
        job=job,
        filters=open_filters(cipher, job),
        project=projects.get(job.project_id),
        result=open_result(cipher, job),
    )


def _record(scope: Scope, job: ExportJob, action: AuditAction, *, now: datetime) -> None:
    record(
        scope,
        actor=scope.principal.label,
        action=action,
        target=f"export:{job.pk}",
        reason=str(job.reach),
        count=job.to_scan,
        now=now,
    )
