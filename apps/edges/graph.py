"""The graph of memories for display: memories as nodes, and the edges among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space
from apps.edges.opened import Edge
from apps.edges.selectors import NEIGHBOURS, edges_among, neighbours
from apps.memories import integrity
from apps.memories.models import Memory
from apps.memories.sealing import open_text
from apps.memories.selectors import MemoryNotFound
from apps.projects.scope import Scope

LABEL_CHARACTERS: Final = 80
STEPS_AT_MOST: Final = 5_000  # about, per hop: of many memories only the strongest edges are followed
EDGES_PER_NODE: Final = 10  # on average; beyond it the graph is truncated


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """label: the beginning of the text."""

    id: int
    label: Plaintext
    type: str
    importance: float
    tier: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """is_truncated: there is more than was requested."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    is_truncated: bool


def graph(scope: Scope, *, limit: int, now: datetime) -> Graph:
    """The newest memories of the scope's spaces, at most ``limit``, and the edges among them."""
    if not scope.spaces:
        return Graph(nodes=[], edges=[], is_truncated=False)
    with tenant_transaction(scope):
        ids = list(Memory.objects.within(scope).live(now).order_by("-pk").values_list("pk", flat=True)[: limit + 1])
        return _draw(scope, ids[:limit], is_truncated=len(ids) > limit, now=now)


def graph_around(scope: Scope, memory_id: int, *, depth: int, limit: int, now: datetime) -> Graph:
    """The memory and those within ``depth`` edges of it, nearest first, at most ``limit`` memories.

    Raises MemoryNotFound for absent and foreign alike.
    """
    if not scope.spaces or not 0 < memory_id < 2**63:
        raise MemoryNotFound
    with tenant_transaction(scope):
        if not Memory.objects.within(scope).existing(now).filter(pk=memory_id).exists():
            raise MemoryNotFound
        found, frontier = [memory_id], [memory_id]
        is_cut = False
        for _ in range(depth):
            if not frontier or len(found) > limit:
                break
            # One more than fits, to detect truncation.
            most = min(limit + 1, max(NEIGHBOURS, STEPS_AT_MOST // len(frontier)))
            steps = neighbours(scope, scope.space, frontier, limit=most, contradicting=True, now=now)
            is_cut |= most <= limit and max(Counter(step.node_id for step in steps).values(), default=0) == most
            frontier = list(dict.fromkeys(step.memory_id for step in steps if step.memory_id not in found))
            found += frontier
        return _draw(scope, found[:limit], is_truncated=is_cut or len(found) > limit, now=now)


def _draw(scope: Scope, ids: Sequence[int], *, is_truncated: bool, now: datetime) -> Graph:
    place = {memory_id: at for at, memory_id in enumerate(ids)}
    ciphers = {space.id: open_space(scope.tenant, space) for space in scope.spaces}
    rows = Memory.objects.within(scope).existing(now).filter(pk__in=ids)
    nodes = []
    for row in sorted(rows, key=lambda row: place[row.pk]):
        try:
            text = open_text(row, ciphers[row.space_id]).reveal()
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
            continue
        nodes.append(
            Node(
                id=row.pk,
                label=Plaintext(beginning(text)),
                type=row.type,
                importance=row.importance,
                tier=row.tier,
                created_at=row.created_at,
            )
        )
    most = EDGES_PER_NODE * len(nodes)
    edges = edges_among(scope, [node.id for node in nodes], limit=most + 1, now=now)
    return Graph(nodes=nodes, edges=edges[:most], is_truncated=is_truncated or len(edges) > most)


def beginning(text: str) -> str:
    """The start of a text on one line, as the label of a node."""
    line = " ".join(text.split())
    return line if len(line) <= LABEL_CHARACTERS else line[: LABEL_CHARACTERS - 1] + "…"
