"""Statistics of a scope: counts, and a bounded sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count

from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.lineage import NOT_STALE
from apps.memories.models import Memory, MemoryQuerySet, Retention
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.projects.scope import Environment, Scope

MOST_VALUES: Final = 50  # of one kind: sources are labels of the callers, and may be as many as memories

# One pass over the rows of a space, by the index that begins with tenant and space.  As in the API, superseded memories
# count as archived.
_COUNTS: Final = f"""
with mine as (
    select memory.type, memory.tier, memory.source, memory.is_summary, memory.validity, memory.created_at,
        case when memory.validity = 'superseded' then 'archived' else memory.retention_status end as status,
        exists (select from memories_memoryvector vector
                where vector.tenant_id = memory.tenant_id and vector.memory_id = memory.id) as is_embedded
    from memories_memory memory
    where memory.tenant_id = %(tenant)s and memory.space_id = any(%(spaces)s) and memory.environment = %(environment)s
      and memory.retention_status in ('active', 'archived')
      and (memory.expires_at is null or memory.expires_at > %(now)s)
      and (%(project)s::bigint is null or memory.project_id is null or memory.project_id = %(project)s)
      and {NOT_STALE.replace("%s", "%(now)s")}
)
select grouping(type, tier, source, status, validity), coalesce(type, tier, source, status, validity), count(*),
    count(*) filter (where is_embedded), count(*) filter (where is_summary), min(created_at), max(created_at)
from mine group by grouping sets ((type), (tier), (source), (status), (validity), ())
"""  # noqa: S608  (ours)
_SETS: Final = {0b01111: "type", 0b10111: "tier", 0b11011: "source", 0b11101: "status", 0b11110: "validity"}
_ALL: Final = 0b11111


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatistics:
    """Counts of the memories that the scope may read.

    by: type, tier, source, status and validity, each with its values and their counts, largest first; at most fifty.
    """

    total: int = 0
    embedded: int = 0
    summaries: int = 0
    by: Mapping[str, Mapping[str, int]]
    oldest_at: datetime | None = None
    newest_at: datetime | None = None


def count_memories(scope: Scope, *, now: datetime) -> MemoryStatistics:
    """Counts of the memories that the scope may read by their ids."""
    by: dict[str, dict[str, int]] = {name: {} for name in _SETS.values()}
    if not scope.spaces:
        return MemoryStatistics(by=by)
    with tenant_transaction(scope):
        rows = fetch_all(
            _COUNTS,
            {
                "tenant": scope.tenant_id,
                "spaces": [space.id for space in scope.spaces],
                "environment": scope.environment,
                "project": scope.project_id,
                "now": now,
            },
        )
    whole = MemoryStatistics(by=by)
    for group, value, count, embedded, summaries, oldest_at, newest_at in sorted(rows, key=_most_first):
        if group == _ALL and count:
            whole = MemoryStatistics(
                total=count, embedded=embedded, summaries=summaries, by=by, oldest_at=oldest_at, newest_at=newest_at
            )
        elif group != _ALL and len(by[_SETS[group]]) < MOST_VALUES:
            by[_SETS[group]][value] = count
    return whole


def count_by_project(scope: Scope, project_ids: Sequence[int], *, environment: Environment | None) -> Mapping[int, int]:
    """The number of active memories in each of these projects, of all users.  environment: only in this one."""
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(project_id__in=project_ids, retention_status=Retention.ACTIVE)
        if environment is not None:
            rows = rows.filter(environment=environment)
        counted = rows.order_by().values_list("project_id").annotate(count=Count("pk"))
        return {project_id: count for project_id, count in counted if project_id is not None}


def _most_first(row: tuple[Any, ...]) -> tuple[int, str]:
    return -row[2], row[1] or ""


def newest(scope: Scope, *, limit: int, since: datetime | None = None, now: datetime) -> list[OpenedMemory]:
    """The newest live memories that are not summaries, newest first.  since: created at or after."""
    return _sample(scope, ["-pk"], limit, since, now)


def weightiest(scope: Scope, *, limit: int, now: datetime) -> list[OpenedMemory]:
    """The live memories, without summaries, of the highest importance, then the most often recalled."""
    return _sample(scope, ["-importance", "-access_count", "-pk"], limit, None, now)


def _sample(
    scope: Scope, order: Sequence[str], limit: int, since: datetime | None, now: datetime
) -> list[OpenedMemory]:
    """The decrypted memories; those that fail decryption are left out and reported."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        rows: MemoryQuerySet = Memory.objects.within(scope).live(now).filter(is_summary=False)
        if since is not None:
            rows = rows.filter(created_at__gte=since)
        found = list(rows.order_by(*order).to_open()[:limit])
        lifetimes = lifetimes_of(scope, [space.id for space in scope.spaces])
    spaces = {space.id: (space, open_space(scope.tenant, space)) for space in scope.spaces}
    opened = []
    for row in found:
        space, cipher = spaces[row.space_id]
        try:
            opened.append(open_memory(row, cipher, space, lifetimes))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=space.id, now=now)
    return opened
