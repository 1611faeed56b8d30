"""GET /v1/memory/status/{id}: the processing status of one memory."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.selectors import get_memory


class StatusOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["pending", "ready"])
    embedded = serializers.BooleanField()
    embedding_version = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    error = serializers.CharField(allow_null=True)


class StatusView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("status", responses=StatusOutput)
    def get(self, request: Request, memory_id: int) -> Response:
        """The indexing state of a memory.  While it is pending it is found by keywords, but not yet by meaning."""
        memory = get_memory(self.reader(spans=True), memory_id, now=self.now())
        return Response(
            {
                "memory_id": memory.id,
                "status": "ready" if memory.is_embedded else "pending",
                "embedded": memory.is_embedded,
                "embedding_version": memory.embedder,
                "created_at": memory.created_at,
                "error": None,
            }
        )
