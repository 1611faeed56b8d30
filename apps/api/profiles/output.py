"""Typed memories as responses have them."""

from datetime import datetime
from typing import Any

import orjson
from rest_framework import serializers

from apps.memories.opened import OpenedMemory
from apps.memories.typed import KEYED, NAMES, typed_name


class TypedMemoryOutput(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`mem_` and 32 hex digits.")
    type = serializers.ChoiceField(choices=NAMES)
    topic_key = serializers.CharField(allow_null=True)
    summary = serializers.CharField()
    content = serializers.JSONField(help_text="Of a memory that was not stated typed, its `text`.")
    keywords = serializers.CharField(allow_blank=True)
    session_id = serializers.CharField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    created_at = serializers.IntegerField(help_text="Milliseconds since 1970.")
    expires_at = serializers.IntegerField(allow_null=True)
    superseded_by = serializers.CharField(allow_null=True)
    superseded_at = serializers.IntegerField(allow_null=True)


class DescribedTypedMemoryOutput(TypedMemoryOutput):
    supersedes = serializers.ListField(child=serializers.CharField())


class FoundTypedMemoryOutput(TypedMemoryOutput):
    score = serializers.FloatField()
    channels = serializers.ListField(child=serializers.CharField())


def typed_body(memory: OpenedMemory, *, successor: str | None) -> dict[str, Any]:
    """successor: public id of the memory that replaced it."""
    called = typed_name(memory.type)
    text = memory.text.reveal()
    return {
        "id": memory.public_id,
        "type": called,
        "topic_key": memory.key if called in KEYED else None,
        "summary": memory.summary.reveal() if memory.summary else text,
        "content": orjson.loads(memory.content.reveal()) if memory.content else {"text": text},
        "keywords": memory.keywords.reveal() if memory.keywords else "",
        "session_id": memory.session,
        "source": memory.source or None,
        "created_at": milliseconds(memory.created_at),
        "expires_at": milliseconds(memory.expires_at),
        "superseded_by": successor,
        "superseded_at": milliseconds(memory.superseded_at),
    }


def milliseconds(moment: datetime | None) -> int | None:
    """Since 1970."""
    return None if moment is None else round(moment.timestamp() * 1000)
