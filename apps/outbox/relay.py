"""The outbox's other end: tenants and kinds in turn, each piece done inside its tenant and crossed off with it."""

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
SLICE_SECONDS: Final = 2.0  # then whatever else waits in the queue has its turn
# For tasks that drain, from their beginning: seconds of their own work, and by the clock; below ``leases.LEASE``, so
# that no worker is at what was taken over.
SOFT_LIMIT: Final = 12
HARD_LIMIT: Final = 15
TURN_SECONDS: Final = 0.5  # about how long one turn may take, while others wait for theirs; slower machines take less

Job = Callable[[Scope, int, int, datetime], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxKind:
    """What is done about work of one kind.

    do: about several subjects of a tenant, inside its transaction.  job: about one, a part at a time, in transactions
    of its own; it gets how far it is (0 at first) and returns how far then, or None when there is no more.
    mend: of a job whose next part has ended workers; it gets how many, and why the last one ended (``leases``), and
    sees to it that the job goes on without what ends them, or says False: not yet.  A job without one is set aside.
    """

    do: Callable[[Scope, Sequence[int], datetime], None] | None = None
    job: Job | None = None
    mend: Callable[[Scope, int, int, str, datetime], bool] | None = None
    batch: int = LONGEST_BATCH


class Postponed(Exception):
    """A part of a job failed, which is noted: it is to be tried again, and not immediately."""


class RoundRobin:
    """Tenants and kinds one after the other.  To be kept by a process: it knows whose turn was last, and how many
    pieces of each kind make a turn here."""

    def __init__(self, kinds: Mapping[str, OutboxKind]) -> None:
        self._kinds = kinds
        self._mended = frozenset(name for name, kind in kinds.items() if kind.mend)
        self._last = (0, "")
        self._sizes = {name: 1 if kind.job else kind.batch for name, kind in kinds.items()}

    def drain(self, *, now: datetime, seconds: float = float("inf")) -> int:
        """One turn for each tenant and kind with due work, beginning behind the last; how many pieces were taken.

        seconds: after which no further turn begins.  What takes too long raises SoftTimeLimitExceeded, and is counted.
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
        """Drain until nothing is due, or until no further turn is to begin; whether there may be more."""
        deadline = time.monotonic() + seconds
        try:
            while self.drain(now=clock(), seconds=deadline - time.monotonic()):
                if time.monotonic() > deadline:
                    return True
        except SoftTimeLimitExceeded:
            return True  # what took so long is noted, and there are others
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
        except BaseException:  # the worker is told to end
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
    """scope: None for a tenant that is closed, of which nothing is done."""
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
    """The work and its crossing off, in one transaction."""
    with tenant_transaction(scope) if scope else transaction.atomic():
        if scope is not None and kind.do is not None:
            kind.do(scope, subject_ids, now)
        leases.finish(lease, subject_ids)  # with all other locks held, as by who asks for work


def _is_away(error: Exception) -> bool:
    """Whether it was something outside that failed, and would fail for each piece alike."""
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
