"""GET and PUT /memory/ontology: built-in and custom types of memories and relations."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Labels
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.edges.ontology import CONTENT_TYPES, MAX_CUSTOM, NAME, Vocabularies, get_ontology, update_ontology
from apps.edges.types import EFFECTIVE_TYPES, RELATION_TYPES


class TypeNames(Labels):
    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return super().published(mapped) | {"items": {"type": "string", "pattern": f"^{NAME.pattern}$"}}


class OntologyInput(Input):
    """The tenant's custom types, replacing the existing ones; an omitted vocabulary does not change, [] clears it."""

    some_of = ("content_types", "relation_types")

    content_types = TypeNames(required=False, max_items=256)
    relation_types = TypeNames(required=False, max_items=256)

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if not fields:
            raise serializers.ValidationError(
                {"non_field_errors": [ErrorDetail("name content_types or relation_types", "required")]}
            )
        return fields


class OntologyOutput(serializers.Serializer[Any]):
    content_types = serializers.ListField(child=serializers.CharField())
    relation_types = serializers.ListField(child=serializers.CharField())
    builtin_content_types = serializers.ListField(child=serializers.CharField())
    builtin_relation_types = serializers.ListField(child=serializers.CharField())
    effective_relation_types = serializers.ListField(
        child=serializers.CharField(), help_text="Stating a relation of these types ends a memory."
    )
    custom_content_types = serializers.ListField(child=serializers.CharField())
    custom_relation_types = serializers.ListField(child=serializers.CharField())
    max_custom_types = serializers.IntegerField()


class OntologyView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "PUT": "ontology:write"}

    @operation("get_ontology", responses=OntologyOutput)
    def get(self, request: Request) -> Response:
        """The types that memories and relations may have.  Applies to the whole tenant; no end user is needed."""
        return Response(_body(get_ontology(self.scope())))

    @operation(
        "update_ontology",
        request=OntologyInput,
        examples=[OpenApiExample("a word of your own", {"relation_types": ["treats"]}, request_only=True)],
        responses=OntologyOutput,
    )
    def put(self, request: Request) -> Response:
        """Replace the tenant's custom types.  Memories and relations of a removed type keep it."""
        fields = self.read(OntologyInput)
        updated = update_ontology(
            self.scope(),
            content_types=fields.get("content_types"),
            relation_types=fields.get("relation_types"),
            now=self.now(),
        )
        return Response(_body(updated))


def _body(one: Vocabularies) -> dict[str, Any]:
    return {
        "content_types": one.content_types,
        "relation_types": one.relation_types,
        "builtin_content_types": list(CONTENT_TYPES),
        "builtin_relation_types": list(RELATION_TYPES),
        "effective_relation_types": list(EFFECTIVE_TYPES),
        "custom_content_types": list(one.custom_content_types),
        "custom_relation_types": list(one.custom_relation_types),
        "max_custom_types": MAX_CUSTOM,
    }
