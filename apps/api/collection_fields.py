"""Fields for lists and objects: labels, tags, ids, weights and metadata."""

from collections.abc import Sequence
from typing import Any, Final

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from apps.api.fields import LABEL, MESSAGES, NO_CONTROL, Whole, is_label, is_number, read_moment
from apps.core.errors import TooLarge

MAX_METADATA: Final = 64 * 1024  # bytes of JSON
MAX_WEIGHT: Final = 1e6


class JsonObject(serializers.DictField):
    """A JSON object, stored unchanged."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("object")
        return data


class Metadata(JsonObject):
    """The caller's own object, stored unchanged.  Raises TooLarge past 64 KiB of JSON."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        metadata = super().to_internal_value(data)
        if len(orjson.dumps(metadata)) > MAX_METADATA:
            raise TooLarge(f"metadata is larger than {MAX_METADATA} bytes of JSON")
        return metadata


class FieldValues(JsonObject):
    """Values of the fields of a memory's type, by name.  Whether they fit it is known only with the memory."""


class MetadataOfSaid(Metadata):
    """Metadata of a text to remember: if it contains ``occurred_at``, that must be a time."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        metadata = super().to_internal_value(data)
        if metadata.get("occurred_at") is not None and read_moment(metadata["occurred_at"]) is None:
            raise serializers.ValidationError({"occurred_at": [ErrorDetail(MESSAGES["moment"], "moment")]})
        return metadata

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        moment = {"type": "string", "nullable": True, "anyOf": [{"format": "date-time"}, {"format": "date"}]}
        return {"properties": {"occurred_at": moment}}


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class Labels(serializers.Field[tuple[str, ...], Any, Any, Any]):
    """A list of labels, without duplicates, in order.  choices: the only allowed values."""

    default_error_messages = MESSAGES

    def __init__(
        self, *, max_items: int = 64, max_length: int = 64, choices: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(**options)
        self.max_items, self.max_length, self.choices = max_items, max_length, choices

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        if not isinstance(data, list):
            self.fail("strings")
        if len(data) > self.max_items:
            self.fail("many", max_items=self.max_items)
        for label in data:
            if not isinstance(label, str):
                self.fail("strings")
            if len(label) > self.max_length:
                self.fail("max_length", max_length=self.max_length)
            if not is_label(label):
                self.fail("control")
            if self.choices and label not in self.choices:
                self.fail("choice", choices=", ".join(self.choices))
        return tuple(dict.fromkeys(data))

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"items": self._item(), "maxItems": self.max_items}

    def _item(self) -> dict[str, Any]:
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        return {"type": "string", "maxLength": self.max_length, "pattern": NO_CONTROL}


class FilledLabels(Labels):
    """Labels that are not blank."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        names = super().to_internal_value(data)
        if not all(name.strip() for name in names):
            self.fail("blank")
        return names

    def _item(self) -> dict[str, Any]:
        return super()._item() | {"pattern": LABEL}


class Tags(Labels):
    """Tags: lower-cased, without blank ones."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        tags = (tag.strip().lower() for tag in super().to_internal_value(data))
        return tuple(dict.fromkeys(tag for tag in tags if tag))


@extend_schema_field({})
class OneOrMore(Labels):
    """A list of labels, or a single label."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        return super().to_internal_value([data] if isinstance(data, str) else data)

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"oneOf": [self._item(), {"type": "array", **super().published(mapped)}]}


class Ids(serializers.ListField):
    """A list of memory ids, without duplicates, in order; at least one."""

    default_error_messages = MESSAGES | {
        "not_a_list": "must be a list of ids",
        "empty": "must hold at least one id",
        "max_length": "must hold at most {max_length} ids",
    }

    def __init__(self, *, max_items: int, **options: Any) -> None:
        super().__init__(child=Whole(min_value=1), allow_empty=False, max_length=max_items, **options)

    def to_internal_value(self, data: Any) -> list[int]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        return list(super().to_internal_value(data))

    def run_validation(self, data: Any = serializers.empty) -> Any:
        # Duplicates are removed after counting, because the published limit counts them.
        ids = super().run_validation(data)
        return list(dict.fromkeys(ids)) if isinstance(ids, list) else ids


class Weights(serializers.DictField):
    """A weight for each factor of the score."""

    default_error_messages = MESSAGES

    def to_internal_value(self, data: Any) -> dict[str, float]:
        if not isinstance(data, dict) or len(data) > 16:
            self.fail("weights")
        if not all(is_number(weight) and 0 <= weight <= MAX_WEIGHT for weight in data.values()):
            self.fail("weights")
        return {name: float(weight) for name, weight in data.items()}

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        return {"additionalProperties": {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT}, "maxProperties": 16}
