"""Creates and deletes relations of memories, with their effects on the memories."""

from collections.abc import Collection, Sequence, Set
from datetime import datetime
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid, NotFound
from apps.core.prepared_sql import Columns, insert
from apps.core.queries import fetch_all
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, SpaceShredded, open_space
from apps.edges.effects import apply_effect, undo_effect
from apps.edges.models import MemoryEdge
from apps.edges.ontology import relation_types
from apps.edges.opened import Edge, NewEdge
from apps.edges.sealing import seal_metadata
from apps.edges.selectors import edges_of
from apps.memories.models import Memory
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import hold_space, touch
from apps.projects.scope import Scope

_Name = tuple[int, int, str]  # from, to and type of an edge
_EDGE: Final = Columns(MemoryEdge, "edge")
_BETWEEN: Final = (
    f"select {_EDGE.sql} from unnest(%s::bigint[], %s::bigint[]) wanted(one, other) cross join lateral ("  # noqa: S608
    "select * from edges_memoryedge edge where edge.tenant_id = %s and edge.space_id = %s "
    "and edge.from_memory_id = wanted.one and edge.to_memory_id = wanted.other offset 0) edge"
)


class RelationNotFound(NotFound):
    """Relation not found."""

    code = "RELATION_NOT_FOUND"


class UnknownRelationType(Invalid):
    """relationship_type: no such type; GET /memory/ontology lists them, PUT adds more"""

    code = "UNKNOWN_RELATION_TYPE"


class SelfRelation(Invalid):
    """to_memory_id: a memory cannot be related to itself"""

    code = "SELF_RELATION"


@retried
def connect(scope: Scope, edges: Sequence[NewEdge], *, now: datetime) -> list[Edge]:
    """Write these edges of the scope's one space, in order; an existing one gets the new confidence and metadata.

    ``supersedes`` and ``same_as`` end a memory (``apps.edges.effects``).  All or nothing.  Raises MemoryNotFound for a
    memory that is absent or not the scope's to read; UnknownRelationType; SelfRelation; what an effect raises.
    """
    with tenant_transaction(scope):
        known = relation_types(scope)
        for edge in edges:
            if edge.from_id == edge.to_id:
                raise SelfRelation
            if edge.type not in known:
                raise UnknownRelationType
        cipher = lock_space(scope)
        _check_ends(scope, edges, now=now)
        for edge in edges:
            apply_effect(scope, edge, now=now)
        written = write_edges(scope, cipher, edges, now=now)
        touch(scope, scope.space.id)
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.RELATION_CREATE,
            target=f"space:{scope.space.id}" if len(written) > 1 else f"edge:{written[0].pk}",
            count=len(written),
            now=now,
        )
    return [_plain(row, edge) for row, edge in zip(written, edges, strict=True)]


@retried
def disconnect(scope: Scope, memory_id: int, edge_id: int, *, now: datetime) -> None:
    """Delete an edge of this memory, and undo its effect unless another edge of the two memories has the same.

    Raises RelationNotFound for one that is absent, another memory's, or not the scope's to see.
    """
    with tenant_transaction(scope):
        found = {edge.id: edge for edge in edges_of(scope, [memory_id], now=now)}
        if not scope.spaces or edge_id not in found:
            raise RelationNotFound
        lock_space(scope)
        MemoryEdge.objects.within(scope).filter(pk=edge_id).delete()
        undo_effect(scope, found[edge_id], now=now)
        touch(scope, scope.space.id)
        record(
            scope, actor=scope.principal.label, action=AuditAction.RELATION_DELETE, target=f"edge:{edge_id}", now=now
        )


def lock_space(scope: Scope) -> SpaceCipher:
    """Lock the scope's one space for writing, until the transaction ends; returns its cipher.

    Raises MemoryNotFound for a scope without a space or one that was shredded.
    """
    if not scope.spaces:
        raise MemoryNotFound
    # Lock keys first, then the space, as every writer does.
    try:
        cipher = open_space(scope.tenant, scope.space, writing=True)
        hold_space(scope)
    except SpaceShredded:
        raise MemoryNotFound from None
    return cipher


def write_edges(
    scope: Scope, cipher: SpaceCipher, edges: Sequence[NewEdge], *, new: Set[int] = frozenset(), now: datetime
) -> list[MemoryEdge]:
    """Insert or update these edges; returns their rows, in order.  In the transaction that holds the space's lock.

    New rows have no ids if all of them are automatic and without metadata.

    new: memories that this transaction has created, which had no edges before.

    An automatic edge does not change an existing one, except that a contradiction found again is open again.
    """
    last = {edge.name: edge for edge in edges}
    may_be_there = {name for name in last if new.isdisjoint(name[:2])}
    rows = {(row.from_memory_id, row.to_memory_id, row.type): row for row in _there(scope, may_be_there)}
    fresh = [name for name in last if name not in rows]
    # These have no ciphertext that is bound to their ids, so the database may assign them.
    is_found = all(last[name].is_automatic and not last[name].metadata for name in fresh)
    ids = [None] * len(fresh) if is_found else reserve_ids(len(fresh), sequence="edges_memoryedge_id_seq")
    for name, edge_id in zip(fresh, ids, strict=True):
        rows[name] = MemoryEdge(
            id=edge_id,
            tenant_id=scope.tenant_id,
            space_id=scope.space.id,
            from_memory_id=name[0],
            to_memory_id=name[1],
            type=name[2],
            created_at=now,
        )
    made = set(fresh)
    for name, edge in last.items():
        row = rows[name]
        row.resolved_at, row.winner_id, row.resolution_ct = None, None, None
        if name in made or not edge.is_automatic:
            row.revision += 1
            row.confidence, row.is_automatic, row.key_version = edge.confidence, edge.is_automatic, cipher.key_version
            row.metadata_ct = seal_metadata(cipher, row.pk, edge.metadata, revision=row.revision)
    insert(rows[name] for name in fresh)
    if again := [row for name, row in rows.items() if name not in made]:
        MemoryEdge.objects.within(scope).bulk_update(
            again,
            ["revision", "confidence", "is_automatic", "key_version", "metadata_ct", "resolved_at", "winner_id",
             "resolution_ct"],
        )  # fmt: skip
    return [rows[edge.name] for edge in edges]


def _check_ends(scope: Scope, edges: Sequence[NewEdge], *, now: datetime) -> None:
    ends = {memory_id for edge in edges for memory_id in (edge.from_id, edge.to_id)}
    if not all(0 < memory_id < 2**63 for memory_id in ends):
        raise MemoryNotFound
    if Memory.objects.within(scope).existing(now).filter(pk__in=ends).count() < len(ends):
        raise MemoryNotFound


def _there(scope: Scope, names: Collection[_Name]) -> list[MemoryEdge]:
    ends = {name[:2] for name in names}
    if not ends:
        return []
    values = [*map(list, zip(*ends, strict=True)), scope.tenant_id, scope.space.id]
    rows = [_EDGE.row(found) for found in fetch_all(_BETWEEN, values, prepared=True)]
    return [row for row in rows if (row.from_memory_id, row.to_memory_id, row.type) in names]


def _plain(row: MemoryEdge, edge: NewEdge) -> Edge:
    return Edge(
        id=row.pk,
        from_id=edge.from_id,
        to_id=edge.to_id,
        type=edge.type,
        confidence=edge.confidence,
        metadata=edge.metadata,
        is_automatic=edge.is_automatic,
        created_at=row.created_at,
    )
