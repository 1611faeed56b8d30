"""GET /memory/{id}: one memory."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.memory.shapes import MemoryOutput, memory_body
from apps.api.views import ApiView
from apps.memories.selectors import get_memory
from apps.recall import access


class MemoryView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @extend_schema(operation_id="get", responses=MemoryOutput)
    def get(self, request: Request, memory_id: int) -> Response:
        """Read one memory.  One that is not the end user's is not found, as if there were none."""
        scope = self.reader()
        memory = get_memory(scope, memory_id, now=self.now())
        access.note_read(scope)
        return Response(memory_body(memory))
