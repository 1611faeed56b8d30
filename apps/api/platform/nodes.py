"""GET /api/v1/memory-nodes: the memories that a request reaches as nodes, and the relations between them."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import ClampedInQuery
from apps.api.operations import operation
from apps.api.platform.base import PlatformView, ReachInput, success, with_owners
from apps.api.platform.memories import labels_of
from apps.api.platform.output import answer_of, importance_out
from apps.edges.graph import EDGES_PER_NODE, beginning
from apps.edges.selectors import edges_among
from apps.memories.platform import content_of, handle_of
from apps.recall.platform import PlatformQuery, find_memories


class MemoryNodesInput(ReachInput):
    """How many nodes."""

    limit = ClampedInQuery(lowest=1, highest=500, default=100, help_text="Of nodes.")


class MemoryNodeOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    key = serializers.CharField(allow_null=True)
    label = serializers.CharField(help_text="The start of the summary or value.")  # type: ignore[assignment]  # the wire's name
    category = serializers.CharField()
    importance = serializers.IntegerField(min_value=1, max_value=10)
    pinned = serializers.BooleanField()
    createdAt = serializers.DateTimeField()  # noqa: N815  (the wire's name)


class MemoryNodeEdgeOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    type = serializers.CharField()
    confidence = serializers.FloatField()

    def get_fields(self) -> dict[str, Any]:
        ends = {"from": serializers.UUIDField(), "to": serializers.UUIDField()}  # "from" is a keyword
        return super().get_fields() | ends


class MemoryNodesOutput(serializers.Serializer[Any]):
    nodes = MemoryNodeOutput(many=True)
    edges = MemoryNodeEdgeOutput(many=True)
    truncated = serializers.BooleanField(help_text="There are more results.")


MemoryNodesAnswer = answer_of(MemoryNodesOutput(), "MemoryNodesAnswer")


class MemoryNodesView(PlatformView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("platform_nodes", parameters=[MemoryNodesInput], responses=MemoryNodesAnswer)
    def get(self, request: Request) -> Response:
        """Memories as nodes, relations as edges: pinned memories first, then the most important."""
        asked, now = self.read_parameters(MemoryNodesInput), self.now()
        scope, _ = with_owners(self.scope(), self.owners(asked))
        found = find_memories(scope, PlatformQuery(labels=labels_of(asked), limit=asked["limit"]), now=now)
        nodes = {memory.id: memory for memory, _ in found.memories}
        most = EDGES_PER_NODE * len(nodes)
        edges = edges_among(scope, list(nodes), limit=most + 1, now=now)
        return success(
            {
                "nodes": [
                    {
                        "id": str(handle_of(memory)),
                        "key": memory.key,
                        "label": beginning((content := content_of(memory)).summary or content.value),
                        "category": content.category,
                        "importance": importance_out(memory.importance),
                        "pinned": memory.pinned,
                        "createdAt": content.created_at,
                    }
                    for memory in nodes.values()
                ],
                "edges": [
                    {
                        "id": edge.id,
                        "from": str(handle_of(nodes[edge.from_id])),
                        "to": str(handle_of(nodes[edge.to_id])),
                        "type": edge.type,
                        "confidence": edge.confidence,
                    }
                    for edge in edges[:most]
                ],
                "truncated": found.has_more or len(edges) > most,
            }
        )
