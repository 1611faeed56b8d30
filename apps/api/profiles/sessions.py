"""/v1/memory/{ns}/{profile}/sessions: the sessions of a profile, their turns and their end; and its profiles."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, Text, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.permissions import InsufficientScope
from apps.api.profiles.base import ProfileView
from apps.api.profiles.output import milliseconds
from apps.core.errors import Malformed
from apps.core.plaintext import Plaintext
from apps.history.turns import NewTurn, read
from apps.ingest.conversation_sync import append_history, delete_history
from apps.ingest.sessions import end_session, list_sessions
from apps.memories.spaces import get_or_create_owned
from apps.memories.typed_selectors import list_profiles
from apps.recall import read_log

MOST: Final = 1_000
SOURCE: Final = "profile"  # of turns that are appended here


class SessionMalformed(Malformed):
    """A session has 1 to 256 characters and no control characters."""


class LimitInput(Parameters):
    """How many."""

    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)


class EndInput(Parameters):
    """Whether the turns are deleted too."""

    turns = Choice(
        choices=("true", "false"), default="false", help_text="Also delete its turns: needs `history:write`."
    )


class LastInput(Parameters):
    """How many."""

    last = WholeInQuery(default=20, min_value=1, max_value=MOST)


class TurnInput(Input):
    """One turn."""

    role = Label()
    content = Text()


class ProfileSessionOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    last_active_at = serializers.IntegerField()


class ProfileSessionsOutput(serializers.Serializer[Any]):
    sessions = ProfileSessionOutput(many=True)


class ProfileTurnOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    role = serializers.CharField()
    content = serializers.CharField()
    created_at = serializers.IntegerField()


class ProfileTurnsOutput(serializers.Serializer[Any]):
    turns = ProfileTurnOutput(many=True)


class SequenceOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="Grows from turn to turn.")


class ProfileOutput(serializers.Serializer[Any]):
    profile = serializers.CharField()


class ProfilesOutput(serializers.Serializer[Any]):
    profiles = ProfileOutput(many=True)


class ProfilesView(ProfileView):
    in_branches: ClassVar = False
    # As of exports: it names end users.
    permissions: ClassVar = {"GET": "exports:read"}

    @operation("profiles", parameters=[LimitInput], responses=ProfilesOutput)
    def get(self, request: Request, ns: str) -> Response:
        """List the profiles of a namespace, the newest first."""
        asked, scope = self.read_parameters(LimitInput), self.scope()
        self.owner(ns)
        names = list_profiles(scope, ns, limit=asked["limit"], now=self.now())
        read_log.record_report(scope, len(names))
        return Response({"profiles": [{"profile": name} for name in names]})


class ProfileSessionsView(ProfileView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("profile_sessions", parameters=[LimitInput], responses=ProfileSessionsOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """List sessions, the most recently active first.  Those of turns alone need `history:read`."""
        asked, scope = self.read_parameters(LimitInput), self.found(ns, profile)
        with_turns = "history:read" in scope.permissions
        page = list_sessions(scope, with_turns=with_turns, limit=asked["limit"], now=self.now())
        read_log.record_read(scope)
        body = [
            {
                "id": one.id,
                "created_at": milliseconds(one.created_at),
                "last_active_at": milliseconds(one.last_active_at),
            }
            for one in page.sessions
        ]
        return Response({"sessions": body})


class ProfileSessionView(ProfileView):
    permissions: ClassVar = {"DELETE": "memory:update"}

    @operation("profile_end_session", request=None, parameters=[EndInput], responses={204: None})
    def delete(self, request: Request, ns: str, profile: str, session_id: str) -> Response:
        """End a session: its tasks expire at once.  Its facts, events and instructions stay."""
        asked, session, now = self.read_parameters(EndInput), _session(session_id), self.now()
        scope = self.found(ns, profile, writes=True)
        if asked["turns"] == "true":
            if "history:write" not in scope.permissions:
                raise InsufficientScope("Insufficient scope. Missing: history:write")
            delete_history(scope, session_id=session, turn_ids=(), source=None, with_facts=False, now=now)
        end_session(scope, session, now=now)
        return Response(None, status=204)


class ProfileTurnsView(ProfileView):
    permissions: ClassVar = {"GET": "history:read", "POST": "history:write"}

    @operation("profile_turns", parameters=[LastInput], responses=ProfileTurnsOutput)
    def get(self, request: Request, ns: str, profile: str, session_id: str) -> Response:
        """The latest turns of a session, oldest first."""
        asked, session = self.read_parameters(LastInput), _session(session_id)
        scope = self.found(ns, profile)
        found = read(scope, session, source=None, limit=asked["last"], now=self.now())
        read_log.record_read(scope)
        body = [
            {
                "seq": turn.id,
                "role": turn.role,
                "content": turn.content.reveal(),
                "created_at": milliseconds(turn.created_at),
            }
            for turn in found.turns
        ]
        return Response({"turns": body})

    @operation(
        "profile_append",
        request=TurnInput,
        examples=[OpenApiExample("a turn", {"role": "user", "content": "I am vegan now."}, request_only=True)],
        responses={201: SequenceOutput},
    )
    def post(self, request: Request, ns: str, profile: str, session_id: str) -> Response:
        """Append a turn to a session.  Nothing is extracted from it."""
        fields, session, now = self.read(TurnInput), _session(session_id), self.now()
        owner, scope = self.owner(ns, profile), self.scope(writes=True)
        self._found = scope = scope.in_spaces(get_or_create_owned(scope, owner, now=now))
        turn = NewTurn(role=fields["role"], content=Plaintext(fields["content"]))
        done = append_history(
            scope, owner.name, session, [turn], source=SOURCE, metadata={}, extract=False, branch=owner.branch, now=now
        )
        return Response({"seq": done.turns[0].id}, status=201)


def _session(session_id: str) -> str:
    if not 0 < len(session_id) <= 256 or not session_id.strip() or not session_id.isprintable():
        raise SessionMalformed
    return session_id
