"""/v1/memory/{ns}/{profile}/erasures: a program asks for an erasure, and a person confirms it in the browser."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.profiles.base import ProfileView
from apps.api.profiles.output import milliseconds
from apps.ingest.sessions import memories_of_session
from apps.memories.branches import with_branches
from apps.memories.selectors import MemoryNotFound
from apps.memories.typed import KEYED
from apps.memories.typed_selectors import describe_typed, ids_under, public_ids
from apps.projects.scope import Scope
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ForgetRequestNotFound, OpenedRequest, ask, get_request, list_requests
from apps.retention.states import RequestState

MOST: Final = 1_000
PREFIX: Final = "ers_"
STATUS: Final[Mapping[RequestState, str]] = {
    RequestState.PENDING: "pending",
    RequestState.CONFIRMED: "completed",
    RequestState.REFUSED: "refused",
    RequestState.EXPIRED: "expired",
    RequestState.CANCELLED: "cancelled",
}


class ErasureInput(Input):
    """Exactly one of a memory, a topic with its type, and a session."""

    one_of = ("memory_id", "topic_key", "session_id")

    memory_id = Label(required=False)
    topic_key = Label(required=False, max_length=256, help_text="Every memory under it, current or replaced.")
    type = Choice(choices=KEYED, required=False, help_text="Of the topic key.")
    session_id = Label(required=False, max_length=256, help_text="Every memory of it.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if len(fields.keys() & set(self.one_of)) != 1:
            raise _refusal("give exactly one of memory_id, topic_key and session_id")
        if ("topic_key" in fields) != ("type" in fields):
            raise _refusal("a topic_key needs its type, and only a topic_key has one")
        return fields


class ErasurePageInput(Parameters):
    """How many."""

    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)


class ErasureOutput(serializers.Serializer[Any]):
    erasure_id = serializers.CharField(help_text="`ers_` and a number.")
    status = serializers.ChoiceField(
        choices=sorted(STATUS.values()), help_text="`pending`: a person has to confirm it."
    )
    memory_ids = serializers.ListField(child=serializers.CharField(), help_text="Those that still exist.")
    requested_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    grace_until = serializers.IntegerField(help_text="Until then it can be confirmed.")
    completed_at = serializers.IntegerField(allow_null=True)


class ErasuresOutput(serializers.Serializer[Any]):
    erasures = ErasureOutput(many=True)


class ErasuresView(ProfileView):
    permissions: ClassVar = {"GET": "memory:forget_request", "POST": "memory:forget_request"}

    @operation("profile_erasures", parameters=[ErasurePageInput], responses=ErasuresOutput)
    def get(self, request: Request, ns: str, profile: str) -> Response:
        """List the erasures that were asked for, the newest first."""
        asked, scope = self.read_parameters(ErasurePageInput), self.found(ns, profile)
        page = list_requests(scope, limit=asked["limit"], now=self.now())
        return Response({"erasures": [_body(scope, one) for one in page.requests]})

    @operation(
        "profile_erase",
        request=ErasureInput,
        examples=[OpenApiExample("a topic", {"topic_key": "user.diet", "type": "fact"}, request_only=True)],
        responses={202: ErasureOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Ask for an erasure.  Nothing changes until a person confirms it in the browser, with a fresh step-up.

        The same memories asked for again are the same request while it is pending.
        """
        fields, now = self.read(ErasureInput), self.now()
        scope = self.known(ns, profile)
        if "memory_id" in fields:
            ids = [describe_typed(scope, fields["memory_id"], now=now).memory.id]
        elif "topic_key" in fields:
            parts = with_branches(scope)
            ids = [one for part in parts for one in ids_under(part, fields["type"], fields["topic_key"], now=now)]
        else:
            parts = with_branches(scope)
            ids = [one for part in parts for one in memories_of_session(part, fields["session_id"], now=now)]
        if not ids:
            raise MemoryNotFound
        made, _ = ask(scope, MemorySelection(memory_ids=tuple(ids)), now=now)
        return Response(_body(scope, made), status=202)


class ErasureView(ProfileView):
    permissions: ClassVar = {"GET": "memory:forget_request"}

    @operation("profile_erasure", responses=ErasureOutput)
    def get(self, request: Request, ns: str, profile: str, erasure_id: str) -> Response:
        """One erasure that was asked for."""
        scope = self.known(ns, profile)
        number = erasure_id.removeprefix(PREFIX)
        if erasure_id == number or not (number.isascii() and number.isdigit()) or len(number) > 18:
            raise ForgetRequestNotFound
        return Response(_body(scope, get_request(scope, int(number), now=self.now())))


def _body(scope: Scope, one: OpenedRequest) -> dict[str, Any]:
    return {
        "erasure_id": f"{PREFIX}{one.id}",
        "status": STATUS[one.state],
        "memory_ids": list(public_ids(scope, one.choice.memory_ids).values()),
        "requested_at": milliseconds(one.created_at),
        "grace_until": milliseconds(one.expires_at),
        "completed_at": milliseconds(one.decided_at) if one.state is RequestState.CONFIRMED else None,
    }


def _refusal(message: str) -> serializers.ValidationError:
    return serializers.ValidationError({"non_field_errors": [ErrorDetail(message, "one_selector")]})
