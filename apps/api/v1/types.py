"""GET /v1/types: the types of memories that this tenant has."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.tenant_types import read_registry
from apps.memories.types import TYPES


class TypeOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    built_in = serializers.BooleanField()
    slot = serializers.CharField(
        allow_null=True, help_text="A newer value replaces an older one in the same slot; null if memories accumulate."
    )
    half_life_days = serializers.FloatField()
    prior = serializers.FloatField(help_text="0 to 0.2: what the type adds to confidence, times ten.")
    ttl_seconds = serializers.IntegerField(allow_null=True)
    parent = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    replaced_by = serializers.CharField(allow_null=True, help_text="Of a retired type.")


class TypesOutput(serializers.Serializer[Any]):
    types = TypeOutput(many=True)


class TypesView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("types", responses=TypesOutput)
    def get(self, request: Request) -> Response:
        """The built-in types, followed by those that the tenant's operator added, oldest first."""
        registry = read_registry(self.scope())
        return Response({"types": [registry.describe(name) for name in (*TYPES, *registry.own)]})
