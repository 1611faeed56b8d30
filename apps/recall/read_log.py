"""What was read, written later and together: a read answers without waiting for a write.

Five things come of it.  Of each memory that recall returned, how often.  For the audit trail, who read in which
space: one row for each credential, space and kind of reading, however many requests there were.  Traces of recalls,
where any are kept.  Listeners are called (``apps.memories.read_events``).  And how long recalls take
(``apps.recall.latency_histogram``).
"""

import atexit
import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.db import connections
from django.utils import timezone

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.memories.read_events import Read, publish
from apps.memories.services import count_accesses
from apps.projects.scope import Scope, SpaceRef
from apps.recall.latency_histogram import add as add_paces
from apps.recall.latency_histogram import pace_of
from apps.recall.replay import Trace
from apps.recall.traces import keep

logger = logging.getLogger(__name__)

EVERY_SECONDS = 1.0
MOST_TRACES = 1_000  # of one tenant, waiting; more are not kept
MOST_READS = 10_000  # the same, of reads to notify
MOST_SPACES = 4  # named in one row of the trail; of more only how many


Traced = tuple[SpaceRef, uuid.UUID, Trace]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Who read, how, and where."""

    actor: str
    action: AuditAction
    target: str


@dataclass(slots=True)
class _Batch:
    """What is to be written of one tenant."""

    scope: Scope
    memories: Counter[int] = field(default_factory=Counter)
    requests: Counter[_Reader] = field(default_factory=Counter)
    hits: Counter[_Reader] = field(default_factory=Counter)
    traces: list[Traced] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


_lock = threading.Lock()
_waiting: dict[int, _Batch] = {}
_timer: threading.Timer | None = None


def record_recall(
    scope: Scope,
    memory_ids: Sequence[int],
    *,
    query_id: uuid.UUID | None = None,
    traces: Sequence[Traced] = (),
    milliseconds: float | None = None,
) -> None:
    """Remember that a recall returned these, or nothing.  Written after EVERY_SECONDS; a crash before then loses it.

    query_id: under which it was answered.  traces: of it, to be kept.  milliseconds: that it took.
    """
    read = Read(query_id=query_id or uuid.uuid4(), scope=scope, memory_ids=tuple(memory_ids))
    _note(
        scope,
        AuditAction.MEMORY_RECALL,
        memory_ids,
        hits=len(memory_ids),
        traces=traces,
        read=read,
        milliseconds=milliseconds,
    )


def record_read(scope: Scope) -> None:
    """Remember that one memory was read by its id, which counts for the trail and not for the memory."""
    _note(scope, AuditAction.MEMORY_READ, (), hits=1)


def record_report(scope: Scope, looked_at: int) -> None:
    """Remember that so many memories were opened for a report, which counts for the trail and not for the memories."""
    _note(scope, AuditAction.MEMORY_REPORT, (), hits=looked_at)


def flush() -> None:
    """Write what is waiting, now.  What cannot be written of one tenant is lost, and nothing of the others."""
    global _timer
    with _lock:
        batches = list(_waiting.values())
        _waiting.clear()
        if _timer is not None:
            _timer.cancel()
            _timer = None
    now = timezone.now()  # noqa: TID251  (a background thread is a way in)
    for batch in batches:
        _or_lose(partial(_write, batch, now=now))
    if paces := Counter(pace_of(one, now=now) for batch in batches for one in batch.times):
        _or_lose(partial(add_paces, paces))


def _or_lose(write: Callable[[], None]) -> None:
    try:
        write()
    except Exception as error:  # noqa: BLE001  (no caller could catch it, and only counts are lost)
        logger.warning("access counts were not written", extra={"error": type(error).__name__})


def _note(
    scope: Scope, action: AuditAction, memory_ids: Sequence[int], *, hits: int, traces: Sequence[Traced] = (),
    read: Read | None = None, milliseconds: float | None = None,
) -> None:  # fmt: skip
    global _timer
    reader = _Reader(scope.principal.label, action, _spaces(scope))
    with _lock:
        batch = _waiting.setdefault(scope.tenant_id, _Batch(scope))
        batch.memories.update(memory_ids)
        batch.requests[reader] += 1
        batch.hits[reader] += hits
        batch.traces += traces[: max(0, MOST_TRACES - len(batch.traces))]
        if read is not None and len(batch.reads) < MOST_READS:
            batch.reads.append(read)
        if milliseconds is not None and len(batch.times) < MOST_READS:
            batch.times.append(milliseconds)
        if _timer is None:
            _timer = threading.Timer(EVERY_SECONDS, _flush_in_background)
            _timer.daemon = True
            _timer.start()


def _spaces(scope: Scope) -> str:
    """Blank where none was reached: an unknown end user has none."""
    if len(scope.spaces) > MOST_SPACES:
        return f"{len(scope.spaces)} spaces"
    return ",".join(f"space:{space.id}" for space in scope.spaces)


def _write(batch: _Batch, *, now: datetime) -> None:
    with tenant_transaction(batch.scope):
        if batch.memories:
            count_accesses(batch.scope, dict(batch.memories), now=now)
        for reader, requests in batch.requests.items():
            record(
                batch.scope,
                actor=reader.actor,
                action=reader.action,
                target=reader.target,
                reason=f"hits={batch.hits[reader]}",
                count=requests,
                now=now,
            )
    for space, query_id, trace in batch.traces:
        keep(batch.scope, space, query_id, trace)
    publish(batch.scope, batch.reads, now=now)


def _flush_in_background() -> None:
    try:
        flush()
    finally:
        connections.close_all()


atexit.register(flush)  # a process that ends in good order loses nothing
