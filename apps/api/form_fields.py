"""Fields of a multipart form, in which every part except the file is text."""

from typing import Any, ClassVar

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.collection_fields import MetadataOfSaid
from apps.api.input_serializers import Input
from apps.api.multipart import SentFile
from apps.api.parsers import parse
from apps.core.errors import DomainError


class FormInput(Input):
    """A form.  It has no null."""

    def takes_null(self, name: str) -> bool:
        return False


@extend_schema_field({"type": "string", "format": "binary"})
class FormFile(serializers.Field[SentFile, Any, Any, Any]):
    """The file part of a form."""

    default_error_messages: ClassVar = {"required": "field required", "file": "must be a file with a name"}

    def to_internal_value(self, data: Any) -> SentFile:
        if not isinstance(data, SentFile) or not data.name.strip():
            self.fail("file")
        return data


@extend_schema_field({"type": "boolean"})
class FormFlag(serializers.Field[bool, Any, Any, Any]):
    """``true`` or ``false``, as text."""

    default_error_messages: ClassVar = {"boolean": "must be true or false"}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, str) or data.strip().lower() not in {"true", "false"}:
            self.fail("boolean")
        return data.strip().lower() == "true"


@extend_schema_field({"type": "object", "additionalProperties": {}})
class FormMetadata(MetadataOfSaid):
    """An object, written as JSON in a text part; parsed as strictly as a body."""

    default_error_messages: ClassVar = {"json": "must be a JSON object, as text"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        try:
            found = parse(orjson.dumps(data) if isinstance(data, dict) else str(data).encode())
        except (DomainError, UnicodeError):
            self.fail("json")
        return super().to_internal_value(found)
