"""A person's requests about all that is kept of them: to see it, to take it along, to have it deleted.

A program may open one; somebody of the tenant, who has just shown who they are, carries it out.  There is a deadline,
and what is past it says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson
from django.conf import settings
from django.db.models import Q

from apps.audit.services import record
from apps.core.errors import Conflict, DomainError, NotFound
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.memories.exporting import Exported, export_batches
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind
from apps.retention.erasing import Authorisation, Target, start_erasure
from apps.retention.models import PrivacyRequest
from apps.retention.requests import PersonNeeded
from apps.retention.states import PrivacyKind, PrivacyState


class PrivacyRequestNotFound(NotFound):
    """There is no such request of this person."""

    code = "PRIVACY_REQUEST_NOT_FOUND"


class PrivacyRequestDone(Conflict):
    """This request was carried out, or is one of another kind."""

    code = "PRIVACY_REQUEST_DONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as its tenant may see it.  is_overdue: past its deadline, and not completed."""

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


def open_request(scope: Scope, kind: PrivacyKind, *, now: datetime) -> tuple[Asked, bool]:
    """The request of the scope's one end user, and whether it is new: one that is open is not opened again.

    Raises PrivacyRequestNotFound for somebody of whom nothing is kept.
    """
    if not scope.spaces or scope.space.kind != SpaceKind.END_USER:
        raise PrivacyRequestNotFound
    with tenant_transaction(scope):
        fresh = PrivacyRequest(
            tenant_id=scope.tenant_id,
            end_user_id=scope.space.owner_id,
            kind=kind,
            requested_by=scope.principal.label,
            created_at=now,
            due_at=now + timedelta(days=settings.PRIVACY_DAYS),
        )
        # Two who ask at once get the same one.
        PrivacyRequest.everyone.bulk_create([fresh], ignore_conflicts=True)
        there = PrivacyRequest.objects.within(scope).filter(end_user_id=scope.space.owner_id, kind=kind)
        row = there.exclude(state=PrivacyState.COMPLETED).get()
        is_new = row.created_at == now and row.attempts == 0
        if is_new:
            _record(scope, row, "privacy.request", now=now)
    return _asked(row, now=now), is_new


def list_requests(
    scope: Scope, *, end_user_id: int | None = None, overdue: bool = False, limit: int = 100, now: datetime
) -> list[Asked]:
    """Newest first.  end_user_id: of this person only.  overdue: only those past their deadline."""
    with tenant_transaction(scope):
        rows = PrivacyRequest.objects.within(scope)
        if end_user_id is not None:
            rows = rows.filter(end_user_id=end_user_id)
        if overdue:
            rows = rows.filter(~Q(state=PrivacyState.COMPLETED), due_at__lt=now)
        return [_asked(row, now=now) for row in rows.order_by("-pk")[:limit]]


def delete_person(scope: Scope, request_id: int, *, authorised: Authorisation, now: datetime) -> Asked:
    """Carry out a request to delete: erase the person in every environment.  scope: of somebody inside the tenant.

    Fails with what forbids the erasure, and may then be tried again.  Raises PersonNeeded, PrivacyRequestNotFound,
    PrivacyRequestDone; what ``start_erasure`` raises.
    """
    row = _begin(scope, request_id, [PrivacyKind.DELETE], now=now)
    try:
        done = start_erasure(
            scope, Target.end_user(row.end_user_id), authorised=authorised, request_id=f"privacy:{row.pk}", now=now
        )
    except DomainError as error:
        _fail(scope, row, error, now=now)
        raise
    receipts = [one.id for one in done.receipts]
    return _complete(scope, row, records=done.counts.get("memories", 0), evidence=receipts, now=now)


def hand_over(scope: Scope, request_id: int, *, now: datetime) -> Iterator[Plaintext]:
    """Carry out a request for access or export: a line of JSON for each memory of the person, in every environment.

    Nothing of it is kept.  Completed when the last line was taken.  Raises PersonNeeded, PrivacyRequestNotFound,
    PrivacyRequestDone.
    """
    row = _begin(scope, request_id, [PrivacyKind.ACCESS, PrivacyKind.EXPORT], now=now)
    return _lines(scope, row, now=now)


def _lines(scope: Scope, row: PrivacyRequest, *, now: datetime) -> Iterator[Plaintext]:
    records = 0
    try:
        for space in _spaces(scope, row.end_user_id):
            inside = replace(scope, environment=space.ref.environment).in_spaces(space.ref)
            for batch in export_batches(inside, now=now):
                for one in batch.memories:
                    records += 1
                    yield _line(one, space.environment)
    except DomainError as error:
        _fail(scope, row, error, now=now)
        raise
    _complete(scope, row, records=records, evidence=[], now=now)


def _line(one: Exported, environment: str) -> Plaintext:
    memory = one.memory
    said = {
        "id": memory.id,
        "environment": environment,
        "type": memory.type,
        "text": memory.text.reveal(),
        "created_at": memory.created_at,
        "validity": memory.validity,
        "retention_status": memory.retention_status,
    }
    return Plaintext(orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_SUBCLASS).decode())


def _spaces(scope: Scope, end_user_id: int) -> list[Space]:
    with tenant_transaction(scope):
        mine = Space.objects.within(scope).filter(kind=SpaceKind.END_USER, owner_id=end_user_id)
        return list(mine.order_by("pk"))


def _begin(scope: Scope, request_id: int, kinds: Sequence[PrivacyKind], *, now: datetime) -> PrivacyRequest:
    """The request, in progress.  One that somebody began and did not finish is taken up."""
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
        _record(scope, row, "privacy.begin", now=now)
    return row


def _complete(scope: Scope, row: PrivacyRequest, *, records: int, evidence: Sequence[str], now: datetime) -> Asked:
    row.state, row.completed_at, row.records, row.evidence = PrivacyState.COMPLETED, now, records, list(evidence)
    with tenant_transaction(scope):
        row.save(update_fields=["state", "completed_at", "records", "evidence"])
        _record(scope, row, "privacy.complete", now=now)
    return _asked(row, now=now)


def _fail(scope: Scope, row: PrivacyRequest, error: DomainError, *, now: datetime) -> None:
    row.state, row.error = PrivacyState.FAILED, error.code
    with tenant_transaction(scope):
        row.save(update_fields=["state", "error"])
        _record(scope, row, "privacy.fail", now=now)


def _record(scope: Scope, row: PrivacyRequest, action: str, *, now: datetime) -> None:
    record(
        scope,
        actor=scope.principal.label,
        action=action,
        target=f"privacy:{row.pk}",
        reason=row.error or str(row.kind),
        count=row.records or 0,
        now=now,
    )


def _asked(row: PrivacyRequest, *, now: datetime) -> Asked:
    return Asked(
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
