"""What drf-spectacular cannot see by itself: the credential, the headers and the envelope of every refusal."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

HEADERS = {
    "X-End-User-ID": "Whose memories: your own id for the person.  Ids are case-sensitive.",
    "X-Project-ID": "The project; by default the key's, or else the tenant's default project.",
}


class FindingOutput(serializers.Serializer[Any]):
    loc = serializers.ListField(child=serializers.JSONField())
    msg = serializers.CharField()
    type = serializers.CharField()


class ErrorOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = FindingOutput(many=True, required=False)
    retry_after = serializers.IntegerField(required=False)


class RefusalOutput(serializers.Serializer[Any]):
    """Every refusal has this shape."""

    error = ErrorOutput()
    detail = serializers.CharField()
    request_id = serializers.CharField()
    retry_after = serializers.IntegerField(required=False)


class ApiSchema(AutoSchema):
    def get_override_parameters(self) -> list[Any]:
        if not self.view.authentication_classes:
            return []
        return [
            OpenApiParameter(name=name, location=OpenApiParameter.HEADER, description=text)
            for name, text in HEADERS.items()
        ]

    def get_summary(self) -> str | None:
        """The first line of what the handler says of itself."""
        first: str = (self.get_description() or "").partition("\n")[0]
        return first or None

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation:
            component = self.resolve_serializer(RefusalOutput, "response")
            operation["responses"]["default"] = {
                "description": "Refused; the status says how.",
                "content": {"application/json": {"schema": component.ref}},
            }
        return operation


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "apps.api.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "header", "name": "X-API-Key"}
