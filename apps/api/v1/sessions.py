"""GET /v1/sessions: the sessions of an end user's memories and turns."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.ingest.sessions import list_sessions
from apps.recall import read_log


class SessionsInput(Parameters):
    """Which page."""

    limit = WholeInQuery(default=100, min_value=1, max_value=500)
    offset = WholeInQuery(default=0, help_text="How many of the most recently active to skip.")


class ConversationSessionOutput(serializers.Serializer[Any]):
    session_id = serializers.CharField()
    created_at = serializers.DateTimeField(help_text="When its first memory or turn was stored.")
    last_active_at = serializers.DateTimeField(help_text="When its latest memory or turn was stored.")
    memories = serializers.IntegerField()
    turns = serializers.IntegerField(
        allow_null=True, help_text="Of `/v1/history`; null for a key without `history:read`."
    )


class ConversationSessionsOutput(serializers.Serializer[Any]):
    sessions = ConversationSessionOutput(many=True)
    total = serializers.IntegerField(help_text="Of all pages.")


class ConversationSessionsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("list_conversation_sessions", parameters=[SessionsInput], responses=ConversationSessionsOutput)
    def get(self, request: Request) -> Response:
        """List an end user's sessions, the most recently active first.

        A session is whatever `session_id` an add or a stored turn named.  Without the permission `history:read`, only
        sessions of memories are listed.
        """
        asked, scope = self.read_parameters(SessionsInput), self.reader()
        with_turns = "history:read" in scope.permissions
        page = list_sessions(scope, with_turns=with_turns, limit=asked["limit"], offset=asked["offset"], now=self.now())
        read_log.record_read(scope)
        body = {
            "sessions": [
                {
                    "session_id": one.id,
                    "created_at": one.created_at,
                    "last_active_at": one.last_active_at,
                    "memories": one.memories,
                    "turns": one.turns if with_turns else None,
                }
                for one in page.sessions
            ],
            "total": page.total,
        }
        return Response(body)
