"""POST /memory/batch-update: change up to a hundred memories at once."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Whole
from apps.api.input_serializers import Input
from apps.api.memory.items import EditInput, edit_of
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.editing import Edited, EditStatus, edit_many

MAX_ITEMS: Final = 100


class BatchItemInput(EditInput):
    """One memory and its changes; at least one field."""

    memory_id = Whole(min_value=1)


class BatchItems(serializers.ListField):
    default_error_messages: ClassVar = {
        "required": "field required",
        "null": "must not be null",
        "not_a_list": "must be a list",
        "empty": "must hold at least one item",
        "max_length": "must hold at most {max_length} items",
    }

    def to_internal_value(self, data: Any) -> Any:
        items = super().to_internal_value(data)
        seen: set[int] = set()
        for index, item in enumerate(items):
            if item["memory_id"] in seen:
                again = ErrorDetail("is named twice", "duplicate")
                raise serializers.ValidationError([*([{}] * index), {"memory_id": [again]}])
            seen.add(item["memory_id"])
        return items


class BatchInput(Input):
    """Up to a hundred memories, each once."""

    items = BatchItems(child=BatchItemInput(), allow_empty=False, max_length=MAX_ITEMS)


class BatchResultOutput(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    memory_id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=[status.value for status in EditStatus])
    changed_fields = serializers.ListField(child=serializers.CharField())


class BatchOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    updated = serializers.IntegerField()
    not_found = serializers.IntegerField()
    read_only = serializers.IntegerField()  # type: ignore[assignment]  # the wire's name, not DRF's
    results = BatchResultOutput(many=True)


class BatchUpdateView(ApiView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "batch_update",
        request=BatchInput,
        examples=[
            OpenApiExample(
                "two memories",
                {"items": [{"memory_id": 7, "tags": ["home"]}, {"memory_id": 8, "importance": 0.9}]},
                request_only=True,
            )
        ],
        responses={207: BatchOutput},
    )
    def post(self, request: Request) -> Response:
        """Change up to a hundred memories in one transaction; results are in the order of the items.

        A memory of another end user is reported as `not_found`, an archived or replaced one as `read_only`; the others
        are changed.  An invalid item rejects the whole request.
        """
        fields, now = self.read(BatchInput), self.now()
        scope = self.reader(writes=True)
        results = edit_many(scope, [edit_of(scope, item["memory_id"], item) for item in fields["items"]], now=now)
        return Response(_body(results), status=207)


def _body(results: Sequence[Edited]) -> dict[str, Any]:
    counts = Counter(result.status for result in results)
    return {
        "total": len(results),
        "updated": counts[EditStatus.UPDATED],
        "not_found": counts[EditStatus.NOT_FOUND],
        "read_only": counts[EditStatus.READ_ONLY],
        "results": [
            {
                "index": index,
                "memory_id": result.memory_id,
                "status": result.status,
                "changed_fields": list(result.changed_fields),
            }
            for index, result in enumerate(results)
        ],
    }
