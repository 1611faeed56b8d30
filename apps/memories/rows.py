"""Fetches memories by id in the form that ``open_memory`` needs: every recall and every read by id uses this.

Inside the tenant's transaction.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.core.prepared_sql import Columns
from apps.core.queries import fetch_all
from apps.memories.lineage import NOT_STALE
from apps.memories.models import Memory, MemoryVector
from apps.memories.validity import Moment, true_sql
from apps.projects.scope import Scope

_MEMORY: Final = Columns(Memory, "memory", but=("analysis_ct",))
_VECTOR: Final = ("id", "memory_id", "embedder")

_ROWS: Final = f"""
select {_MEMORY.sql}, vector.id, vector.memory_id, vector.embedder
  from unnest(%s::bigint[]) wanted(id)
  cross join lateral (select * from memories_memory where tenant_id = %s and id = wanted.id limit 1) memory
  left join memories_memoryvector vector on vector.tenant_id = memory.tenant_id and vector.memory_id = memory.id
 where memory.space_id = any(%s) and memory.environment = %s
   and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
   and (memory.expires_at is null or memory.expires_at > %s) and {NOT_STALE}"""  # noqa: S608  (names of our own columns)


def existing_rows(scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Memory]:
    """Those of these memories that can be read by id, as in ``MemoryQuerySet.existing``; in no order."""
    return _fetch(scope, ids, "memory.retention_status in ('active', 'archived')", [], now=now)


def recallable_rows(scope: Scope, ids: Sequence[int], moment: Moment | None, *, now: datetime) -> list[Memory]:
    """Those of these memories that recall may return, now or as of the moment; in no order."""
    truth, values = true_sql("memory", moment, now=now)
    return _fetch(scope, ids, f"memory.retention_status = 'active' and {truth}", values, now=now)


def _fetch(scope: Scope, ids: Sequence[int], also: str, values: Sequence[Any], *, now: datetime) -> list[Memory]:
    spaces, project = [space.id for space in scope.spaces], scope.project_id
    rows = fetch_all(
        f"{_ROWS} and {also}",  # our own constants
        [list(ids), scope.tenant_id, spaces, scope.environment.value, project, project, now, now, *values],
        prepared=True,
    )
    return [_row(found) for found in rows]


def _row(found: Sequence[Any]) -> Memory:
    row, vector = _MEMORY.row(found[: _MEMORY.count]), found[_MEMORY.count :]
    row._state.fields_cache["vector"] = None if vector[0] is None else MemoryVector.from_db("default", _VECTOR, vector)
    return row
