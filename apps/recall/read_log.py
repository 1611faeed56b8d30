"""Deferred, batched log of reads, so that a read does not wait for a write.

A flush does five things.  It counts accesses of each memory that recall returned.  It writes the audit trail: one row
per credential, space and kind of read, with the number of requests.  It stores traces of recalls, if enabled.  It calls
the listeners of ``apps.memories.read_events``.  It adds latencies to ``apps.recall.latency_histogram``.
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
MOST_TRACES = 1_000  # pending per tenant; more are dropped
MOST_READS = 10_000  # the same for read events and latencies
MOST_SPACES = 4  # listed in one audit row; beyond that, only their number


Traced = tuple[SpaceRef, uuid.UUID, Trace]


@dataclass(frozen=True, slots=True)
class _Reader:
    """The actor, the action and the target of audited reads.  environments: of a read of several; else empty."""

    actor: str
    action: AuditAction
    target: str
    environments: str


@dataclass(slots=True)
class _Batch:
    """Pending writes of one tenant."""

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
    in_parts: Sequence[tuple[Scope, Sequence[int]]] = (),
    traces: Sequence[Traced] = (),
    milliseconds: float | None = None,
) -> None:
    """Log a recall that returned these memories, maybe none.  Written after EVERY_SECONDS; a crash before loses it.

    query_id: of the answer.  in_parts: the memories of each part of a scope with several.  traces: of the recall, to be
    stored.  milliseconds: its latency.
    """
    query_id = query_id or uuid.uuid4()
    reads = [
        Read(query_id=query_id, scope=part, memory_ids=tuple(ids)) for part, ids in in_parts or [(scope, memory_ids)]
    ]
    _note(
        scope,
        AuditAction.MEMORY_RECALL,
        memory_ids,
        hits=len(memory_ids),
        traces=traces,
        reads=reads,
        milliseconds=milliseconds,
    )


def record_read(scope: Scope) -> None:
    """Log a read of one memory by its id: in the audit trail only, not in the memory's access count."""
    _note(scope, AuditAction.MEMORY_READ, (), hits=1)


def record_report(scope: Scope, looked_at: int) -> None:
    """Log that a report opened ``looked_at`` memories: in the audit trail only, not in their access counts."""
    _note(scope, AuditAction.MEMORY_REPORT, (), hits=looked_at)


def flush() -> None:
    """Write all pending batches now.  A tenant's failed batch is lost; the other tenants' batches are still written."""
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
    reads: Sequence[Read] = (), milliseconds: float | None = None,
) -> None:  # fmt: skip
    global _timer
    environments = ",".join(scope.environments) if scope.also_reads else ""
    reader = _Reader(scope.principal.label, action, _spaces(scope), environments)
    with _lock:
        batch = _waiting.setdefault(scope.tenant_id, _Batch(scope))
        batch.memories.update(memory_ids)
        batch.requests[reader] += 1
        batch.hits[reader] += hits
        batch.traces += traces[: max(0, MOST_TRACES - len(batch.traces))]
        batch.reads += reads[: max(0, MOST_READS - len(batch.reads))]
        if milliseconds is not None and len(batch.times) < MOST_READS:
            batch.times.append(milliseconds)
        if _timer is None:
            _timer = threading.Timer(EVERY_SECONDS, _flush_in_background)
            _timer.daemon = True
            _timer.start()


def _spaces(scope: Scope) -> str:
    """The audit target; blank without spaces, as for an unknown end user."""
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
                reason=f"hits={batch.hits[reader]}" + (f" in={reader.environments}" if reader.environments else ""),
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


atexit.register(flush)  # a clean exit loses nothing
