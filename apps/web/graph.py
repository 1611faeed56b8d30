"""A space as a graph: its entities and their relations, or its memories and their relations."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.console.space_list import owner_of
from apps.console.svg_charts import GRAPH_HEIGHT, GRAPH_WIDTH, Point, spread
from apps.core.scoping import tenant_transaction
from apps.edges.graph import graph as memories_and_edges
from apps.entities.selectors import picture
from apps.projects.scope import Scope
from apps.web.memories import find
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

NODES: Final = 40
NAME: Final = 20  # characters of a name in the picture
SMALLEST, LARGEST = 7.0, 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """key: id of its entry in the list beside the graph."""

    key: str
    name: str
    kind: str
    at: Point
    radius: float

    @property
    def name_y(self) -> float:
        """y of the label, below the circle."""
        return round(self.at.y + self.radius + 13, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    one: Point
    other: Point
    name: str
    is_against: bool = False


@in_tenant(AccessLevel.READER)
def graph(request: HttpRequest, at: PageContext, space_id: int) -> HttpResponse:
    scope = find(at, space_id)
    of = "memories" if request.GET.get("of") == "memories" else "entities"
    drawn = _memories(scope, at) if of == "memories" else _entities(scope, at)
    return show(
        request,
        "graph",
        at=at,
        place="spaces",
        part="graph",
        environment=scope.environment,
        owner=owner_of(scope),
        space=scope.space,
        of=of,
        width=GRAPH_WIDTH,
        height=GRAPH_HEIGHT,
        **drawn,
    )


def _entities(scope: Scope, at: PageContext) -> dict[str, Any]:
    found = picture(scope, limit=NODES, now=at.now)
    _record(scope, at, len(found.entities))
    places = spread([one.id for one in found.entities], [(tie.from_id, tie.to_id) for tie in found.ties])
    most = max((one.mention_count for one in found.entities), default=1) or 1
    names = {one.id: one.name or one.type for one in found.entities}
    return {
        "nodes": [
            GraphNode(
                key=f"entity-{one.id}",
                name=_short(names[one.id]),
                kind=one.type,
                at=places[one.id],
                radius=round(SMALLEST + (LARGEST - SMALLEST) * (one.mention_count / most) ** 0.5, 1),
            )
            for one in found.entities
        ],
        "lines": [
            GraphLine(one=places[tie.from_id], other=places[tie.to_id], name=tie.type.replace("_", " "))
            for tie in found.ties
        ],
        "entities": [
            {
                "entity": one,
                "name": names[one.id],
                "memory_ids": found.memory_ids.get(one.id, ()),
                "ties": [
                    {"type": tie.type.replace("_", " "), "to": names[tie.to_id], "to_id": tie.to_id}
                    for tie in found.ties
                    if tie.from_id == one.id
                ],
            }
            for one in found.entities
        ],
        "is_cut": found.is_cut,
    }


def _memories(scope: Scope, at: PageContext) -> dict[str, Any]:
    found = memories_and_edges(scope, limit=NODES, now=at.now)
    _record(scope, at, len(found.nodes))
    places = spread([one.id for one in found.nodes], [(edge.from_id, edge.to_id) for edge in found.edges])
    labels = {one.id: one.label.reveal() for one in found.nodes}
    return {
        "nodes": [
            GraphNode(
                key=f"memory-{one.id}",
                name=_short(labels[one.id]),
                kind="memory",
                at=places[one.id],
                radius=round(SMALLEST + (LARGEST - SMALLEST) * one.importance * 0.6, 1),
            )
            for one in found.nodes
        ],
        "lines": [
            GraphLine(
                one=places[edge.from_id],
                other=places[edge.to_id],
                name=edge.type.replace("_", " "),
                is_against=edge.type == "contradiction",
            )
            for edge in found.edges
        ],
        "memories": [
            {
                "node": one,
                "edges": [
                    {"type": edge.type.replace("_", " "), "to": _short(labels[edge.to_id]), "to_id": edge.to_id}
                    for edge in found.edges
                    if edge.from_id == one.id
                ],
            }
            for one in found.nodes
        ],
        "is_cut": found.is_truncated,
    }


def _record(scope: Scope, at: PageContext, count: int) -> None:
    with tenant_transaction(scope):
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.MEMORY_BROWSE,
            target=f"space:{scope.space.id}",
            count=count,
            now=at.now,
        )


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1].rstrip() + "…"
