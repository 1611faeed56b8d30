"""Reads edges.  Every query checks whether both memories are visible at that moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.core.queries import fetch_all, fetch_one
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.edges.models import EDGE
from apps.edges.opened import Edge, Neighbour
from apps.edges.sealing import open_metadata
from apps.edges.types import CONTRADICTION, CORROBORATING, factor_of
from apps.memories import integrity
from apps.memories.lineage import NOT_STALE
from apps.projects.scope import Scope, SpaceRef

NEIGHBOURS: Final = 10  # the strongest edges of one memory; a hub passes on no more than others

# Whether ``memory`` is visible: it exists in the scope's spaces, environment and project.  ``live``: recall may return
# it; otherwise it may also be superseded or archived, and so readable by its id.
_SEEN: Final = f"""
    memory.tenant_id = %(tenant)s and memory.space_id = any(%(spaces)s) and memory.environment = %(environment)s
    and (%(project)s::bigint is null or memory.project_id is null or memory.project_id = %(project)s)
    and (memory.expires_at is null or memory.expires_at > %(now)s)
    and (memory.retention_status = 'active' and memory.validity <> 'superseded'
         or not %(live)s and memory.retention_status in ('active', 'archived'))
    and {NOT_STALE.replace("%s", "%(now)s")}
"""
_COLUMNS: Final = (
    "edge.id, edge.space_id, edge.from_memory_id, edge.to_memory_id, edge.type, edge.confidence, edge.metadata_ct, "
    "edge.revision, edge.is_automatic, edge.created_at"
)
# Joins are lateral and by id: without statistics the planner would read the whole space for each edge.
BOTH_ENDS: Final = f"""
    cross join lateral (
        select from memories_memory memory where memory.id = edge.from_memory_id and {_SEEN} limit 1) one
    cross join lateral (
        select from memories_memory memory where memory.id = edge.to_memory_id and {_SEEN} limit 1) other
"""  # noqa: S608  (ours)
_TOUCHING: Final = f"""
from unnest(%(ids)s::bigint[]) wanted(id)
cross join lateral (
    select * from edges_memoryedge where tenant_id = %(tenant)s and from_memory_id = wanted.id
    union all
    select * from edges_memoryedge where tenant_id = %(tenant)s and to_memory_id = wanted.id
) edge {BOTH_ENDS}
"""  # noqa: S608  (ours)
_EVIDENCE: Final = f"""
select count(*), count(*) filter (where edge.type = any(%(corroborating)s)),
    count(*) filter (where edge.type = %(contradiction)s and edge.resolved_at is null)
{_TOUCHING}
"""
_OF_MEMORIES: Final = f"""
select distinct {_COLUMNS} {_TOUCHING}
order by edge.id desc limit %(limit)s offset %(offset)s
"""
_AMONG: Final = f"""
select {_COLUMNS} from unnest(%(ids)s::bigint[]) wanted(id)
cross join lateral (
    select * from edges_memoryedge
    where tenant_id = %(tenant)s and from_memory_id = wanted.id and to_memory_id = any(%(ids)s)
) edge {BOTH_ENDS}
order by edge.id desc limit %(limit)s
"""  # noqa: S608  (ours)
_COUNTS: Final = f"""
select edge.type, count(*) from edges_memoryedge edge {BOTH_ENDS}
where edge.tenant_id = %(tenant)s and edge.space_id = any(%(spaces)s) group by edge.type order by edge.type
"""  # noqa: S608  (ours)


def reach(scope: Scope, *, live: bool, now: datetime) -> dict[str, Any]:
    """The parameters by which ``BOTH_ENDS`` decides what the scope may see."""
    return {
        "tenant": scope.tenant_id,
        "spaces": [space.id for space in scope.spaces],
        "environment": scope.environment,
        "project": scope.project_id,
        "now": now,
        "live": live,
    }


def edges_of(
    scope: Scope,
    memory_ids: Sequence[int],
    *,
    live: bool = False,
    limit: int | None = None,
    offset: int = 0,
    now: datetime,
) -> list[Edge]:
    """The edges of any of these memories, newest first, each once; the scope may see both memories.

    live: recall may return both; otherwise ``get_memory`` may, so that one may be superseded.
    """
    ids = [memory_id for memory_id in memory_ids if 0 < memory_id < 2**63]
    if not scope.spaces or not ids:
        return []
    asked = {"ids": ids, "limit": limit, "offset": offset}
    return _edges(scope, _OF_MEMORIES, asked, live=live, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence for and against a memory from its relations.

    relations: how many are visible.  corroborating: those that support it, stated or found.  contradictions: open ones.
    """

    relations: int
    corroborating: int
    contradictions: int

    @property
    def consistency(self) -> float:
        """1 without contradictions, a half with one, a third with two, and so on."""
        return 1 / (1 + self.contradictions)


def evidence_of(scope: Scope, memory_id: int, *, now: datetime) -> Evidence:
    """The evidence at this moment: a relation to a memory that is gone does not count."""
    asked = {
        **reach(scope, live=False, now=now),
        "ids": [memory_id],
        "corroborating": list(CORROBORATING),
        "contradiction": CONTRADICTION,
    }
    with tenant_transaction(scope):
        relations, corroborating, against = fetch_one(_EVIDENCE, asked) or (0, 0, 0)
    return Evidence(relations=relations, corroborating=corroborating, contradictions=against)


def edges_among(scope: Scope, memory_ids: Sequence[int], *, limit: int, now: datetime) -> list[Edge]:
    """The edges between two of these memories, both live; newest first."""
    if not scope.spaces or not memory_ids:
        return []
    return _edges(scope, _AMONG, {"ids": list(memory_ids), "limit": limit}, live=True, now=now)


def count_edges(scope: Scope, *, now: datetime) -> dict[str, int]:
    """How many edges of each type the scope may see, as ``edges_of`` sees them."""
    if not scope.spaces:
        return {}
    with tenant_transaction(scope):
        return dict(fetch_all(_COUNTS, reach(scope, live=False, now=now)))


def neighbours(
    scope: Scope,
    space: SpaceRef,
    node_ids: Sequence[int],
    *,
    where: str = "",
    values: Sequence[Any] = (),
    limit: int = NEIGHBOURS,
    contradicting: bool = False,
    replaced: bool = False,
    now: datetime,
) -> list[Neighbour]:
    """One step from each of these memories along its strongest edges, either way, to memories that recall may return.

    At most ``limit`` steps from each, best first by confidence and type.  where, values: further SQL conditions on
    ``memory``, the far end.  contradicting: also along contradictions.  replaced: also to superseded memories;
    ``where`` selects which.  Inside the tenant's transaction.
    """
    if not node_ids:
        return []
    passed_over = "" if contradicting else CONTRADICTION
    where = where if replaced else f"and memory.validity <> 'superseded' {where}"
    ways = [_one_way(scope, space, where, values, limit, passed_over, now, forward=one) for one in (True, False)]
    (out, out_values), (back, back_values) = ways
    rows = fetch_all(
        "select node.id, edge.* from unnest(%s::bigint[]) node(id) "  # noqa: S608  (ours)
        f"cross join lateral (({out}) union all ({back})) edge",
        [list(node_ids), *out_values, *back_values],
        prepared=True,
    )
    steps = [
        Neighbour(node_id=node, memory_id=far, edge_id=edge, type=type_, confidence=sure, is_forward=forward)
        for node, far, edge, type_, sure, forward in rows
    ]
    return _strongest(steps, limit)


def contradictions(scope: Scope, space: SpaceRef, memory_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of these memories with an open contradiction, the stronger first.

    The stronger has the higher confidence, or else is newer; but a memory that the other may have outdated, or of which
    it has ended a part, is the weaker.  Inside the transaction.
    """
    if len(memory_ids) < 2:
        return []
    rows = fetch_all(
        "select distinct edge.from_memory_id, edge.to_memory_id, "
        "case when other.outdated_by_id = one.id then true when one.outdated_by_id = other.id then false "
        "when other.said_ct is not null then true "
        "else (one.confidence, one.id) > (other.confidence, other.id) end "
        "from unnest(%s::bigint[]) near(id) "
        "cross join lateral (select * from edges_memoryedge where tenant_id = %s and from_memory_id = near.id "
        "and space_id = %s and type = %s and resolved_at is null and to_memory_id = any(%s)) edge "
        "cross join lateral (select id, confidence, outdated_by_id from memories_memory "
        "where tenant_id = %s and id = edge.from_memory_id limit 1) one "
        "cross join lateral (select id, confidence, outdated_by_id, said_ct from memories_memory "
        "where tenant_id = %s and id = edge.to_memory_id limit 1) other order by 1, 2",
        [list(memory_ids), scope.tenant_id, space.id, CONTRADICTION, list(memory_ids), scope.tenant_id,
         scope.tenant_id],
        prepared=True,
    )  # fmt: skip
    return [(one, other) if is_first else (other, one) for one, other, is_first in rows]


def _one_way(
    scope: Scope,
    space: SpaceRef,
    where: str,
    values: Sequence[Any],
    limit: int,
    passed_over: str,
    now: datetime,
    *,
    forward: bool,
) -> tuple[str, list[Any]]:
    """The SQL for the edges that leave ``node``, or for those that lead to it, and its values."""
    near, far = ("from_memory_id", "to_memory_id") if forward else ("to_memory_id", "from_memory_id")
    sql = f"""
        select e.{far}, e.id, e.type, e.confidence, {str(forward).lower()} from edges_memoryedge e
        cross join lateral (
            select from memories_memory memory
            where memory.tenant_id = %s and memory.id = e.{far} and memory.space_id = %s
              and memory.environment = %s and memory.retention_status = 'active'
              and (memory.expires_at is null or memory.expires_at > %s)
              and (%s::bigint is null or memory.project_id is null or memory.project_id = %s) {where}
            limit 1
        ) seen
        where e.tenant_id = %s and e.{near} = node.id and e.space_id = %s and e.type <> %s
        order by e.confidence desc, e.id desc limit %s"""  # noqa: S608  (ours)
    tenant, project = scope.tenant_id, scope.project_id
    seen = [tenant, space.id, scope.environment, now, project, project, *values]
    return sql, [*seen, tenant, space.id, passed_over, limit]


def _strongest(steps: Sequence[Neighbour], limit: int) -> list[Neighbour]:
    kept: dict[int, list[Neighbour]] = {}
    for step in sorted(steps, key=lambda one: (-one.confidence * factor_of(one.type), -one.edge_id)):
        mine = kept.setdefault(step.node_id, [])
        if len(mine) < limit:
            mine.append(step)
    return [step for mine in kept.values() for step in mine]


def _edges(scope: Scope, sql: str, asked: Mapping[str, Any], *, live: bool, now: datetime) -> list[Edge]:
    with tenant_transaction(scope):
        rows = fetch_all(sql, {**reach(scope, live=live, now=now), **asked})
        ciphers = {space.id: open_space(scope.tenant, space) for space in scope.spaces} if rows else {}
    return [edge for row in rows if (edge := _opened(scope, row, ciphers[row[1]], now=now)) is not None]


def _opened(scope: Scope, row: tuple[Any, ...], cipher: SpaceCipher, *, now: datetime) -> Edge | None:
    """The decrypted edge; None if it fails decryption, which is reported."""
    edge_id, space_id, from_id, to_id, type_, confidence, blob, revision, is_automatic, created_at = row
    try:
        metadata = open_metadata(cipher, edge_id, blob, revision=revision)
    except DecryptError as error:
        integrity.note(scope, error, edge_id, space_id=space_id, table=EDGE, now=now)
        return None
    return Edge(
        id=edge_id,
        from_id=from_id,
        to_id=to_id,
        type=type_,
        confidence=confidence,
        metadata=metadata,
        is_automatic=is_automatic,
        created_at=created_at,
    )
