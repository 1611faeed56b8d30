"""Fields of bodies of mem0's clients."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from apps.api.collection_fields import Metadata
from apps.api.fields import MESSAGES, Label, is_number
from apps.api.mem0.filters import IDS, LATEST, end_of_day
from apps.api.mem0.output import LABELS
from apps.api.views import MAX_END_USER_ID


class OwnMetadata(Metadata):
    """The caller's own object, without the name under which this server keeps labels."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        metadata = super().to_internal_value(data)
        if LABELS in metadata:
            raise serializers.ValidationError({LABELS: [ErrorDetail("is set by the platform", "platform_owned")]})
        return metadata


@extend_schema_field({"type": "string", "format": "date"})
class LastDay(serializers.Field[datetime, Any, Any, Any]):
    """A day as YYYY-MM-DD, on which it is found for the last time.  Validates to its end."""

    default_error_messages = MESSAGES | {"day": "must be a day, such as 2027-01-31"}

    def to_internal_value(self, data: Any) -> datetime:
        end = end_of_day(data) if isinstance(data, str) else None
        if end is None:
            self.fail("day")
        return end


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": LATEST})
class Seconds(serializers.Field[datetime, Any, Any, Any]):
    """Seconds since 1970."""

    default_error_messages = MESSAGES | {"seconds": "must be seconds since 1970"}

    def to_internal_value(self, data: Any) -> datetime:
        if not is_number(data) or not 0 <= data <= LATEST:
            self.fail("seconds")
        return datetime.fromtimestamp(data, UTC)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "object", "required": ["type"]}},
        ]
    }
)
class MessageContent(serializers.Field[str, Any, Any, Any]):
    """A text, or parts of which only those of text count; empty if there is none."""

    default_error_messages = MESSAGES | {"content": "must be a text, or a list of parts with a type, such as text"}

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, list):
            if not all(_is_part(part) for part in data):
                self.fail("content")
            data = "\n".join(part["text"] for part in data if part["type"] == TEXT_PART)
        if not isinstance(data, str):
            self.fail("content")
        if len(data) > MAX_CONTENT:
            self.fail("max_length", max_length=MAX_CONTENT)
        return data if data.strip() else ""


MAX_CONTENT: Final = 1_048_576  # characters
TEXT_PART: Final = "text"  # the type of a part


def _is_part(part: Any) -> bool:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != TEXT_PART or isinstance(part.get("text"), str)


@extend_schema_field({"type": "object", "additionalProperties": True})
class FilterExpression(serializers.Field[Any, Any, Any, Any]):
    """An expression of the filter language (``apps.api.mem0.filters``), which the handler reads."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("object")
        return data


def id_fields() -> dict[str, Any]:
    """The four IDs, each optional."""
    return {name: Label(required=False, max_length=MAX_END_USER_ID) for name in IDS}
