"""/memory/{id}/relations: the relations of a memory."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Metadata
from apps.api.fields import Choice, Fraction, Label, Whole, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.edges.opened import Edge, NewEdge
from apps.edges.selectors import edges_of, evidence_of
from apps.edges.services import connect, disconnect
from apps.memories.selectors import get_memories, get_memory, part_with
from apps.recall import read_log

MOST: Final = 500


class RelationInput(Input):
    """A relation from the memory in the path to another of the same end user."""

    to_memory_id = Whole(min_value=1, max_value=2**63 - 1)
    relationship_type = Label(max_length=32, help_text="Built-in or custom: `GET /memory/ontology`.")
    confidence = Fraction(default=1.0)
    metadata = Metadata(required=False, help_text="Sealed.")


class RelationsInput(Parameters):
    """Which of them."""

    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)
    offset = WholeInQuery(default=0)
    include_text = Choice(choices=("true", "false"), default="false", help_text="Also the other memory's text.")


class RelationOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    from_memory_id = serializers.IntegerField()
    to_memory_id = serializers.IntegerField()
    relationship_type = serializers.CharField()
    confidence = serializers.FloatField()
    metadata = serializers.DictField()
    automatic = serializers.BooleanField(help_text="Detected at a write, not stated.")
    created_at = serializers.DateTimeField()
    text = serializers.CharField(required=False, help_text="Of the other memory, with `include_text`.")


class RelationsOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    relations = RelationOutput(many=True)
    total = serializers.IntegerField()
    evidence_count = serializers.IntegerField(help_text="Relations that corroborate it.")
    consistency_score = serializers.FloatField(help_text="1 / (1 + open contradictions).")


class RelationsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "POST": "memory:update"}

    @operation("list_relations", parameters=[RelationsInput], responses=RelationsOutput)
    def get(self, request: Request, memory_id: int) -> Response:
        """The relations of one memory, in both directions, newest first.

        A relation to a deleted memory is hidden; it reappears when that memory is restored.
        """
        asked, now = self.read_parameters(RelationsInput), self.now()
        scope = part_with(self.reader(spans=True), memory_id, now=now)
        get_memory(scope, memory_id, now=now)
        found = edges_of(scope, [memory_id], limit=asked["limit"], offset=asked["offset"], now=now)
        evidence = evidence_of(scope, memory_id, now=now)
        others = [edge.to_id if edge.from_id == memory_id else edge.from_id for edge in found]
        relations = [relation_body(edge) for edge in found]
        if asked["include_text"] == "true":
            texts = {one.id: one.text.reveal() for one in get_memories(scope, others, now=now)} if others else {}
            relations = [body | {"text": texts[other]} for body, other in zip(relations, others, strict=True)]
        read_log.record_read(scope)
        return Response(
            {
                "memory_id": memory_id,
                "relations": relations,
                "total": evidence.relations,
                "evidence_count": evidence.corroborating,
                "consistency_score": evidence.consistency,
            }
        )

    @operation(
        "create_relation",
        request=RelationInput,
        examples=[
            OpenApiExample(
                "evidence", {"to_memory_id": 42, "relationship_type": "supports", "confidence": 0.8}, request_only=True
            )
        ],
        responses={201: RelationOutput},
    )
    def post(self, request: Request, memory_id: int) -> Response:
        """Relate one memory to another.  Repeating the request updates confidence and metadata.

        An absent memory and one of another end user look the same, at either end.
        """
        fields = self.read(RelationInput)
        edge = NewEdge(
            from_id=memory_id,
            to_id=fields["to_memory_id"],
            type=fields["relationship_type"],
            confidence=fields["confidence"],
            metadata=fields.get("metadata", {}),
        )
        (written,) = connect(self.reader(writes=True), [edge], now=self.now())
        return Response(relation_body(written), status=201)


class RelationView(ApiView):
    permissions: ClassVar = {"DELETE": "memory:update"}

    @operation("delete_relation", request=None, responses={204: None})
    def delete(self, request: Request, memory_id: int, edge_id: int) -> Response:
        """Remove a relation.  The memories stay, so a key may do this."""
        disconnect(self.reader(writes=True), memory_id, edge_id, now=self.now())
        return Response(status=204)


def relation_body(edge: Edge) -> dict[str, Any]:
    return {
        "id": edge.id,
        "from_memory_id": edge.from_id,
        "to_memory_id": edge.to_id,
        "relationship_type": edge.type,
        "confidence": edge.confidence,
        "metadata": dict(edge.metadata),
        "automatic": edge.is_automatic,
        "created_at": edge.created_at,
    }
