"""GET and PATCH /memory/{id}: read one memory, or change its labels."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import FieldValues, Metadata, Tags
from apps.api.fields import Flag, Fraction, Label
from apps.api.input_serializers import WriteInput
from apps.api.memory.memory_output import MemoryDetailsOutput, described_body
from apps.api.operations import operation
from apps.api.permissions import InsufficientScope
from apps.api.views import ApiView
from apps.apikeys.permissions import PINS
from apps.ingest.memory_details import describe_memory
from apps.memories.editing import Edit, edit
from apps.projects.scope import Scope
from apps.recall import read_log

EDITABLE: Final = ("tags", "importance", "metadata", "fields", "source", "event_type", "pinned")


class EditInput(WriteInput):
    """The changes; at least one field.  Omitted or null fields do not change."""

    some_of = EDITABLE

    tags = Tags(required=False, help_text="Replaces all tags; an empty list clears them.")
    importance = Fraction(required=False)
    metadata = Metadata(required=False, help_text="Replaces your whole object; an empty one clears it.")
    fields = FieldValues(required=False, help_text="Replaces all values of the fields of its type; {} clears them.")  # type: ignore[assignment]  # the wire's name, not DRF's
    source = Label(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False, allow_blank=True, help_text="A label, stored unencrypted; an empty string clears it."
    )
    event_type = Label(required=False, allow_blank=True, help_text="Stored unencrypted; an empty string clears it.")
    pinned = Flag(required=False, help_text=f"Kept whatever its age.  Needs the permission `{PINS}`.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if not any(name in fields for name in EDITABLE):
            missing = ErrorDetail(f"give at least one of: {', '.join(EDITABLE)}", "required")
            raise serializers.ValidationError({"non_field_errors": [missing]})
        return fields


def edit_of(scope: Scope, memory_id: int, fields: Mapping[str, Any]) -> Edit:
    """The edit that the fields of an EditInput describe.  Raises InsufficientScope."""
    if "pinned" in fields and PINS not in scope.permissions:
        raise InsufficientScope(f"Insufficient scope. Missing: {PINS}")
    return Edit(memory_id=memory_id, **{name: fields[name] for name in EDITABLE if name in fields})


class MemoryView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "PATCH": "memory:update"}

    @operation("get", responses=MemoryDetailsOutput)
    def get(self, request: Request, memory_id: int) -> Response:
        """Read one memory.  A memory of another end user is not found."""
        scope = self.reader(spans=True)
        found = describe_memory(scope, memory_id, now=self.now())
        read_log.record_read(scope)
        return Response(described_body(found))

    @operation(
        "update",
        request=EditInput,
        examples=[OpenApiExample("other tags", {"tags": ["home", "keys"], "importance": 0.9}, request_only=True)],
        responses=MemoryDetailsOutput,
    )
    def patch(self, request: Request, memory_id: int) -> Response:
        """Change a memory's tags, importance, metadata, fields, labels and pin.  Its text does not change.

        `tags`, `metadata` and `fields` replace the stored values.  `fields` must fit the memory's type
        (`GET /v1/types`), else 422 `BAD_FIELD_VALUES`.  The change is recorded in the memory's history.
        """
        fields, now = self.read(EditInput), self.now()
        scope = self.reader(writes=True)
        edit(scope, edit_of(scope, memory_id, fields), now=now)
        return Response(described_body(describe_memory(scope, memory_id, now=now)))
