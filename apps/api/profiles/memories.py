"""/v1/memory/{ns}/{profile}/memories: typed memories of a profile."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, Text, Whole
from apps.api.input_serializers import Input, WriteInput
from apps.api.operations import operation
from apps.api.permissions import KeyMayRetire
from apps.api.profiles.base import ProfileView
from apps.api.profiles.fields import Content, Vector
from apps.api.profiles.output import DescribedTypedMemoryOutput, typed_body
from apps.api.v1.history_fields import Entries
from apps.core.plaintext import Plaintext
from apps.ingest.typed import MOST, TypedOutcome, write_owned
from apps.memories.typed import KEYED, NAMES, TypedMemory
from apps.memories.typed_selectors import describe_typed
from apps.recall import read_log
from apps.retention.memory_selection import MemorySelection, soft_delete_selection

MAX_SUMMARY: Final = 8_000  # characters
LONGEST_TTL: Final = 10 * 366 * 86_400  # seconds


class TypedMemoryInput(WriteInput):
    """One memory."""

    type = Choice(choices=NAMES)
    topic_key = Label(required=False, max_length=256, help_text="Of a fact or an instruction: a newer one replaces it.")
    summary = Text(max_length=MAX_SUMMARY, help_text="One line.")
    content = Content(help_text="The memory itself; with type and topic key, it is its identity.")
    keywords = Text(required=False, max_length=MAX_SUMMARY, allow_blank=True, help_text="Searched with the summary.")
    embedding = Vector(required=False, help_text="Your own vector; else the server makes one.  Tasks have none.")
    session_id = Label(required=False, max_length=256)
    source = Label(required=False, help_text="The first writer's stays.")  # type: ignore[assignment]  # the wire's name
    ttl = Whole(
        required=False, min_value=0, max_value=LONGEST_TTL, help_text="Of a task, in seconds; 86400 by default."
    )

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if "topic_key" in fields and fields["type"] not in KEYED:
            raise serializers.ValidationError({"topic_key": [_refused("only a fact or an instruction has one")]})
        if "ttl" in fields and fields["type"] != "task":
            raise serializers.ValidationError({"ttl": [_refused("only a task has one")]})
        return fields


class TypedMemoriesInput(Input):
    """Up to 1,000 memories, stored together or not at all."""

    memories = Entries(child=TypedMemoryInput(), allow_empty=False, max_length=MOST)


class TypedResultOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=["created", "duplicate", "revived"])
    superseded = serializers.ListField(child=serializers.CharField(), help_text="The memories that this one replaced.")


class TypedResultsOutput(serializers.Serializer[Any]):
    results = TypedResultOutput(many=True)
    txid = serializers.IntegerField(help_text="Number of the profile's latest change.")


class TypedMemoriesView(ProfileView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "profile_add",
        request=TypedMemoriesInput,
        examples=[
            OpenApiExample(
                "a fact",
                {
                    "memories": [
                        {
                            "type": "fact",
                            "topic_key": "user.diet",
                            "summary": "vegan since 2026",
                            "content": {"diet": "vegan"},
                            "keywords": "food preference",
                        }
                    ]
                },
                request_only=True,
            )
        ],
        responses={201: TypedResultsOutput},
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Store typed memories in one transaction.

        Nothing is extracted.  A memory stated again is a duplicate, or, if it was replaced, becomes current again.  The
        profile is created if it does not exist.
        """
        memories = [typed_of(one) for one in self.read(TypedMemoriesInput)["memories"]]
        scope, owner = self.scope(writes=True), self.owner(ns, profile)
        outcome = write_owned(scope, owner, memories, is_batch=True, now=self.now())
        self.reached(outcome.txid)
        return Response(outcome_body(outcome), status=201)


class TypedMemoryView(ProfileView):
    permissions: ClassVar = {"GET": "memory:read", "DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("profile_memory", responses=DescribedTypedMemoryOutput)
    def get(self, request: Request, ns: str, profile: str, public_id: str) -> Response:
        """Get a memory, whether it is current or was replaced, with what replaced it and what it replaced."""
        scope = self.known(ns, profile)
        found = describe_typed(scope, public_id, now=self.now())
        read_log.record_read(scope)
        body = typed_body(found.memory, successor=found.successor)
        return Response(body | {"supersedes": list(found.supersedes)})

    @operation("profile_forget", request=None, responses={204: None})
    def delete(self, request: Request, ns: str, profile: str, public_id: str) -> Response:
        """Soft-delete a memory: refused for every API key unless the tenant's owner has set `key_deletes=retire`.

        What it replaced stays replaced.  To have it erased for good, request an erasure.
        """
        scope, now = self.known(ns, profile, writes=True), self.now()
        memory = describe_typed(scope, public_id, now=now).memory
        soft_delete_selection(scope, MemorySelection(memory_ids=(memory.id,)), now=now)
        return Response(None, status=204)


def typed_of(fields: Mapping[str, Any]) -> TypedMemory:
    ttl = fields.get("ttl")
    return TypedMemory(
        type=fields["type"],
        summary=Plaintext(fields["summary"].strip()),
        content=Plaintext(fields["content"]),
        topic_key=fields.get("topic_key"),
        keywords=Plaintext(keywords) if (keywords := fields.get("keywords", "").strip()) else None,
        vector=fields.get("embedding"),
        session_id=fields.get("session_id"),
        source=fields.get("source", ""),
        ttl=None if ttl is None else timedelta(seconds=ttl),
    )


def outcome_body(outcome: TypedOutcome) -> dict[str, Any]:
    return {
        "results": [
            {"id": one.public_id, "status": one.status, "superseded": list(one.superseded)}
            for one in outcome.results
            if one.is_stored
        ],
        "txid": outcome.txid,
    }


def _refused(message: str) -> ErrorDetail:
    return ErrorDetail(message, "not_of_type")
