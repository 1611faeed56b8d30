"""Outbox worker: processes tenants and kinds in turn, and deletes each event in the transaction of its work."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from billiard.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, connection, transaction

from apps.adapters.errors import AdapterError
from apps.core.errors import Unavailable
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.outbox import leases
from apps.outbox.leases import Lease, LeaseLost
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope

logger = logging.getLogger(__name__)

LONGEST_BATCH: Final = 20
SLICE_SECONDS: Final = 2.0  # then other tasks in the queue get their turn
# Time limits in seconds of the tasks that drain.  Below ``leases.LEASE``, so that no worker still runs an event that
# another one has taken over.
SOFT_LIMIT: Final = 12
HARD_LIMIT: Final = 15
TURN_SECONDS: Final = 0.5  # target duration of one turn; slower machines get smaller batches

Job = Callable[[Scope, int, int, datetime], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxKind:
    """The handler for events of one kind.

    do: processes several subjects of a tenant, inside its transaction.
    job: processes one subject in parts, in its own transactions; it gets the position (0 at first) and returns the next
    one, or None when done.
    mend: called for a job whose next part has ended workers, with their number and the last reason (``leases``); it
    makes the job skip the cause, or returns False for not yet.  A job without ``mend`` is set aside.
    """

    do: Callable[[Scope, Sequence[int], datetime], None] | None = None
    job: Job | None = None
    mend: Callable[[Scope, int, int, str, datetime], bool] | None = None
    batch: int = LONGEST_BATCH


class Postponed(Exception):
    """A part of a job failed and the failure is recorded: retry it later."""


class RoundRobin:
    """Processes tenants and kinds in turn.

    One instance per process: it stores the last turn, and the batch size of each kind on this machine.
    """

    def __init__(self, kinds: Mapping[str, OutboxKind]) -> None:
        self._kinds = kinds
        self._mended = frozenset(name for name, kind in kinds.items() if kind.mend)
        self._last = (0, "")
        self._sizes = {name: 1 if kind.job else kind.batch for name, kind in kinds.items()}

    def drain(self, *, now: datetime, seconds: float = float("inf")) -> int:
        """Run one turn for each tenant and kind with due work, after the last turn; return the number of events.

        seconds: start no further turn after this time.  Work that takes too long raises SoftTimeLimitExceeded and is
        counted as lost.
        """
        began = time.monotonic()
        leases.reclaim(self._kinds, mended=self._mended, now=now)
        waiting = leases.turns(self._kinds, now=now)
        taken = 0
        for turn in [one for one in waiting if one > self._last] + [one for one in waiting if one <= self._last]:
            taken += self._take(*turn, now)
            self._last = turn
            if time.monotonic() - began > seconds:
                break
        return taken

    def work(self, *, clock: Callable[[], datetime], seconds: float = SLICE_SECONDS) -> bool:
        """Drain until nothing is due or the time is over.  Return whether there may be more work."""
        deadline = time.monotonic() + seconds
        try:
            while self.drain(now=clock(), seconds=deadline - time.monotonic()):
                if time.monotonic() > deadline:
                    return True
        except SoftTimeLimitExceeded:
            return True  # the slow event is recorded as lost; other events may be due
        return False

    def _take(self, tenant_id: int, name: str, now: datetime) -> int:
        kind, most = self._kinds[name], self._sizes[name]
        lease = leases.claim(tenant_id, name, most=most, now=now)
        if lease is None:
            return 0
        began = time.monotonic()
        try:
            _work(lease, kind, now)
        except SoftTimeLimitExceeded:
            leases.lose(lease, is_mended=kind.mend is not None, now=now)
            raise
        except BaseException:  # the worker is shutting down
            leases.release(lease)
            raise
        took = time.monotonic() - began
        if took > TURN_SECONDS:
            self._sizes[name] = max(1, len(lease.subject_ids) // 2)
        elif took < TURN_SECONDS / 2 and not kind.job:
            self._sizes[name] = min(kind.batch, 2 * most)
        return len(lease.subject_ids)


def _work(lease: Lease, kind: OutboxKind, now: datetime) -> None:
    scope = find_system_scope(lease.tenant_id)
    try:
        if kind.job is not None and scope is not None:
            _go_on(lease, kind, kind.job, scope, now)
        else:
            _do(lease, lease.subject_ids, kind, scope, now)
    except LeaseLost:
        logger.info("another worker has taken the work over", extra={"kind": lease.kind})


def _go_on(lease: Lease, kind: OutboxKind, job: Job, scope: Scope, now: datetime) -> None:
    (subject_id,) = lease.subject_ids
    try:
        mend = kind.mend if lease.lost else None
        if mend is not None and retried(mend)(scope, subject_id, lease.lost, lease.reason, now):
            leases.move_on(lease, lease.position, now=now)
            return
        position = retried(job)(scope, subject_id, lease.position, now)
        if position is not None:
            leases.move_on(lease, position, now=now)
            return
        with transaction.atomic():
            leases.finish(lease, lease.subject_ids)
    except (SoftTimeLimitExceeded, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is: one job must not hold up what stands behind it)
        _put_back(lease, lease.subject_ids, error, now)


def _do(lease: Lease, subject_ids: Sequence[int], kind: OutboxKind, scope: Scope | None, now: datetime) -> None:
    """Process events; if a batch fails, process each one alone.  scope: None for a closed tenant: no work is done."""
    try:
        _do_in_one(lease, subject_ids, kind, scope, now)
    except (SoftTimeLimitExceeded, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is: one piece must not hold up what stands behind it)
        if len(subject_ids) == 1 or _is_away(error):
            _put_back(lease, subject_ids, error, now)
            return
        for subject_id in subject_ids:
            _do(lease, [subject_id], kind, scope, now)


@retried
def _do_in_one(lease: Lease, subject_ids: Sequence[int], kind: OutboxKind, scope: Scope | None, now: datetime) -> None:
    """Do the work and delete its events, in one transaction."""
    with tenant_transaction(scope) if scope else transaction.atomic():
        if scope is not None and kind.do is not None:
            kind.do(scope, subject_ids, now)
        leases.finish(lease, subject_ids)  # last, like ``enqueue``, so that locks are taken in the same order


def _is_away(error: Exception) -> bool:
    """Whether an external service failed, so that every event would fail in the same way."""
    if isinstance(error, AdapterError):
        return not error.permanent
    if isinstance(error, OperationalError | InterfaceError):
        return not connection.is_usable()
    return isinstance(error, Unavailable)


def _put_back(lease: Lease, subject_ids: Sequence[int], error: Exception, now: datetime) -> None:
    reason = type(error).__name__
    if isinstance(error, AdapterError):
        reason = "permanent" if error.permanent else "temporary"
    connection.close_if_unusable_or_obsolete()
    leases.put_back(lease, subject_ids, reason, now=now)
