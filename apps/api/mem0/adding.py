"""POST /v3/memories/add/, and the events that adds are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Flag, Label, WholeInQuery
from apps.api.input_serializers import Input
from apps.api.mem0.base import (
    EventNotFound,
    Mem0Input,
    Mem0Page,
    Mem0Parameters,
    Mem0View,
    OwnerLabels,
    page_links,
)
from apps.api.mem0.fields import FilterExpression, LastDay, MessageContent, OwnMetadata, Seconds, id_fields
from apps.api.mem0.filters import ANY, IDS, LATEST
from apps.api.mem0.ids import EVENT, Mem0Id
from apps.api.mem0.output import LABELLED, LABELS, id_of
from apps.api.memory.add import ROLES, TEN_YEARS
from apps.api.operations import operation
from apps.api.v1.history_fields import Entries
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import EXPLICIT, STORED, Outcome, Proposal
from apps.ingest.services import remember_owned
from apps.ingest.typed import refuse_forbidden_texts
from apps.memories.changes import Change, find_change, list_changes, txid_of_memories
from apps.memories.opened import OpenedMemory
from apps.memories.owners import find_owner, list_owners
from apps.memories.platform import content_of
from apps.memories.selectors import readable_memories
from apps.projects.scope import Scope
from apps.recall import read_log

MOST_MESSAGES: Final = 100
SPEAKS: Final = "user"
TOOL: Final = "tool"  # its messages are results of programs, which nobody said


class MessageInput(Input):
    """A message of a conversation, as OpenAI's API has it.  One of a tool, and one without text, is passed over."""

    passed_over = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations")

    role = Label(default=SPEAKS)
    content = MessageContent(required=False, help_text="A text, or parts, of which those of the type text count.")
    name = Label(required=False, max_length=256, help_text="Who speaks.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        return fields | {"role": ROLES.get(fields["role"].strip().lower(), SPEAKS)}


class Mem0AddInput(Mem0Input):
    """Messages to remember, and whose they are: IDs in the body, or in `filters`."""

    unbuilt = (
        "custom_instructions",
        "agent_custom_instructions",
        "custom_categories",
        "structured_data_schema",
        "immutable",
        "includes",
        "excludes",
        "enable_graph",
    )

    messages = Entries(child=MessageInput(), max_length=MOST_MESSAGES, allow_empty=False)
    filters = FilterExpression(required=False, help_text="The IDs, if the body has none.")
    metadata = OwnMetadata(required=False)
    infer = Flag(default=True, help_text="false: store each message as it is.")
    expiration_date = LastDay(required=False)
    timestamp = Seconds(required=False, help_text="When it was said; now by default.")

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | id_fields()

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        named = fields.pop("filters", {})
        if any(name not in IDS or not isinstance(value, str) for name, value in named.items()):
            only = ErrorDetail(f"may only name: {', '.join(IDS)}", "unknown_field")
            raise serializers.ValidationError({"filters": [only]})
        found = {**named, **fields}
        if wild := [name for name in IDS if found.get(name) == ANY]:
            raise serializers.ValidationError({wild[0]: [ErrorDetail("* means everybody in filters", "invalid")]})
        said = [one for one in found["messages"] if one.get("content") and one["role"] != TOOL]
        if not said:
            missing = ErrorDetail("give one with content that is text, of a user or an assistant", "required")
            raise serializers.ValidationError({"messages": [missing]})
        return found | {"messages": said}


class AddedDataOutput(serializers.Serializer[Any]):
    memory = serializers.CharField()


class AddedOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    event = serializers.CharField(help_text="ADD.")

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"data": AddedDataOutput()}  # ``data`` is a property of serializers


class Mem0AddOutput(serializers.Serializer[Any]):
    event_id = serializers.UUIDField()
    status = serializers.CharField(help_text="SUCCEEDED.")
    results = AddedOutput(many=True)


class Mem0EventOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    event_type = serializers.CharField(help_text="ADD.")
    status = serializers.CharField(help_text="SUCCEEDED.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField()
    latency = serializers.FloatField(allow_null=True, help_text="Not measured: null.")
    results = AddedOutput(many=True, help_text="What is left of it.")


class Mem0EventsInput(Mem0Page):
    """Which page."""

    page_size = WholeInQuery(default=50, min_value=1, max_value=100)


class Mem0EventsOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Mem0EventOutput(many=True)


class Mem0AddView(Mem0View):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "mem0_add",
        request=Mem0AddInput,
        examples=[
            OpenApiExample(
                "a message",
                {"messages": [{"role": "user", "content": "I am vegan and allergic to nuts."}], "user_id": "ana"},
                request_only=True,
            )
        ],
        responses=Mem0AddOutput,
    )
    def post(self, request: Request) -> Response:
        """Remember messages of an end user, of an agent, or of an app or run.

        The memories are there when the response is.  A memory with a `user_id` is that user's, whatever else it has.
        """
        fields, now = self.read(Mem0AddInput), self.now()
        labels = self.labels(fields)
        owner, proposals = labels.owner, _proposals(fields, labels, now=now)
        if not fields["infer"]:
            refuse_forbidden_texts("messages", [one.text.reveal() for one in proposals])
        scope, outcomes = remember_owned(self.scope(writes=True), owner, proposals, now=now)
        memories = _stored(scope, outcomes, now=now)
        return Response(
            {
                "event_id": str(_event_id(scope, memories, now=now)),
                "status": "SUCCEEDED",
                "results": [_added(memory) for memory in memories],
            }
        )


class Mem0EventView(Mem0View):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("mem0_event", parameters=[Mem0Parameters], responses=Mem0EventOutput)
    def get(self, request: Request, event_id: str) -> Response:
        """What an add stored, as far as it is still there."""
        self.read_parameters(Mem0Parameters)
        named, scope, now = self.event(event_id), self.scope(), self.now()
        if named.space_id == 0:  # it stored nothing
            at = datetime.fromtimestamp(min(named.number / 1000, LATEST), UTC)
            return Response(_event_body(event_id, at, []))
        owned = find_owner(scope, named.space_id, now=now)
        if owned is None:
            raise EventNotFound
        scope = scope.in_spaces(owned.space)
        change = find_change(scope, named.number, now=now)
        if change is None:
            raise EventNotFound
        memories = readable_memories(scope, change.memory_ids, now=now)
        read_log.record_read(scope)
        results = [_added(memory) for memory in memories]
        return Response(_event_body(event_id, change.created_at, results))


class Mem0EventsView(Mem0View):
    # It names what belongs to every end user.
    permissions: ClassVar = {"GET": "exports:read"}

    @operation("mem0_events", parameters=[Mem0EventsInput], responses=Mem0EventsOutput)
    def get(self, request: Request) -> Response:
        """The adds of all end users and agents that stored something, newest first, without what they stored."""
        asked, scope, now = self.read_parameters(Mem0EventsInput), self.scope(), self.now()
        scope = scope.in_spaces(*(one.space for one in list_owners(scope, now=now)))
        page, size = asked["page"], asked["page_size"]
        found = list_changes(scope, limit=size, offset=(page - 1) * size, now=now)
        read_log.record_report(scope, len(found.changes))
        links = page_links(self, page=page, page_size=size, total=found.total)
        return Response(links | {"results": [_listed(change) for change in found.changes]})


def _proposals(fields: Mapping[str, Any], labels: OwnerLabels, *, now: datetime) -> list[Proposal]:
    """Raises ValidationError for an end in the past."""
    stated = {name: getattr(labels, name) for name in LABELLED if getattr(labels, name) is not None}
    metadata = fields.get("metadata", {}) | ({LABELS: stated} if stated else {})
    whole = Proposal(
        text=Plaintext(""),
        session_id=labels.run_id,
        metadata=metadata,
        ttl_minutes=minutes_until(fields.get("expiration_date"), now=now),
        occurred_at=fields.get("timestamp"),
        importance=None if fields["infer"] else EXPLICIT,
        is_verbatim=not fields["infer"],
    )
    return [
        replace(
            whole,
            text=Plaintext(one["content"]),
            role=one["role"],
            speaker=one.get("name"),
        )
        for one in fields["messages"]
    ]


def minutes_until(end: datetime | None, *, now: datetime) -> int | None:
    """Whole minutes, so that it ends on its last day.  Raises ValidationError for a day that is over, or too far."""
    if end is None:
        return None
    minutes = math.floor((end - now).total_seconds() / 60)
    if not 1 <= minutes <= TEN_YEARS:
        raise serializers.ValidationError({"expiration_date": [ErrorDetail("must be in the next ten years", "past")]})
    return minutes


def _stored(scope: Scope, outcomes: Sequence[Outcome], *, now: datetime) -> list[OpenedMemory]:
    ids = [
        made.memory_id
        for outcome in outcomes
        for made in outcome.decisions
        if made.memory_id is not None and made.decision in STORED
    ]
    return readable_memories(scope, list(dict.fromkeys(ids)), now=now)


def _event_id(scope: Scope, memories: Sequence[OpenedMemory], *, now: datetime) -> Mem0Id:
    """Of the change that stored them; if nothing was stored, of the time."""
    txid = txid_of_memories(scope, [memory.id for memory in memories])
    if txid is None:
        return Mem0Id(kind=EVENT, space_id=0, number=int(now.timestamp() * 1000))
    return Mem0Id(kind=EVENT, space_id=scope.space.id, number=txid)


def _added(memory: OpenedMemory) -> dict[str, Any]:
    return {"id": id_of(memory), "data": {"memory": content_of(memory).value}, "event": "ADD"}


def _event_body(event_id: str, at: datetime, results: Sequence[Any]) -> dict[str, Any]:
    return {
        "id": event_id,
        "event_type": "ADD",
        "status": "SUCCEEDED",
        "created_at": at,
        "updated_at": at,
        "completed_at": at,
        "latency": None,
        "results": list(results),
    }


def _listed(change: Change) -> dict[str, Any]:
    event_id = Mem0Id(kind=EVENT, space_id=change.space_id, number=change.txid)
    return _event_body(str(event_id), change.created_at, [])
