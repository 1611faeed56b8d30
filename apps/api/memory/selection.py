"""Request fields that select memories to forget."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from apps.api.collection_fields import Tags
from apps.api.fields import LABEL, Flag, Label, Moment, Text, Whole
from apps.api.fields import Choice as OneOf
from apps.api.input_serializers import Input
from apps.retention.memory_selection import MemorySelection

MOST_IDS: Final = 10_000
MAX_REASON: Final = 1_000  # characters
TIERS: Final = ("hot", "warm", "cold")


class MemoryIds(serializers.ListField):
    default_error_messages: ClassVar = {
        "required": "field required",
        "not_a_list": "must be a list",
        "empty": "must hold at least one id",
        "max_length": "must hold at most {max_length} ids",
    }


class SomeTags(Tags):
    """At least one tag: an empty list would match every memory."""

    default_error_messages: ClassVar = {"empty": "must hold at least one tag"}

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        tags = super().to_internal_value(data)
        if not tags:
            self.fail("empty")
        return tags

    def published(self, mapped: dict[str, Any]) -> dict[str, Any]:
        schema = super().published(mapped)
        return schema | {"minItems": 1, "items": schema["items"] | {"pattern": LABEL}}


class ForgetFilters(Input):
    """A memory must match all given filters and have all of the tags."""

    some_of = ("source", "event_type", "tags", "tier", "before", "after")

    source = Label(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    event_type = Label(required=False)
    tags = SomeTags(required=False, help_text="A memory must have all of them, unlike in a query.")
    tier = OneOf(choices=TIERS, required=False)
    before = Moment(required=False, help_text="Stored before this time or day.")
    after = Moment(required=False, is_end=True, help_text="Stored after this time or day.")

    def validate(self, attrs: Any) -> Any:
        if not attrs:
            raise serializers.ValidationError("give at least one of: " + ", ".join(self.fields), "empty")
        return attrs


class ChoiceInput(Input):
    """Either ``memory_ids`` or ``filters``."""

    one_of = ("memory_ids", "filters")

    memory_ids = MemoryIds(child=Whole(), required=False, allow_empty=False, max_length=MOST_IDS)
    filters = ForgetFilters(required=False)
    reason = Text(required=False, allow_blank=True, max_length=MAX_REASON, help_text="Stored encrypted.")

    def validate(self, attrs: Any) -> Any:
        if ("memory_ids" in attrs) == ("filters" in attrs):
            raise serializers.ValidationError("give either memory_ids or filters", "selector")
        return attrs


class ForgetInput(ChoiceInput):
    """Either ``memory_ids`` or ``filters``; ``dry_run`` only with filters."""

    where_given: ClassVar = {"memory_ids": {"dry_run": {"not": {"enum": [True]}}}}

    dry_run = Flag(default=False)

    def validate(self, attrs: Any) -> Any:
        if attrs["dry_run"] and "memory_ids" in attrs:
            # Ignoring dry_run would delete what the caller only wanted to preview.
            alone = ErrorDetail("goes together with filters only", "selector")
            raise serializers.ValidationError({"dry_run": [alone]})
        return super().validate(attrs)


def choice_of(fields: Mapping[str, Any]) -> MemorySelection:
    """The selection that the fields of a ChoiceInput describe."""
    return MemorySelection(memory_ids=tuple(dict.fromkeys(fields.get("memory_ids", ()))), **fields.get("filters", {}))
