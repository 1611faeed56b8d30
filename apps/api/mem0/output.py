"""Memories as mem0's clients read them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from rest_framework import serializers

from apps.api.mem0.filters import MemoryFacts
from apps.api.mem0.ids import Mem0Id
from apps.api.schema import FindingOutput
from apps.memories.opened import OpenedMemory
from apps.memories.platform import content_of
from apps.memories.rewritten import number_of
from apps.memories.spaces import SpaceOwner
from apps.projects.scope import SpaceKind

LABELS: Final = "_mem0"  # in a memory's metadata: the IDs that its owner and session do not say
LABELLED: Final = ("agent_id", "app_id")
RESOLUTION: Final = timedelta(microseconds=1)


class Mem0RefusalOutput(serializers.Serializer[Any]):
    """Every error of the routes of mem0's clients has this shape."""

    detail = serializers.CharField()
    code = serializers.CharField(help_text="The code that other routes have.")
    request_id = serializers.CharField()
    details = FindingOutput(many=True, required=False)


class MessageOutput(serializers.Serializer[Any]):
    message = serializers.CharField()


class Mem0MemoryOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Stays the same when the memory is updated.")
    memory = serializers.CharField()
    user_id = serializers.CharField(allow_null=True)
    agent_id = serializers.CharField(allow_null=True)
    app_id = serializers.CharField(allow_null=True)
    run_id = serializers.CharField(allow_null=True)
    metadata = serializers.DictField(allow_null=True)
    categories = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="Its tags.")
    expiration_date = serializers.DateField(allow_null=True, help_text="The last day on which it is found.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class FoundMemoryOutput(Mem0MemoryOutput):
    """With the fields that were asked for, if any were."""

    score = serializers.FloatField(min_value=0, max_value=1)

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, field in fields.items():
            field.required = name == "id"
        return fields


class Mem0PageOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Mem0MemoryOutput(many=True)


def id_of(memory: OpenedMemory) -> str:
    return str(Mem0Id(space_id=memory.space_id, number=number_of(memory)))


def facts_of(memory: OpenedMemory, owner: SpaceOwner) -> MemoryFacts:
    """owner: of the space that it is in."""
    labels = memory.metadata.get(LABELS)
    labels = labels if isinstance(labels, Mapping) else {}
    content = content_of(memory)
    return MemoryFacts(
        id=id_of(memory),
        text=content.value,
        user_id=owner.name if owner.kind == SpaceKind.END_USER else None,
        agent_id=owner.name if owner.kind == SpaceKind.AGENT else labels.get("agent_id"),
        app_id=labels.get("app_id"),
        run_id=memory.session,
        created_at=content.created_at,
        updated_at=memory.updated_at,
        timestamp=memory.event_at or memory.valid_from,
        expiration_date=memory.expires_at,
        categories=memory.tags,
        metadata={name: value for name, value in memory.metadata.items() if name != LABELS},
    )


def memory_body(facts: MemoryFacts) -> dict[str, Any]:
    return {
        "id": facts.id,
        "memory": facts.text,
        "user_id": facts.user_id,
        "agent_id": facts.agent_id,
        "app_id": facts.app_id,
        "run_id": facts.run_id,
        "metadata": dict(facts.metadata) or None,
        "categories": list(facts.categories) or None,
        "expiration_date": _last_day(facts),
        "created_at": facts.created_at,
        "updated_at": facts.updated_at,
    }


def _last_day(facts: MemoryFacts) -> str | None:
    """The day of the last moment before its end."""
    return None if facts.expiration_date is None else f"{facts.expiration_date - RESOLUTION:%Y-%m-%d}"
