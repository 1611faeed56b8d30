"""Forget requests: a program asks to forget or to erase memories, and a user decides."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import orjson
from django.db.models import Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden, NotFound
from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity
from apps.memories.spaces import lock_space
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.retention.memory_selection import MemorySelection, NothingChosen, soft_delete_with_branches
from apps.retention.models import CHOICE, REASON, TARGET, ForgetRequest
from apps.retention.states import RequestState

TABLE: Final = "forget_request"
STANDS: Final = timedelta(days=14)  # after this, a request can no longer be confirmed
MOST_PENDING: Final = 100  # per end user


class ForgetRequestNotFound(NotFound):
    """There is no such request."""

    code = "FORGET_REQUEST_NOT_FOUND"


class ForgetRequestDecided(Conflict):
    """This request was decided already, or has expired."""

    code = "FORGET_REQUEST_DECIDED"


class TooManyRequests(Conflict):
    """This end user has a hundred pending requests; a person must decide some of them first."""

    code = "TOO_MANY_FORGET_REQUESTS"


class PersonNeeded(Forbidden):
    """Only a person may decide about a request to forget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRequest:
    """A decrypted request, as its tenant may read it.  forgotten: number of memories deleted on confirmation.

    target: what the program named, of a request to erase.  The other fields from there on are those of the row.
    """

    id: int
    state: RequestState
    choice: MemorySelection
    reason: Plaintext | None
    requested_by: str
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str
    forgotten: int | None
    erases: bool = False
    target: Mapping[str, Any] = field(default_factory=dict)
    erase_at: datetime | None = None
    blocked_by: Sequence[str] = ()
    erasure_uid: uuid.UUID | None = None
    erased_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequestPage:
    """A page of requests, newest first.  Requests that do not decrypt are left out.  total: number on all pages."""

    requests: Sequence[OpenedRequest] = ()
    total: int = 0


def ask(
    scope: Scope,
    choice: MemorySelection,
    *,
    reason: Plaintext | None = None,
    erases: Mapping[str, Any] | None = None,
    now: datetime,
) -> tuple[OpenedRequest, bool]:
    """Create a request.  Return it and True, or a pending request with the same selection and False.

    scope: with one space.  erases: of a request to erase, what the program named; it may be of turns alone.  Raises
    NothingChosen, TooManyRequests, SpaceShredded.
    """
    if choice.is_empty and not (erases or {}).get("turns"):
        raise NothingChosen
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        waiting = list(_own(scope).filter(state=RequestState.PENDING, expires_at__gt=now).order_by("pk"))
        for row in waiting:
            there = _open(scope, row, cipher, now=now)
            if there is not None and (there.choice, there.target) == (choice, erases or {}):
                return there, False
        if len(waiting) >= MOST_PENDING:
            raise TooManyRequests
        row = _new(scope, space, choice, reason, erases, cipher, now=now)
        row.save(force_insert=True)
        record_decision(scope, AuditAction.FORGET_REQUEST_ASK, row, now=now)
    return _opened(row, choice, reason, erases or {}, now=now), True


def list_requests(
    scope: Scope,
    *,
    state: RequestState | None = None,
    erasing: bool = False,
    limit: int,
    offset: int = 0,
    now: datetime,
) -> ForgetRequestPage:
    """Return a page of the requests about the scope's one end user.  erasing: only those to erase."""
    if not scope.spaces:
        return ForgetRequestPage()
    with tenant_transaction(scope):
        rows = _own(scope)
        if erasing:
            rows = rows.filter(erases=True)
        if state is not None:
            rows = rows.filter(_in_state(state, now))
        total = rows.count()
        page = list(rows.order_by("-pk")[offset : offset + limit])
    cipher = open_space(scope.tenant, scope.space)
    opened = [one for row in page if (one := _open(scope, row, cipher, now=now)) is not None]
    return ForgetRequestPage(requests=opened, total=total)


def get_request(scope: Scope, request_id: int, *, now: datetime) -> OpenedRequest:
    """Return one request about the scope's end user.  Raises ForgetRequestNotFound, DecryptError."""
    return _get(scope, Q(pk=_checked(request_id)), now=now)


def get_erasing(scope: Scope, erasure_uid: uuid.UUID, *, now: datetime) -> OpenedRequest:
    """As ``get_request``, of a request to erase, by the uid of its erasure."""
    return _get(scope, Q(erases=True, erasure_uid=erasure_uid), now=now)


def list_in_tenant(
    scope: Scope, *, state: RequestState | None = None, limit: int, offset: int = 0, now: datetime
) -> tuple[list[tuple[OpenedRequest, Scope]], int]:
    """Return a page of requests of all spaces of the tenant, newest first, and their total number.

    Each request comes with the scope it was made in.  Requests that do not decrypt are left out.
    scope: a user's.  Raises PersonNeeded.
    """
    _check_person(scope)
    with tenant_transaction(scope):
        rows = ForgetRequest.objects.within(scope)
        if state is not None:
            rows = rows.filter(_in_state(state, now))
        total = rows.count()
        page = list(rows.order_by("-pk")[offset : offset + limit])
        some = Space.objects.within(scope).filter(pk__in={row.space_id for row in page})
        spaces = {space.pk: space.ref for space in some}
    ciphers = {space_id: open_space(scope.tenant, space) for space_id, space in spaces.items()}
    found = []
    for row in page:
        there = _at(scope, row, spaces[row.space_id])
        opened = _open(there, row, ciphers[row.space_id], now=now)
        if opened is not None:
            found.append((opened, there))
    return found, total


def count_pending(scope: Scope, *, most: int, now: datetime) -> int:
    """Count the tenant's pending requests, up to ``most``."""
    with tenant_transaction(scope):
        return ForgetRequest.objects.within(scope).filter(_in_state(RequestState.PENDING, now))[:most].count()


def get_in_tenant(scope: Scope, request_id: int, *, now: datetime) -> tuple[OpenedRequest, Scope]:
    """Return one request of the tenant, and its scope.  Raises PersonNeeded, ForgetRequestNotFound, DecryptError."""
    _check_person(scope)
    with tenant_transaction(scope):
        row = ForgetRequest.objects.within(scope).filter(pk=_checked(request_id)).first()
        if row is None:
            raise ForgetRequestNotFound
        there = inside_of(scope, row)
    return _opened(row, *content_of(row, open_space(scope.tenant, there.space)), now=now), there


def cancel(scope: Scope, request_id: int, *, now: datetime) -> OpenedRequest:
    """Cancel a request about the scope's end user.  Cancelling it again changes nothing.

    Raises ForgetRequestNotFound, ForgetRequestDecided.
    """
    with tenant_transaction(scope):
        rows = _own(scope).select_for_update(no_key=True)
        row = rows.filter(pk=_checked(request_id)).first() if scope.spaces else None
        if row is None:
            raise ForgetRequestNotFound
        if row.state != RequestState.CANCELLED:
            decide(scope, row, RequestState.CANCELLED, AuditAction.FORGET_REQUEST_CANCEL, now=now)
    return get_request(scope, request_id, now=now)


def confirm(scope: Scope, request_id: int, *, now: datetime) -> list[int]:
    """Confirm a request, soft-delete its memories, and return their ids.  scope: a user's, in the tenant.

    What it asks for in a space is also deleted in the branches of the space.
    Raises PersonNeeded, ForgetRequestNotFound, ForgetRequestDecided, DecryptError.
    """
    with tenant_transaction(scope):
        row, inside = to_decide(scope, request_id, erases=False)
        choice, reason, _ = content_of(row, open_space(scope.tenant, inside.space))
        decide(inside, row, RequestState.CONFIRMED, AuditAction.FORGET_REQUEST_CONFIRM, now=now)
        ids = soft_delete_with_branches(inside, choice, reason=reason.reveal() if reason else "", now=now)
        row.forgotten = len(ids)
        row.save(update_fields=["forgotten"])
    return ids


def refuse(scope: Scope, request_id: int, *, now: datetime) -> None:
    """Refuse a request; no memory changes.  Raises PersonNeeded, ForgetRequestNotFound, ForgetRequestDecided."""
    with tenant_transaction(scope):
        row, inside = to_decide(scope, request_id)
        decide(inside, row, RequestState.REFUSED, AuditAction.FORGET_REQUEST_REFUSE, now=now)


def expire_requests(scope: Scope, *, now: datetime) -> int:
    """Mark the tenant's overdue requests as expired, and return their number.  They could not be confirmed anyway."""
    with tenant_transaction(scope):
        due = ForgetRequest.objects.within(scope).filter(state=RequestState.PENDING, expires_at__lte=now)
        count = due.update(state=RequestState.EXPIRED, decided_at=now, decided_by=scope.principal.label)
        if count:
            record(scope, actor=scope.principal.label, action=AuditAction.FORGET_REQUEST_EXPIRE, count=count, now=now)
    return count


def _get(scope: Scope, which: Q, *, now: datetime) -> OpenedRequest:
    with tenant_transaction(scope):
        row = _own(scope).filter(which).first() if scope.spaces else None
    if row is None:
        raise ForgetRequestNotFound
    cipher = open_space(scope.tenant, scope.space)
    return _opened(row, *content_of(row, cipher), now=now)


def _own(scope: Scope) -> ScopedQuerySet[ForgetRequest]:
    """Requests about the scope's end user, made in its project or in none."""
    return (
        ForgetRequest.objects.within(scope).in_project(scope).filter(space_id__in=[space.id for space in scope.spaces])
    )


def _in_state(state: RequestState, now: datetime) -> Q:
    """Filter by the state as of now: an overdue request counts as expired, even before the job has updated it."""
    if state == RequestState.PENDING:
        return Q(state=state, expires_at__gt=now)
    if state == RequestState.EXPIRED:
        return Q(state=state) | Q(state=RequestState.PENDING, expires_at__lte=now)
    return Q(state=state)


def _new(
    scope: Scope,
    space: Space,
    choice: MemorySelection,
    reason: Plaintext | None,
    erases: Mapping[str, Any] | None,
    cipher: SpaceCipher,
    *,
    now: datetime,
) -> ForgetRequest:
    (request_id,) = reserve_ids(1, sequence="retention_forgetrequest_id_seq")
    return ForgetRequest(
        id=request_id,
        tenant_id=scope.tenant_id,
        space_id=space.pk,
        project_id=scope.project_id,
        state=RequestState.PENDING,
        choice_ct=cipher.seal(CHOICE, request_id, orjson.dumps(choice.to_json())),
        reason_ct=cipher.seal(REASON, request_id, reason) if reason else None,
        erases=erases is not None,
        target_ct=cipher.seal(TARGET, request_id, orjson.dumps(erases)) if erases is not None else None,
        erasure_uid=uuid.uuid4() if erases is not None else None,
        key_version=cipher.key_version,
        requested_by=scope.principal.label,
        created_at=now,
        expires_at=now + STANDS,
    )


def to_decide(scope: Scope, request_id: int, *, erases: bool | None = None) -> tuple[ForgetRequest, Scope]:
    """Lock a request of the tenant for a user's decision; return it and the scope it was made in.

    erases: only a request that does, or that does not.  Raises PersonNeeded, ForgetRequestNotFound.
    """
    _check_person(scope)
    rows = ForgetRequest.objects.within(scope).filter(pk=_checked(request_id))
    row = rows.select_for_update(no_key=True).first()
    if row is None or (erases is not None and row.erases != erases):
        raise ForgetRequestNotFound
    return row, inside_of(scope, row)


def _check_person(scope: Scope) -> None:
    if scope.principal.kind == "api_key":
        raise PersonNeeded


def decide(scope: Scope, row: ForgetRequest, state: RequestState, action: AuditAction, *, now: datetime) -> None:
    """Save the decision about a locked request.  Raises ForgetRequestDecided."""
    if row.state != RequestState.PENDING or row.expires_at <= now:
        raise ForgetRequestDecided
    row.state, row.decided_at, row.decided_by = state, now, scope.principal.label
    row.save(update_fields=["state", "decided_at", "decided_by"])
    record_decision(scope, action, row, now=now)


def inside_of(scope: Scope, row: ForgetRequest) -> Scope:
    """Return the scope, narrowed to where the request was made."""
    return _at(scope, row, Space.objects.within(scope).get(pk=row.space_id).ref)


def _at(scope: Scope, row: ForgetRequest, space: SpaceRef) -> Scope:
    return replace(scope, environment=space.environment, project_id=row.project_id, spaces=(space,))


def _open(scope: Scope, row: ForgetRequest, cipher: SpaceCipher, *, now: datetime) -> OpenedRequest | None:
    """Decrypt a request; None, and a report, if it does not decrypt."""
    try:
        return _opened(row, *content_of(row, cipher), now=now)
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, table=TABLE, now=now)
        return None


def content_of(row: ForgetRequest, cipher: SpaceCipher) -> tuple[MemorySelection, Plaintext | None, dict[str, Any]]:
    """Decrypt a request's selection, reason and target.  Raises DecryptError."""
    choice = MemorySelection.from_json(orjson.loads(cipher.open_bytes(CHOICE, row.pk, bytes(row.choice_ct))))
    reason = cipher.open(REASON, row.pk, bytes(row.reason_ct)) if row.reason_ct else None
    target = orjson.loads(cipher.open_bytes(TARGET, row.pk, bytes(row.target_ct))) if row.target_ct else {}
    return choice, reason, target


def _opened(
    row: ForgetRequest, choice: MemorySelection, reason: Plaintext | None, target: Mapping[str, Any], *, now: datetime
) -> OpenedRequest:
    is_over = row.state == RequestState.PENDING and row.expires_at <= now
    return OpenedRequest(
        id=row.pk,
        state=RequestState.EXPIRED if is_over else RequestState(row.state),
        choice=choice,
        reason=reason,
        requested_by=row.requested_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        forgotten=row.forgotten,
        erases=row.erases,
        target=target,
        erase_at=row.erase_at,
        blocked_by=row.blocked_by,
        erasure_uid=row.erasure_uid,
        erased_at=row.erased_at,
    )


def _checked(request_id: int) -> int:
    return request_id if 0 < request_id < 2**63 else 0


def record_decision(scope: Scope, action: AuditAction, row: ForgetRequest, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"forget_request:{row.pk}", now=now)
