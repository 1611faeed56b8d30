"""/v1/sessions: the sessions of an end user's memories and turns, and their summaries."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Flag, Label, WholeInQuery
from apps.api.input_serializers import OWNERS, Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.ingest.session_summaries import summarize_session
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


class SummarizeSessionInput(Input):
    """Which session."""

    passed_over = OWNERS

    session_id = Label(max_length=256)
    force = Flag(default=False, help_text="Also before 20 turns, or 10 minutes after the last.")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class SessionSummaryOutput(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    memory_id = serializers.IntegerField(allow_null=True, help_text="The session's current summary.")
    turns_compressed = serializers.IntegerField(help_text="What this call summarized; 0 if nothing was due.")
    from_at = serializers.DateTimeField(allow_null=True, help_text="When the first of them was stored.")
    to_at = serializers.DateTimeField(allow_null=True)


class SummarizeSessionView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "summarize_session",
        request=SummarizeSessionInput,
        examples=[OpenApiExample("at once", {"session_id": "s1", "force": True}, request_only=True)],
        responses=SessionSummaryOutput,
    )
    def post(self, request: Request) -> Response:
        """Summarize a session in a memory made of sentences of its turns, or of its memories where it has no turns.

        It replaces the session's summary before.  Turns are read only with the permission `history:read`.
        """
        fields = self.read(SummarizeSessionInput)
        scope = self.reader(fields.get("end_user_id"), writes=True)
        made = summarize_session(
            scope,
            fields["session_id"],
            with_turns="history:read" in scope.permissions,
            force=fields["force"],
            now=self.now(),
        )
        body = {
            "ok": True,
            "memory_id": made.memory_id,
            "turns_compressed": made.turns,
            "from_at": made.from_at,
            "to_at": made.to_at,
        }
        return Response(body)
