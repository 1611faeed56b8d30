"""Memories that mention entities, for recall: filtered in the query, so that only the rows wanted are read."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from apps.projects.scope import Scope, SpaceRef

# The memories that mention the entity ``asked``.  By the index of mentions, newest first, with each memory looked up by
# id: nothing is read beyond the limit.
_MENTIONING: Final = """
    select mention.memory_id from entities_entitymention mention
    cross join lateral (
        select * from memories_memory where tenant_id = %s and space_id = %s and id = mention.memory_id limit 1
    ) memory
    where mention.tenant_id = %s and mention.space_id = %s and mention.entity_id = asked.id
      and memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
    order by mention.memory_id desc limit %s
"""
_SPOKEN_OF: Final = f"""
select asked.id, found.memory_id from unnest(%s::bigint[]) asked(id) cross join lateral ({_MENTIONING}) found
"""  # noqa: S608  (ours)
_SHARED: Final = f"""
select known.id, asked.id, found.memory_id from unnest(%s::bigint[]) known(id)
cross join lateral (
    select distinct entity_id as id from entities_entitymention
    where tenant_id = %s and memory_id = known.id and entity_id <> all(%s::bigint[])
) asked
cross join lateral ({_MENTIONING}) found
"""  # noqa: S608  (ours)
SPARE: Final = 4  # times the limit for each entity, to find memories that mention several


def memories_mentioning(
    scope: Scope,
    space: SpaceRef,
    entity_ids: Collection[int],
    *,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, score), best first: memories that mention more of the entities, and rarer ones; then the newest.

    where, values: further SQL conditions on ``memory``, applied before the limit.  Inside the tenant's transaction.
    """
    if not entity_ids:
        return []
    mine, most = [scope.tenant_id, space.id], SPARE * limit
    with connection.cursor() as cursor:
        cursor.execute(_SPOKEN_OF.format(where=where), [list(entity_ids), *mine, *mine, now, *values, most])
        told: dict[int, set[int]] = {}
        for entity_id, memory_id in cursor.fetchall():
            told.setdefault(entity_id, set()).add(memory_id)
    scores: dict[int, float] = {}
    for memory_ids in told.values():
        worth = 1 / (1 + math.log(len(memory_ids)))
        for memory_id in memory_ids:
            scores[memory_id] = scores.get(memory_id, 0.0) + worth
    return sorted(scores.items(), key=lambda one: (-one[1], -one[0]))[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntity:
    """Two memories mention the same entity.  mentions: how many memories do, besides the first."""

    memory_id: int
    other_id: int
    mentions: int


def memories_sharing(
    scope: Scope,
    space: SpaceRef,
    memory_ids: Sequence[int],
    *,
    apart_from: Collection[int],
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[SharedEntity]:
    """The memories that share an entity with any of these.  Inside the tenant's transaction.

    apart_from: entities that do not count.  Nor does one that more than ``limit`` other memories mention: it connects
    everything.  where, values: further SQL conditions on ``memory``, which each found one fulfils.
    """
    if not memory_ids:
        return []
    mine, most = [scope.tenant_id, space.id], 1 + SPARE * limit
    with connection.cursor() as cursor:
        cursor.execute(
            _SHARED.format(where=where),
            [list(memory_ids), scope.tenant_id, list(apart_from), *mine, *mine, now, *values, most],
        )
        found: dict[tuple[int, int], set[int]] = {}
        for memory_id, entity_id, other_id in cursor.fetchall():
            found.setdefault((memory_id, entity_id), set()).add(other_id)
    return [
        SharedEntity(memory_id=memory_id, other_id=other_id, mentions=len(others) - 1)
        for (memory_id, _), others in found.items()
        if len(others) <= limit + 1
        for other_id in sorted(others - {memory_id})
    ]
