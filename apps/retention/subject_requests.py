"""Privacy requests: an end user asks to access, export or delete all data stored about them.

A program may open a request; a member of the tenant with fresh authentication carries it out.  Each request has a
deadline and is marked as overdue after it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, DomainError, NotFound
from apps.core.scoping import tenant_transaction
from apps.erasure.selectors import Erased
from apps.erasure.targets import ErasureTargetNotFound, Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.projects.scope import Scope, SpaceKind
from apps.retention.models import ForgetRequest, PrivacyRequest
from apps.retention.requests import TABLE, PersonNeeded
from apps.retention.states import PrivacyKind, PrivacyState
from apps.transfers.exports.export_now import make_now
from apps.transfers.exports.links import DownloadLink, issue_for_request
from apps.transfers.exports.people import Section
from apps.transfers.exports.services import Export, find_for_requests, start_for_person

# This app's section of the file with all data of an end user.
FORGET_REQUESTS: Final = Section(
    kind="forget_request",
    model=ForgetRequest,
    plain=("state", "requested_by", "expires_at", "decided_at", "decided_by", "forgotten", "created_at"),
    table=TABLE,
)
HANDED_OVER: Final = (PrivacyKind.ACCESS, PrivacyKind.EXPORT)


class PrivacyRequestNotFound(NotFound):
    """This end user has no such request."""

    code = "PRIVACY_REQUEST_NOT_FOUND"


class PrivacyRequestDone(Conflict):
    """This request was carried out already, or is of another kind."""

    code = "PRIVACY_REQUEST_DONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRequestInfo:
    """A request as its tenant may see it.  is_overdue: past its deadline and not completed."""

    id: int
    end_user_id: int
    kind: PrivacyKind
    state: PrivacyState
    requested_by: str
    created_at: datetime
    due_at: datetime
    is_overdue: bool
    completed_at: datetime | None
    handled_by: str
    attempts: int
    error: str
    records: int | None
    evidence: Sequence[str]


def open_request(scope: Scope, kind: PrivacyKind, *, now: datetime) -> tuple[SubjectRequestInfo, bool]:
    """Open a request for the scope's end user.  Return it, or the one that is already open, and whether it is new.

    Raises PrivacyRequestNotFound for an end user without stored data.
    """
    if not scope.spaces or scope.space.kind != SpaceKind.END_USER:
        raise PrivacyRequestNotFound
    with tenant_transaction(scope):
        fresh = PrivacyRequest(
            end_user_id=scope.space.owner_id,
            kind=kind,
            requested_by=scope.principal.label,
            created_at=now,
            due_at=now + timedelta(days=settings.PRIVACY_DAYS),
        )
        # Two concurrent requests get the same one.
        PrivacyRequest.objects.bulk_create(scope, [fresh], ignore_conflicts=True)
        there = PrivacyRequest.objects.within(scope).filter(end_user_id=scope.space.owner_id, kind=kind)
        row = there.exclude(state=PrivacyState.COMPLETED).get()
        is_new = row.created_at == now and row.attempts == 0
        if is_new:
            _record(scope, row, AuditAction.PRIVACY_REQUEST, now=now)
    return _asked(row, now=now), is_new


def list_requests(
    scope: Scope, *, end_user_id: int | None = None, overdue: bool = False, limit: int = 100, now: datetime
) -> list[SubjectRequestInfo]:
    """Return requests, newest first.  end_user_id: only this end user's.  overdue: only those past their deadline."""
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope)
        if end_user_id is not None:
            rows = rows.filter(end_user_id=end_user_id)
        if overdue:
            rows = rows.filter(~Q(state=PrivacyState.COMPLETED), due_at__lt=now)
        return [_asked(row, now=now) for row in rows.order_by("-pk")[:limit]]


def get_request(scope: Scope, request_id: int, *, now: datetime) -> SubjectRequestInfo:
    """Return a request of the tenant.  Raises PrivacyRequestNotFound."""
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope)
        row = rows.filter(pk=request_id).first() if 0 < request_id < 2**63 else None
    if row is None:
        raise PrivacyRequestNotFound
    return _asked(row, now=now)


def delete_person(scope: Scope, request_id: int, *, authorised: Authorisation, now: datetime) -> SubjectRequestInfo:
    """Carry out a deletion request: erase the end user in every environment.  scope: a user's, in the tenant.

    For an end user who was erased before, the request is completed.  If the erasure is refused, the request fails and
    may be retried.  Raises PersonNeeded, PrivacyRequestNotFound, PrivacyRequestDone, and as ``start_erasure`` does.
    """
    row = _begin(scope, request_id, [PrivacyKind.DELETE], now=now)
    try:
        done = start_erasure(
            scope, Target.end_user(row.end_user_id), authorised=authorised, request_id=f"privacy:{row.pk}", now=now
        )
    except ErasureTargetNotFound:
        return _complete(scope, row, records=0, evidence=[], now=now)
    except DomainError as error:
        _fail(scope, row, error, now=now)
        raise
    return _complete_erased(scope, row, done, now=now)


def note_erased(scope: Scope, done: Erased, *, now: datetime) -> None:
    """Complete the open deletion request of an end user whom this erasure erased; other erasures change nothing."""
    if "end_user" not in done.target:
        return
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope).select_for_update(no_key=True)
        rows = rows.filter(end_user_id=done.target["end_user"], kind=PrivacyKind.DELETE)
        row = rows.exclude(state=PrivacyState.COMPLETED).first()
        if row is not None:
            row.handled_by, row.error = scope.principal.label, ""
            row.save(update_fields=["handled_by", "error"])
            _complete_erased(scope, row, done, now=now)


def prepare_file(scope: Scope, request_id: int, *, now: datetime) -> SubjectRequestInfo:
    """Begin an access or export request: a background job creates the file with all data of the end user.

    A file that is being created or still exists is not created again.  Raises PersonNeeded, PrivacyRequestNotFound,
    PrivacyRequestDone.
    """
    row = _begin(scope, request_id, HANDED_OVER, now=now)
    start_for_person(scope, row.end_user_id, row.pk, now=now)
    return _asked(row, now=now)


def files_of(scope: Scope, asked: Sequence[SubjectRequestInfo]) -> Mapping[int | None, Export]:
    """Return the export of each request that was begun, by request id."""
    return find_for_requests(scope, [one.id for one in asked if one.kind in HANDED_OVER])


def link_to_file(scope: Scope, request_id: int, *, now: datetime) -> DownloadLink:
    """Return a link to the file of a request that was begun.  Anyone with the link can download the file once.

    Raises PersonNeeded, PrivacyRequestNotFound, ExportNotReady.
    """
    if scope.principal.kind == "api_key":
        raise PersonNeeded
    return issue_for_request(scope, request_id, now=now)


def hand_over(scope: Scope, request_id: int, *, now: datetime) -> Iterator[bytes]:
    """Carry out an access or export request in this process: create the file and yield its pieces.

    The request is completed after the last piece.  Raises PersonNeeded, PrivacyRequestNotFound, PrivacyRequestDone,
    and ExportNotReady if the file could not be created.
    """
    row = _begin(scope, request_id, HANDED_OVER, now=now)
    job = start_for_person(scope, row.end_user_id, row.pk, now=now)
    return _pieces(scope, row, job.pk, now=now)


def note_taken(scope: Scope, request_id: int, *, now: datetime) -> None:
    """Complete a request after its whole file was downloaded.  Later downloads change nothing."""
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope).select_for_update(no_key=True)
        row = rows.filter(pk=request_id, state=PrivacyState.IN_PROGRESS).first()
        if row is not None:
            export = find_for_requests(scope, [request_id]).get(request_id)
            _complete(scope, row, records=export.job.rows if export else 0, evidence=[], now=now)


def _pieces(scope: Scope, row: PrivacyRequest, job_id: int, *, now: datetime) -> Iterator[bytes]:
    try:
        file = make_now(scope, job_id, now=now)
    except DomainError as error:
        _fail(scope, row, error, now=now)
        raise
    yield from file.pieces
    note_taken(scope, row.pk, now=now)


def _begin(scope: Scope, request_id: int, kinds: Sequence[PrivacyKind], *, now: datetime) -> PrivacyRequest:
    """Set a request to in progress and return it.  An unfinished request is resumed."""
    if scope.principal.kind == "api_key":
        raise PersonNeeded
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope).select_for_update(no_key=True)
        row = rows.filter(pk=request_id).first() if 0 < request_id < 2**63 else None
        if row is None:
            raise PrivacyRequestNotFound
        if row.state == PrivacyState.COMPLETED or row.kind not in kinds:
            raise PrivacyRequestDone
        row.state, row.started_at, row.handled_by = PrivacyState.IN_PROGRESS, now, scope.principal.label
        row.attempts, row.error = row.attempts + 1, ""
        row.save(update_fields=["state", "started_at", "handled_by", "attempts", "error"])
        _record(scope, row, AuditAction.PRIVACY_BEGIN, now=now)
    return row


def _complete_erased(scope: Scope, row: PrivacyRequest, done: Erased, *, now: datetime) -> SubjectRequestInfo:
    receipts = [one.id for one in done.receipts]
    return _complete(scope, row, records=done.counts.get("memories", 0), evidence=receipts, now=now)


def _complete(
    scope: Scope, row: PrivacyRequest, *, records: int, evidence: Sequence[str], now: datetime
) -> SubjectRequestInfo:
    row.state, row.completed_at, row.records, row.evidence = PrivacyState.COMPLETED, now, records, list(evidence)
    with tenant_transaction(scope):
        row.save(update_fields=["state", "completed_at", "records", "evidence"])
        _record(scope, row, AuditAction.PRIVACY_COMPLETE, now=now)
    return _asked(row, now=now)


def _fail(scope: Scope, row: PrivacyRequest, error: DomainError, *, now: datetime) -> None:
    row.state, row.error = PrivacyState.FAILED, error.code
    with tenant_transaction(scope):
        row.save(update_fields=["state", "error"])
        _record(scope, row, AuditAction.PRIVACY_FAIL, now=now)


def _record(scope: Scope, row: PrivacyRequest, action: AuditAction, *, now: datetime) -> None:
    record(
        scope,
        actor=scope.principal.label,
        action=action,
        target=f"privacy:{row.pk}",
        reason=row.error or str(row.kind),
        count=row.records or 0,
        now=now,
    )


def _asked(row: PrivacyRequest, *, now: datetime) -> SubjectRequestInfo:
    return SubjectRequestInfo(
        id=row.pk,
        end_user_id=row.end_user_id,
        kind=PrivacyKind(row.kind),
        state=PrivacyState(row.state),
        requested_by=row.requested_by,
        created_at=row.created_at,
        due_at=row.due_at,
        is_overdue=row.state != PrivacyState.COMPLETED and row.due_at < now,
        completed_at=row.completed_at,
        handled_by=row.handled_by,
        attempts=row.attempts,
        error=row.error,
        records=row.records,
        evidence=row.evidence,
    )
