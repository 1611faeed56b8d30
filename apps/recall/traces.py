"""Traces of recalls: store them encrypted for RECALL_TRACE_DAYS, list and replay them.

Off unless RECALL_TRACE_SHARE sets the share of recalls to trace.  A trace is deleted with its space, like every row
with a ``space_id``.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import orjson
from django.conf import settings

from apps.core.errors import NotFound
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import living_ciphers, report_broken
from apps.crypto.services import DecryptError, SpaceShredded
from apps.memories.models import Memory
from apps.memories.spaces import lock_space
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef
from apps.recall.models import TABLE, TRACE, RecallTrace
from apps.recall.replay import Trace

AT_ONCE: Final = 200  # traces opened in one transaction


class TraceNotFound(NotFound):
    """There is no trace of such a recall: none was kept, or its days are over."""

    code = "TRACE_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrace:
    """A trace as listed, without its content."""

    id: int
    query_id: uuid.UUID
    space_id: int
    profile: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """again: ids that the replay answers.  became: id to ``changed``, ``superseded`` or ``gone``, for answered memories
    that differ from then."""

    kept: StoredTrace
    trace: Trace
    again: Sequence[int]
    became: dict[int, str]

    @property
    def is_same(self) -> bool:
        return list(self.trace.ids) == list(self.again)


def is_wanted(query_id: uuid.UUID) -> bool:
    """Whether to trace this recall: a random sample, of share RECALL_TRACE_SHARE."""
    share: float = settings.RECALL_TRACE_SHARE
    return share > 0 and query_id.int % 1_000_000 < share * 1_000_000


def keep(scope: Scope, space: SpaceRef, query_id: uuid.UUID, trace: Trace) -> None:
    """Encrypt and store the trace, unless its space was erased meanwhile."""
    # Whatever the environment of the scope: a batch has recalls of several.
    here = replace(scope, environment=space.environment, spaces=(space,))
    try:
        with tenant_transaction(scope):
            row, cipher = lock_space(here)
            (trace_id,) = reserve_ids(1, sequence="recall_recalltrace_id_seq")
            said = orjson.dumps(trace.as_json(), option=orjson.OPT_NON_STR_KEYS)
            RecallTrace.objects.create(
                scope,
                id=trace_id,
                space_id=row.pk,
                query_id=query_id,
                profile=trace.profile,
                trace_ct=cipher.seal(TRACE, trace_id, said),
                key_version=cipher.key_version,
                created_at=trace.now,
            )
    except SpaceShredded:
        return


def list_traces(scope: Scope, *, since: datetime | None = None, limit: int | None = None) -> list[StoredTrace]:
    """Traces of the whole tenant, newest first."""
    with tenant_transaction(scope):
        rows = RecallTrace.objects.within(scope).defer("trace_ct").order_by("-created_at", "-id")
        if since is not None:
            rows = rows.filter(created_at__gte=since)
        return [_kept(row) for row in (rows if limit is None else rows[:limit])]


def replay(scope: Scope, query_id: uuid.UUID, *, now: datetime) -> list[ReplayResult]:
    """Replay one recall, in each space that it read.  Raises TraceNotFound."""
    with tenant_transaction(scope):
        ids = list(
            RecallTrace.objects.within(scope).filter(query_id=query_id).order_by("id").values_list("id", flat=True)
        )
        found = _replay(scope, ids, now=now)
    if not found:
        raise TraceNotFound
    return found


def replay_since(scope: Scope, since: datetime, *, now: datetime) -> Iterator[ReplayResult]:
    """Replay every trace since then, oldest first, AT_ONCE per transaction."""
    with tenant_transaction(scope):
        rows = RecallTrace.objects.within(scope).filter(created_at__gte=since).order_by("created_at", "id")
        ids = list(rows.values_list("id", flat=True))
    for at in range(0, len(ids), AT_ONCE):
        with tenant_transaction(scope):
            some = _replay(scope, ids[at : at + AT_ONCE], now=now)
        yield from some


def sweep(scope: Scope, *, now: datetime) -> int:
    """Delete traces older than RECALL_TRACE_DAYS; return the number."""
    with tenant_transaction(scope):
        past = RecallTrace.objects.within(scope).filter(created_at__lt=now - timedelta(days=settings.RECALL_TRACE_DAYS))
        return past.delete()[0]


def _replay(scope: Scope, ids: Sequence[int], *, now: datetime) -> list[ReplayResult]:
    rows = list(RecallTrace.objects.within(scope).filter(pk__in=list(ids)).order_by("created_at", "id"))
    ciphers = living_ciphers(scope, Space.objects.within(scope).filter(pk__in={row.space_id for row in rows}))
    replayed = []
    for row in rows:
        cipher = ciphers.get(row.space_id)
        if cipher is None:
            continue
        try:
            trace = Trace.of_json(orjson.loads(cipher.open_bytes(TRACE, row.pk, bytes(row.trace_ct))))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=TABLE, now=now)
            continue
        again = [one.id for one in trace.replay()]
        became = _became(scope, row.space_id, trace, now=now)
        replayed.append(ReplayResult(kept=_kept(row), trace=trace, again=again, became=became))
    return replayed


def _became(scope: Scope, space_id: int, trace: Trace, *, now: datetime) -> dict[int, str]:
    rows = Memory.objects.within_tenant(scope).filter(space_id=space_id, pk__in=list(trace.ids))
    there = {row.pk: row for row in rows.existing(now).only("pk", "validity", "updated_at")}
    became = {}
    for memory_id in trace.ids:
        row = there.get(memory_id)
        if row is None:
            became[memory_id] = "gone"
        elif row.validity == "superseded":
            became[memory_id] = "superseded"
        elif row.updated_at > trace.now:
            became[memory_id] = "changed"
    return became


def _kept(row: RecallTrace) -> StoredTrace:
    return StoredTrace(
        id=row.pk,
        query_id=row.query_id,
        space_id=row.space_id,
        profile=row.profile,
        created_at=row.created_at,
    )
