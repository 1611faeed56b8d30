"""POST /memory/refresh: re-embed an end user's memories."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.services import request_refresh


class RefreshOutput(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["accepted"])
    job_id = serializers.CharField()
    memories = serializers.IntegerField()


class RefreshView(ApiView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation("refresh", request=None, responses={202: RefreshOutput})
    def post(self, request: Request) -> Response:
        """Re-embed all memories of one end user, in the background.  Repeating it while pending changes nothing."""
        asked = request_refresh(self.reader(), now=self.now())
        return Response({"status": "accepted", "job_id": asked.job_id, "memories": asked.memories}, status=202)
