"""Confirmed requests to erase: hidden at once, restorable until the grace period is over, then erased with a receipt.

A legal hold on any of the memories blocks the whole request.  Each pass tries again, so that it goes on once the hold
is lifted.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from apps.audit.actions import AuditAction
from apps.core.errors import Conflict
from apps.core.retries import retried
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.services import DecryptError, SpaceShredded, open_space
from apps.erasure import legal_holds
from apps.erasure.hard_delete import copies_of
from apps.erasure.models import Erasure, TargetKind
from apps.erasure.planning import ErasureBlocked, check_blockers
from apps.erasure.targets import FoundTarget, Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.history.turns import newest_ids
from apps.memories.branches import with_branches
from apps.memories.models import Memory, MemoryQuerySet, Retention
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import NotRestorable, PastRetention, RememberedAgain, restore
from apps.policies.retention import in_force
from apps.projects.scope import Principal, Scope
from apps.retention.memory_selection import MemorySelection, soft_delete_with_branches
from apps.retention.models import ForgetRequest
from apps.retention.requests import content_of, decide, inside_of, record_decision, to_decide
from apps.retention.states import RequestState

MOST_TURNS: Final = 100_000  # of one session
GONE: Final = (Retention.SOFT_DELETED, Retention.HARD_DELETE_PENDING)


class ErasureNotUndoable(Conflict):
    """This erasure is not confirmed, or its grace period is over: nothing can be restored."""

    code = "ERASURE_NOT_UNDOABLE"


def confirm_erasure(
    scope: Scope, request_id: int, *, method: str, step_up_age_s: int | None, now: datetime
) -> list[int]:
    """Confirm a request to erase and hide its memories; return their ids, none if a legal hold blocks it.

    scope: a user's, in the tenant.  method, step_up_age_s: as in ``Authorisation``.  Raises PersonNeeded,
    ForgetRequestNotFound, ForgetRequestDecided, DecryptError.
    """
    with tenant_transaction(scope):
        row, inside = to_decide(scope, request_id, erases=True)
        decide(inside, row, RequestState.CONFIRMED, AuditAction.FORGET_REQUEST_CONFIRM, now=now)
        row.decided_with, row.step_up_age_seconds = method[:32], step_up_age_s
        return _hide(inside, row, now=now)


def undo_erasure(scope: Scope, request_id: int, *, now: datetime) -> list[int]:
    """Restore the memories of a confirmed request that is not carried out yet, and cancel it; return their ids.

    A memory that was stored again or has expired meanwhile stays deleted.  scope: a user's, in the tenant.  Raises
    PersonNeeded, ForgetRequestNotFound, ErasureNotUndoable.
    """
    with tenant_transaction(scope):
        row, inside = to_decide(scope, request_id, erases=True)
        is_over = row.erased_at is not None or (row.erase_at is not None and row.erase_at <= now)
        if row.state != RequestState.CONFIRMED or is_over:
            raise ErasureNotUndoable
        parts = with_branches(inside)
        restored = [memory_id for memory_id in _still_gone(inside, row) if _restored(parts, memory_id, now=now)]
        _cancel(inside, row, now=now)
    return restored


def carry_out_due(scope: Scope, *, now: datetime) -> int:
    """Erase what is confirmed and past its grace period, and try blocked requests again; return the number erased."""
    with tenant_transaction(scope):
        rows = _open_requests(scope).order_by("pk")
        due = [pk for pk, at in rows.values_list("pk", "erase_at") if at is None or at <= now]
    return sum(_carry_out(scope, request_id, now=now) for request_id in due)


def _open_requests(scope: Scope) -> ScopedQuerySet[ForgetRequest]:
    return ForgetRequest.objects.within(scope).filter(erases=True, state=RequestState.CONFIRMED, erased_at=None)


@retried
def _carry_out(scope: Scope, request_id: int, *, now: datetime) -> bool:
    """Take the request's next step.  Whether it was erased."""
    with tenant_transaction(scope):
        row = _open_requests(scope).select_for_update(no_key=True).filter(pk=request_id).first()
        if row is None:
            return False
        inside = inside_of(scope, row)
        if row.erase_at is None:
            _hide(inside, row, now=now)
            return False
        if _has_begun(row):  # and was interrupted; the erasure's own worker finishes it
            return _finish(row, now=now)
        target = _target(inside, row)
        if target is None:
            _cancel(inside, row, now=now)
            return False
    # Not under the lock: an erasure takes many transactions.
    kind, _, user = row.decided_by.partition(":")
    authorised = Authorisation(
        principal=Principal(kind=kind, id=int(user)), method=row.decided_with, step_up_age_s=row.step_up_age_seconds
    )
    try:
        start_erasure(inside, target, authorised=authorised, uid=row.erasure_uid, now=now)
    except ErasureBlocked as blocked:
        _note_blocked(row, blocked)
        return False
    return _finish(row, now=now)


def _hide(scope: Scope, row: ForgetRequest, *, now: datetime) -> list[int]:
    """Soft-delete the memories and begin the grace period, unless a legal hold blocks it.  For the row's holder."""
    try:
        choice, reason, _ = content_of(row, open_space(scope.tenant, scope.space))
    except SpaceShredded:
        choice, reason = MemorySelection(), None
    legal_holds.hold_off(scope)
    mine = list(_of_request(scope, choice.memory_ids).values_list("pk", flat=True))
    row.erase_ids = sorted({*mine, *copies_of(scope, mine)})
    try:
        check_blockers(scope, FoundTarget(named={"kind": TargetKind.MEMORIES}, memory_ids=row.erase_ids))
    except ErasureBlocked as blocked:
        row.blocked_by = _cases(blocked)
        row.save()
        return []
    said, ids = reason.reveal() if reason else "", list[int]()
    if row.erase_ids:
        chosen = MemorySelection(memory_ids=tuple(row.erase_ids))
        ids = soft_delete_with_branches(scope, chosen, reason=said, now=now)
    grace = in_force(scope, project_id=scope.project_id, space_ids=[scope.space.id])["grace_days"].limit or 0
    row.forgotten, row.blocked_by, row.erase_at = len(ids), [], now + timedelta(days=grace)
    row.save()
    return ids


def _target(scope: Scope, row: ForgetRequest) -> Target | None:
    """What is left to erase: a memory that a user restored stays.  Inside the tenant's transaction."""
    ids = _still_gone(scope, row)
    try:
        cipher = open_space(scope.tenant, scope.space)
        _, _, named = content_of(row, cipher)
        turns = newest_ids(scope, cipher, named["session_id"], most=MOST_TURNS) if named.get("turns") else []
    except (DecryptError, SpaceShredded):
        named, turns = {}, []
    if not ids and not turns:
        return None
    return Target.session(ids, turns) if "session_id" in named else Target.memories(ids)


def _of_request(scope: Scope, memory_ids: Sequence[int]) -> MemoryQuerySet:
    """Those of the scope's space and of its branches."""
    spaces = [part.space.id for part in with_branches(scope)]
    return Memory.objects.within_tenant(scope).filter(space_id__in=spaces, pk__in=list(memory_ids))


def _still_gone(scope: Scope, row: ForgetRequest) -> list[int]:
    there = _of_request(scope, row.erase_ids).filter(retention_status__in=GONE)
    return sorted(there.values_list("pk", flat=True))


def _restored(parts: Sequence[Scope], memory_id: int, *, now: datetime) -> bool:
    """parts: the space and its branches, one of which has the memory."""
    for part in parts:
        try:
            restore(part, memory_id, now=now)
        except MemoryNotFound:
            continue  # of another branch
        except (NotRestorable, PastRetention, RememberedAgain):
            return False
        return True
    return False


def _has_begun(row: ForgetRequest) -> bool:
    return row.erasure_uid is not None and Erasure.objects.filter(uid=row.erasure_uid).exists()


def _finish(row: ForgetRequest, *, now: datetime) -> bool:
    with tenant_transaction(row):
        ForgetRequest.objects.within(row).filter(pk=row.pk, erased_at=None).update(erased_at=now, blocked_by=[])
    return True


def _note_blocked(row: ForgetRequest, blocked: ErasureBlocked) -> None:
    with tenant_transaction(row):
        ForgetRequest.objects.within(row).filter(pk=row.pk).update(blocked_by=_cases(blocked))


def _cases(blocked: ErasureBlocked) -> list[str]:
    return [str(one["reference"]) for one in blocked.details]


def _cancel(scope: Scope, row: ForgetRequest, *, now: datetime) -> None:
    row.state, row.erase_at, row.blocked_by = RequestState.CANCELLED, None, []
    row.save(update_fields=["state", "erase_at", "blocked_by"])
    record_decision(scope, AuditAction.FORGET_REQUEST_CANCEL, row, now=now)
