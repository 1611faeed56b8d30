"""The base of the views of agent platforms: owners, labels, bodies as in seed 001 (docs/agent-platforms.md)."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.response import Response

from apps.api.errors import status_of
from apps.api.fields import Choice, Label
from apps.api.input_serializers import Parameters
from apps.api.platform.output import PlatformRefusalOutput
from apps.api.schema import ApiSchema
from apps.api.views import MAX_END_USER_ID, ApiView
from apps.core.errors import DomainError
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import SpaceOwner, find_owned
from apps.projects.scope import Scope

SCOPES: Final = ("global", "project", "agent")
MAX_NAME: Final = MAX_END_USER_ID  # characters
CODES: Final[Mapping[int, str]] = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    402: "PAYMENT_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "BAD_REQUEST",
    409: "CONFLICT",
    411: "LENGTH_REQUIRED",
    413: "PAYLOAD_TOO_LARGE",
    415: "BAD_REQUEST",
    422: "VALIDATION_ERROR",
    429: "TOO_MANY_REQUESTS",
    503: "SERVICE_UNAVAILABLE",
}


class AgentInput(Parameters):
    """Which of the caller's memories: those of the end user, of the project and, if one is named, of an agent."""

    agentId = Label(required=False, max_length=MAX_NAME, help_text="Also the memories of this agent.")  # noqa: N815  (the wire's name)
    workspaceId = Label(required=False, max_length=MAX_NAME, help_text="Only of this workspace; else of none.")  # noqa: N815


class ReachInput(AgentInput):
    """The same, or those of one scope."""

    scope = Choice(required=False, choices=SCOPES, help_text="Only memories of this scope.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        check_agent(fields.get("scope"), fields)
        return fields


def check_agent(scope: str | None, fields: Mapping[str, Any]) -> None:
    """Raises ValidationError if the scope and ``agentId`` do not go together."""
    if scope == "agent" and "agentId" not in fields:
        raise serializers.ValidationError({"agentId": [ErrorDetail("name the agent", "required")]})
    if scope in ("global", "project") and "agentId" in fields:
        raise serializers.ValidationError({"agentId": [ErrorDetail("only with the scope agent", "not_of_scope")]})


class PlatformSchema(ApiSchema):
    refused = PlatformRefusalOutput
    refusal = "PlatformRefused"


class PlatformView(ApiView):
    silent_answer: ClassVar = None
    schema = PlatformSchema()

    def refusal(self, error: DomainError, *, request_id: str) -> tuple[dict[str, Any], int]:
        """``{"success": false, "error": {"code", "message"}}``, with a code that clients of platforms know."""
        status = status_of(error)
        said: dict[str, Any] = {
            "code": CODES.get(status, "INTERNAL_ERROR"),
            "message": error.message,
            "reason": error.code,
        }
        if error.details:
            said["details"] = error.details
        return {"success": False, "error": said, "detail": error.message, "request_id": request_id}, status

    # --- for handlers -------------------------------------------------------------------------------------------------

    def owner(self, scope: str, agent: str | None) -> SpaceOwner:
        """Of memories of this scope.  agent: given if the scope is agent."""
        end_user = self.end_user(None)
        if scope == "agent":
            return SpaceOwner.agent(agent or "")
        return SpaceOwner.project() if scope == "project" else SpaceOwner.end_user(end_user)

    def owners(self, asked: Mapping[str, Any]) -> list[SpaceOwner]:
        """Those that a request reaches.  asked: fields of AgentInput or ReachInput."""
        agent = asked.get("agentId")
        wanted = [asked["scope"]] if "scope" in asked else [one for one in SCOPES if one != "agent" or agent]
        return [self.owner(one, agent) for one in wanted]


def with_owners(scope: Scope, owners: Sequence[SpaceOwner]) -> tuple[Scope, dict[int, SpaceOwner]]:
    """The scope with the spaces of these owners that exist, and the owner of each, by the space's id."""
    found = [(space, owner) for owner in owners if (space := find_owned(scope, owner))]
    return scope.in_spaces(*(space for space, _ in found)), {space.id: owner for space, owner in found}


def success(data: Any, *, status: int = 200) -> Response:
    return Response({"success": True, "data": data}, status=status)


def handle_in(path: str) -> uuid.UUID:
    """The id in a path.  Raises MemoryNotFound for what is no id."""
    try:
        return uuid.UUID(path)
    except ValueError:
        raise MemoryNotFound from None
