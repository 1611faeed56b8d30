"""OpenAPI details that drf-spectacular cannot derive: credentials, headers, field rules, and error responses.

tests/api/test_schema_fuzz.py checks the server against the published document.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import force_instance
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from apps.api.errors import STATUSES
from apps.api.fields import LABEL
from apps.api.input_serializers import Input
from apps.api.permissions import PERSON
from apps.apikeys.permissions import PERMISSIONS
from apps.projects.scope import Environment
from apps.tenants.grants import GRANTED

ENVIRONMENT: Final = "X-Environment"  # read with the key, on every route
BRANCH_NAME: Final = "^[a-z0-9][a-z0-9_-]{0,63}$"
HEADERS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "X-End-User-ID": (
        {"type": "string", "maxLength": 256, "pattern": LABEL},
        "Your own ID for the end user.  IDs are case-sensitive.",
    ),
    "X-Project-ID": (
        {"type": "string", "pattern": "^[A-Za-z0-9_-]{0,64}$"},
        "The project; by default, and if empty, the key's project, else the tenant's default project.",
    ),
    "Memoturn-Branch": (
        {"type": "string", "pattern": BRANCH_NAME},
        "A branch of the profile, or `main`.  The parameter `branch` is the same.",
    ),
    ENVIRONMENT: (
        {"type": "string", "enum": ["", *(environment.value for environment in Environment)]},
        "One of the key's environments; by default, and if empty, its home.  Reads of memories cover all of them by "
        "default.",
    ),
}
# Headers of every response; the limits only if a rate limit is in force.
ANSWER_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "X-Request-ID": {
        "description": "The request ID: yours, or a new one.  It is in every log line.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "X-Trace-ID": {
        "description": "Yours, or the request ID.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "X-RateLimit-Limit": {
        "description": "Limit of the tightest window.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-RateLimit-Remaining": {"description": "Remaining requests in it.", "schema": {"type": "integer", "minimum": 0}},
    "X-RateLimit-Reset": {"description": "Seconds until it resets.", "schema": {"type": "integer", "minimum": 1}},
}
REFUSAL_HEADERS: Final[dict[int, dict[str, Any]]] = {
    401: {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}},
    429: {
        "Retry-After": {
            "description": "Whole seconds.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
}
SCHEMES: Final[dict[str, dict[str, Any]]] = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer", "description": "The access token of POST /auth/login."},
}
OF_ALL: Final = (429, 503)
WITH_KEY: Final = (400, 401, 403, 404, 422)
WITH_BODY: Final = (411, 413, 415)
CHANGING: Final = (409,)
OF_SOME: Final = (410,)  # of views that name them in ``refuses``
LARGEST_ID: Final = 2**63 - 1


class FindingOutput(serializers.Serializer[Any]):
    """Of a value at fault: where it is and what is wrong.  Other errors have properties of their own."""

    loc = serializers.ListField(child=serializers.JSONField(), required=False)
    msg = serializers.CharField(required=False)
    type = serializers.CharField(required=False)


class ErrorOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = FindingOutput(many=True, required=False)
    retry_after = serializers.IntegerField(required=False)


class RefusalOutput(serializers.Serializer[Any]):
    """Every error has this shape."""

    error = ErrorOutput()
    detail = serializers.CharField()
    request_id = serializers.CharField()
    retry_after = serializers.IntegerField(required=False)


class ProfileRefusalOutput(serializers.Serializer[Any]):
    """Every error of a profile's routes has this shape."""

    error = serializers.CharField()
    code = serializers.CharField()
    reason = serializers.CharField(help_text="The code that other routes have.")
    detail = serializers.CharField(help_text="The error again.")
    request_id = serializers.CharField()
    details = FindingOutput(many=True, required=False)


class ApiSchema(AutoSchema):
    refused: type[serializers.Serializer[Any]] = RefusalOutput
    refusal = "Refused"  # begins the names of its error responses
    statuses: Mapping[int, int] = {}  # in place of others

    def get_override_parameters(self) -> list[Any]:
        if not self.view.authentication_classes:
            return []
        # only ApiViews have this schema
        taken = {*self.view.headers_read, *([ENVIRONMENT] if self._takes_key() else [])}  # type: ignore[attr-defined]
        return [
            OpenApiParameter(name=name, type=schema, location=OpenApiParameter.HEADER, description=text)
            for name, (schema, text) in HEADERS.items()
            if name in taken
        ]

    def get_auth(self) -> list[dict[str, list[str]]]:
        """An API key, an access token or either, depending on whether the permission is for programs, users or both."""
        needed = self.view.permissions[self.method]  # type: ignore[attr-defined]  # only ApiViews have this schema
        of_people = self.view.people.get(self.method, needed)  # type: ignore[attr-defined]
        found = {"ApiKey": self._takes_key(), "Bearer": of_people == PERSON or of_people in GRANTED}
        return [{name: []} for name, is_taken in found.items() if is_taken]

    def _takes_key(self) -> bool:
        return self.view.permissions[self.method] in PERMISSIONS  # type: ignore[attr-defined]  # as above

    def get_summary(self) -> str | None:
        """The first line of the handler's docstring."""
        first: str = (self.get_description() or "").partition("\n")[0]
        return first or None

    def _get_request_body(self, direction: Any = "request") -> Any:
        """Treats DELETE like POST: drf-spectacular would omit the body that forgetting has."""
        method = self.method
        self.method = "POST" if method == "DELETE" else method
        try:
            return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        finally:
            self.method = method

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if not operation:
            return operation
        self.resolve_serializer(self.refused, "response")
        for answer in operation["responses"].values():
            answer["headers"] = {name: _header(name) for name in ANSWER_HEADERS}
        for status in sorted(self._refusals(has_body="requestBody" in operation)):
            operation["responses"][str(status)] = {"$ref": f"#/components/responses/{self.refusal}{status}"}
        return operation

    def _refusals(self, *, has_body: bool) -> set[int]:
        statuses = {*OF_ALL, *self.view.refuses}  # type: ignore[attr-defined]  # only ApiViews have this schema
        if self.view.authentication_classes or has_body:
            statuses.update(WITH_KEY)
        if has_body:
            statuses.update(WITH_BODY)
        # A GET that requires a step-up creates something, such as a single-use link.
        if self.method != "GET" or self.method in self.view.fresh:  # type: ignore[attr-defined]  # as above
            statuses.update(CHANGING)
        if "{" in self.path:
            statuses.add(404)
        return {self.statuses.get(status, status) for status in statuses}

    def _resolve_path_parameters(self, variables: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]
        for parameter in parameters:
            if parameter["schema"].get("type") == "integer":
                parameter["schema"] |= {"minimum": 1, "maximum": LARGEST_ID, "format": "int64"}
        return parameters

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        """The schema of REST framework's field, plus the rules of our own fields."""
        schema = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if schema is None:
            return None
        if isinstance(field, serializers.ListField) and not field.allow_empty:
            schema["minItems"] = 1
        if hasattr(field, "published"):
            schema = {name: value for name, value in (schema | field.published(schema)).items() if value is not None}
        return schema

    def _get_serializer_field_meta(self, field: Any, direction: Any) -> dict[str, Any]:
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        body = getattr(field, "parent", None)
        if isinstance(body, Input) and body.takes_null(field.field_name):
            meta["nullable"] = True
        return meta

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        serializer = force_instance(serializer)  # type: ignore[no-untyped-call]
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        said_by = next(one for one in type(serializer).__mro__ if one.__doc__)
        if said_by.__module__ == Input.__module__:
            schema.pop("description", None)  # a base class's docstring is for developers
        return schema | _rules(serializer, schema["properties"]) if isinstance(serializer, Input) else schema

    def _get_request_for_media_type(self, serializer: Any, direction: Any = "request") -> tuple[Any, bool]:
        schema, is_required = super()._get_request_for_media_type(serializer, direction)  # type: ignore[no-untyped-call]
        body = force_instance(serializer)  # type: ignore[no-untyped-call]
        return schema, is_required or (isinstance(body, Input) and bool(body.some_of or body.one_of))


def _rules(body: Input, properties: dict[str, Any]) -> dict[str, Any]:
    """Rules of the object as a whole."""
    rules: dict[str, Any] = {"additionalProperties": False}
    if body.passed_over:
        rules["properties"] = properties | {
            name: {"description": "Ignored."} for name in body.passed_over if name not in properties
        }
    if body.some_of:
        rules["anyOf"] = [_given(name, properties, body) for name in body.some_of]
    if body.one_of:
        rules["oneOf"] = [_alone(name, properties, body) for name in body.one_of]
    elif body.aliases:  # one_of excludes both
        rules["allOf"] = [{"not": _both(names, properties)} for names in body.aliases.items()]
    return rules


def _both(names: Sequence[str], properties: dict[str, Any]) -> dict[str, Any]:
    """That both of these properties are present and not null."""
    return {"required": list(names), "properties": {name: _typed(properties[name]) for name in names}}


def _given(name: str, properties: dict[str, Any], body: Input) -> dict[str, Any]:
    """That a property is present and not null (null means absent)."""
    return {"required": [name], "properties": {name: _typed(properties[name]), **body.where_given.get(name, {})}}


def _alone(name: str, properties: dict[str, Any], body: Input) -> dict[str, Any]:
    """That it is present, and none of the other properties of ``one_of``."""
    given = _given(name, properties, body)
    if body.fields[name].allow_null:  # declared on the field itself: null means something
        given["properties"][name]["nullable"] = True
    given["properties"] |= {other: {"not": _typed(properties[other])} for other in body.one_of if other != name}
    return given


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": schema.get("type", "object")}  # without a type it references another body


def _header(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/headers/{name}"}


# What begins the names of error responses, and their schema.
_REFUSALS: Final = (
    ("Refused", "RefusalOutput"),
    ("ProfileRefused", "ProfileRefusalOutput"),
    ("PlatformRefused", "PlatformRefusalOutput"),
    ("Mem0Refused", "Mem0RefusalOutput"),
)


def add_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Postprocessing hook of drf-spectacular: add the error responses shared by all operations, each defined once."""
    result["components"]["headers"] = ANSWER_HEADERS
    result["components"]["securitySchemes"] = SCHEMES
    result["components"]["responses"] = {
        f"{prefix}{status}": _refusal(status, schema)
        for prefix, schema in _REFUSALS
        for status in sorted({*OF_ALL, *WITH_KEY, *WITH_BODY, *CHANGING, *OF_SOME})
    }
    return result


def _refusal(status: int, schema: str) -> dict[str, Any]:
    kinds = {status: kind for kind, status in reversed(list(STATUSES.items()))}
    return {
        "description": (kinds[status].__doc__ or "").partition("\n")[0],
        "headers": {name: _header(name) for name in ANSWER_HEADERS} | REFUSAL_HEADERS.get(status, {}),
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }
