"""Entities named in a question and memories that mention them, for recall, in prepared statements.

Filters are part of the statements, so that only the rows wanted are read.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.core.queries import fetch_all, fetch_column
from apps.crypto.services import SpaceCipher
from apps.entities.reencryption import alias_mac
from apps.memories.lineage import NOT_STALE
from apps.projects.scope import Scope, SpaceRef
from text.names import normalised

WORDS_IN_A_NAME: Final = 4
NAMES_IN_A_QUESTION: Final = 96  # word sequences that are looked up

# The entities with one of these names, if a readable memory uses the name or the full one that it is a short form of.
_NAMED: Final = f"""
select distinct alias.entity_id from unnest(%s::bytea[]) asked(mac)
cross join lateral (
    select id, entity_id, parent_id from entities_entityalias
    where tenant_id = %s and space_id = %s and alias_mac = asked.mac order by id
) alias
cross join lateral unnest(array[alias.id, alias.parent_id]) used(id)
cross join lateral (
    select 1 from entities_entitymention mention
    cross join lateral (
        select * from memories_memory where tenant_id = %s and space_id = %s and id = mention.memory_id limit 1
    ) memory
    where mention.tenant_id = %s and mention.alias_id = used.id
      and memory.retention_status in ('active', 'archived')
      and (memory.expires_at is null or memory.expires_at > %s) and {NOT_STALE}
    limit 1
) said
"""  # noqa: S608  (our own conditions)

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
    where tenant_id = %s and memory_id = known.id
) asked
cross join lateral ({_MENTIONING}) found
"""  # noqa: S608  (ours)
SPARE: Final = 4  # times the limit for each entity, to find memories that mention several


def entities_named_in(scope: Scope, space: SpaceRef, cipher: SpaceCipher, text: str, *, now: datetime) -> list[int]:
    """The ids of the entities whose names are in a text, for example a query.  Inside the tenant's transaction.

    Names are compared by their hashes: nothing is decrypted.  cipher: the space's.
    """
    words = normalised(text).split()
    runs = [" ".join(words[at : at + size]) for size in range(1, WORDS_IN_A_NAME + 1) for at in range(len(words))]
    macs = [alias_mac(cipher, run) for run in list(dict.fromkeys(runs))[:NAMES_IN_A_QUESTION]]
    if not macs:
        return []
    mine = [scope.tenant_id, space.id]
    return sorted(fetch_column(_NAMED, [macs, *mine, *mine, scope.tenant_id, now, now], prepared=True))


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
    asked = [list(entity_ids), *mine, *mine, now, *values, most]
    told: dict[int, set[int]] = {}
    for entity_id, memory_id in fetch_all(_SPOKEN_OF.format(where=where), asked, prepared=True):
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
    entity_id: int
    other_id: int
    mentions: int


def memories_sharing(
    scope: Scope,
    space: SpaceRef,
    memory_ids: Sequence[int],
    *,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[SharedEntity]:
    """The memories that share an entity with any of these.  Inside the tenant's transaction.

    An entity that more than ``limit`` other memories mention does not count: it connects everything.  where, values:
    further SQL conditions on ``memory``, which each found one fulfils.
    """
    if not memory_ids:
        return []
    mine, most = [scope.tenant_id, space.id], 1 + SPARE * limit
    asked = [list(memory_ids), scope.tenant_id, *mine, *mine, now, *values, most]
    found: dict[tuple[int, int], set[int]] = {}
    for memory_id, entity_id, other_id in fetch_all(_SHARED.format(where=where), asked, prepared=True):
        found.setdefault((memory_id, entity_id), set()).add(other_id)
    return [
        SharedEntity(memory_id=memory_id, entity_id=entity_id, other_id=other_id, mentions=len(others) - 1)
        for (memory_id, entity_id), others in found.items()
        if len(others) <= limit + 1
        for other_id in sorted(others - {memory_id})
    ]
