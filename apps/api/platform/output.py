"""Memories of agent platforms as responses have them."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from apps.api.schema import FindingOutput
from apps.memories.opened import OpenedMemory
from apps.memories.platform import content_of, handle_of
from apps.memories.spaces import SpaceOwner
from apps.projects.scope import SpaceKind

_SCOPES = {SpaceKind.END_USER: "global", SpaceKind.PROJECT: "project", SpaceKind.AGENT: "agent"}


class PlatformErrorOutput(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    reason = serializers.CharField(help_text="The code that other routes have.")
    details = FindingOutput(many=True, required=False)


class PlatformRefusalOutput(serializers.Serializer[Any]):
    """Every error of the routes of agent platforms has this shape."""

    success = serializers.BooleanField()
    error = PlatformErrorOutput()
    detail = serializers.CharField(help_text="The message again.")
    request_id = serializers.CharField()


class AssetOutput(serializers.Serializer[Any]):
    url = serializers.CharField()
    type = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)
    checksum = serializers.CharField(allow_null=True)


class PlatformMemoryOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Stays the same when the memory is changed.")
    memoryId = serializers.IntegerField(  # noqa: N815  (the wire's name)
        help_text="Of the memory that is there now, for routes that take numbers: a change makes another."
    )
    key = serializers.CharField(allow_null=True)
    value = serializers.CharField()
    summary = serializers.CharField(allow_null=True)
    category = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    importance = serializers.IntegerField(min_value=1, max_value=10)
    pinned = serializers.BooleanField()
    expiresAt = serializers.DateTimeField(allow_null=True)  # noqa: N815  (the wire's names)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    scope = serializers.ChoiceField(choices=list(_SCOPES.values()))
    agentId = serializers.CharField(allow_null=True)  # noqa: N815
    workspaceId = serializers.CharField(allow_null=True)  # noqa: N815
    sessionId = serializers.CharField(allow_null=True)  # noqa: N815
    messageIds = serializers.ListField(child=serializers.CharField())  # noqa: N815
    assets = AssetOutput(many=True)
    createdAt = serializers.DateTimeField()  # noqa: N815
    updatedAt = serializers.DateTimeField()  # noqa: N815


class SavedPlatformMemoryOutput(PlatformMemoryOutput):
    status = serializers.ChoiceField(choices=["created", "updated", "unchanged"])


class PlatformPageOutput(serializers.Serializer[Any]):
    items = PlatformMemoryOutput(many=True)
    page = serializers.IntegerField()
    limit = serializers.IntegerField()
    nextCursor = serializers.CharField(allow_null=True)  # noqa: N815
    hasMore = serializers.BooleanField()  # noqa: N815


def answer_of(data: serializers.Serializer[Any], name: str) -> type[serializers.Serializer[Any]]:
    """The body of a success with these data."""
    fields = {"success": serializers.BooleanField(), "data": data}
    return type(name, (serializers.Serializer,), fields)


PlatformMemoryAnswer = answer_of(PlatformMemoryOutput(), "PlatformMemoryAnswer")
SavedPlatformMemoryAnswer = answer_of(SavedPlatformMemoryOutput(), "SavedPlatformMemoryAnswer")
PlatformPageAnswer = answer_of(PlatformPageOutput(), "PlatformPageAnswer")


def importance_out(importance: float) -> int:
    return 1 + round(9 * importance)


def importance_in(importance: int) -> float:
    return (importance - 1) / 9


def memory_body(memory: OpenedMemory, owner: SpaceOwner) -> dict[str, Any]:
    content = content_of(memory)
    return {
        "id": str(handle_of(memory)),
        "memoryId": memory.id,
        "key": memory.key,
        "value": content.value,
        "summary": content.summary,
        "category": content.category,
        "tags": list(memory.tags),
        "importance": importance_out(memory.importance),
        "pinned": memory.pinned,
        "expiresAt": memory.expires_at,
        "source": memory.source or None,
        "scope": _SCOPES[owner.kind],
        "agentId": owner.name if owner.kind == SpaceKind.AGENT else None,
        "workspaceId": memory.workspace or None,
        "sessionId": memory.session,
        "messageIds": list(memory.messages),
        "assets": [asdict(asset) for asset in content.assets],
        "createdAt": content.created_at,
        "updatedAt": memory.updated_at,
    }
