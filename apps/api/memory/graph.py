"""GET /memory/graph: an end user's memories and the relations between them."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import ClampedInQuery, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.edges.graph import Graph, graph, graph_around
from apps.recall import read_log


class GraphInput(Parameters):
    """How much of it, and from where."""

    limit = ClampedInQuery(lowest=1, highest=500, default=100, help_text="Of memories.")
    memory_id = WholeInQuery(required=False, help_text="Start from this memory; by default from the newest.")
    depth = ClampedInQuery(lowest=1, highest=3, default=2, help_text="Relations away from `memory_id`.")


class NodeOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    label = serializers.CharField(help_text="The start of the text.")  # type: ignore[assignment]  # the wire's name
    type = serializers.CharField()
    importance = serializers.FloatField()
    tier = serializers.CharField()
    created_at = serializers.DateTimeField()


class DrawnEdgeOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    from_memory_id = serializers.IntegerField()
    to_memory_id = serializers.IntegerField()
    relationship_type = serializers.CharField()
    confidence = serializers.FloatField()


class GraphOutput(serializers.Serializer[Any]):
    nodes = NodeOutput(many=True)
    edges = DrawnEdgeOutput(many=True)
    truncated = serializers.BooleanField(help_text="There are more results.")


class GraphView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("graph", parameters=[GraphInput], responses=GraphOutput)
    def get(self, request: Request) -> Response:
        """Memories as nodes, relations as edges: the newest, or the neighbourhood of one memory, nearest first."""
        asked, scope, now = self.read_parameters(GraphInput), self.reader(), self.now()
        if "memory_id" in asked:
            found = graph_around(scope, asked["memory_id"], depth=asked["depth"], limit=asked["limit"], now=now)
        else:
            found = graph(scope, limit=asked["limit"], now=now)
        read_log.record_read(scope)
        return Response(_body(found))


def _body(found: Graph) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "id": node.id,
                "label": node.label.reveal(),
                "type": node.type,
                "importance": node.importance,
                "tier": node.tier,
                "created_at": node.created_at,
            }
            for node in found.nodes
        ],
        "edges": [
            {
                "id": edge.id,
                "from_memory_id": edge.from_id,
                "to_memory_id": edge.to_id,
                "relationship_type": edge.type,
                "confidence": edge.confidence,
            }
            for edge in found.edges
        ],
        "truncated": found.is_truncated,
    }
