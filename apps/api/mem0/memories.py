"""/v1/memories/, /v1/batch/ and /v1/feedback/: single memories by their IDs, and deletes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final

from django.conf import settings
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Text
from apps.api.input_serializers import Input
from apps.api.mem0.adding import minutes_until
from apps.api.mem0.base import Mem0Input, Mem0Parameters, Mem0View, NotBuilt, OwnerLabels, OwnerMissing
from apps.api.mem0.fields import LastDay, OwnMetadata, id_fields
from apps.api.mem0.filters import ANY, IDS, Condition, Join, owners_of
from apps.api.mem0.output import LABELS, Mem0MemoryOutput, MessageOutput, facts_of, memory_body
from apps.api.operations import operation
from apps.api.permissions import KeyMayRetire
from apps.api.v1.history_fields import Entries
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.rewriting import Rewriting, rewrite
from apps.ingest.typed import ForbiddenContent
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.opened import OpenedMemory
from apps.memories.platform import content_of
from apps.memories.rewritten import get_numbered, number_of, version_ids, versions_of
from apps.memories.selectors import MemoryNotFound, list_memories
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.retention.memory_selection import MemorySelection, soft_delete_selection

MAX_TEXT: Final = 1_048_576  # characters
MAX_REASON: Final = 10_000
MOST_IN_BATCH: Final = 100
MOST_DELETED: Final = 20_000  # of an owner, by one request
CHANGED: Final = ("text", "metadata", "expiration_date")
SIGNALS: Final = {
    "POSITIVE": (Signal.POSITIVE, 1),
    "NEGATIVE": (Signal.NEGATIVE, 1),
    "VERY_NEGATIVE": (Signal.NEGATIVE, 2),
}


class ChangedFields(Mem0Input):
    """What changes: at least one field."""

    unbuilt = ("timestamp",)
    some_of: ClassVar[tuple[str, ...]] = ("text", "metadata")

    text = Text(required=False, max_length=MAX_TEXT)
    metadata = OwnMetadata(required=False, help_text="Replaces all metadata.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if not any(name in fields for name in CHANGED) and not self.clears(data):
            missing = ErrorDetail(f"give at least one of: {', '.join(CHANGED)}", "required")
            raise serializers.ValidationError({"non_field_errors": [missing]})
        return fields

    def clears(self, data: Any) -> bool:
        return False


class Mem0UpdateInput(ChangedFields):
    """What changes: at least one field."""

    some_of = ()

    expiration_date = LastDay(required=False, help_text="null: it has no end any more.")

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(data) | {"never_expires": self.clears(data)}

    def clears(self, data: Any) -> bool:
        return isinstance(data, dict) and "expiration_date" in data and data["expiration_date"] is None


class BatchUpdateItem(ChangedFields):
    """A memory, and what changes of it."""

    memory_id = Text(max_length=64)


class BatchDeleteItem(Input):
    """A memory."""

    memory_id = Text(max_length=64)


class Mem0BatchUpdateInput(Mem0Input):
    """Changes of several memories, each named once."""

    memories = Entries(child=BatchUpdateItem(), allow_empty=False, max_length=MOST_IN_BATCH)


class Mem0BatchDeleteInput(Mem0Input):
    """Several memories."""

    memories = Entries(child=BatchDeleteItem(), allow_empty=False, max_length=MOST_IN_BATCH)


class DeleteInput(Mem0Parameters):
    """What goes with it."""

    delete_linked = Choice(
        choices=("true", "false", "True", "False"), required=False, help_text="No effect: what it replaced goes too."
    )


class DeleteAllInput(Mem0Parameters):
    """Whose memories: all IDs that are given hold of each."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | id_fields()


class Mem0FeedbackInput(Mem0Input):
    never_null = frozenset({"feedback"})  # with null, mem0 takes feedback back
    memory_id = Text(max_length=64)
    feedback = Choice(choices=list(SIGNALS), help_text="VERY_NEGATIVE counts twice.")
    feedback_reason = Text(required=False, allow_blank=True, max_length=MAX_REASON, help_text="Stored encrypted.")


class Mem0FeedbackOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    feedback = serializers.ChoiceField(choices=list(SIGNALS))
    feedback_reason = serializers.CharField(allow_null=True)


class VersionOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    memory_id = serializers.UUIDField()
    old_memory = serializers.CharField(allow_null=True)
    new_memory = serializers.CharField()
    event = serializers.CharField(help_text="ADD or UPDATE.")
    input = serializers.JSONField(allow_null=True, help_text="Messages are not kept: null.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class Mem0MemoryView(Mem0View):
    permissions: ClassVar = {"GET": "memory:read", "PUT": "memory:update", "DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("mem0_get", parameters=[Mem0Parameters], responses=Mem0MemoryOutput)
    def get(self, request: Request, mem0_id: str) -> Response:
        """Get a memory."""
        self.read_parameters(Mem0Parameters)
        scope, owned, number = self.found(mem0_id)
        memory = get_numbered(scope, number, now=self.now())
        read_log.record_read(scope)
        return Response(memory_body(facts_of(memory, owned.owner)))

    @operation(
        "mem0_update",
        request=Mem0UpdateInput,
        parameters=[Mem0Parameters],
        examples=[OpenApiExample("another text", {"text": "Ana is vegetarian."}, request_only=True)],
        responses=Mem0MemoryOutput,
    )
    def put(self, request: Request, mem0_id: str) -> Response:
        """Change a memory: its ID stays.  What it said before stays in its history."""
        self.read_parameters(Mem0Parameters)
        fields, now = self.read(Mem0UpdateInput), self.now()
        scope, owned, number = self.found(mem0_id, writes=True)
        with forbidden_at("text"):
            memory = _changed(scope, number, fields, now=now)
        return Response(memory_body(facts_of(memory, owned.owner)))

    @operation("mem0_delete", request=None, parameters=[DeleteInput], responses={200: MessageOutput})
    def delete(self, request: Request, mem0_id: str) -> Response:
        """Soft-delete a memory: a person can restore it for seven days.

        Refused for every API key (403 `STEP_UP_REQUIRED`) unless the tenant's owner has set `key_deletes=retire`.
        """
        self.read_parameters(DeleteInput)
        scope, _, number = self.found(mem0_id)
        _delete(scope, number, now=self.now())
        return Response({"message": "Memory deleted successfully!"})


class Mem0HistoryView(Mem0View):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("mem0_history", parameters=[Mem0Parameters], responses=VersionOutput(many=True))
    def get(self, request: Request, mem0_id: str) -> Response:
        """What a memory said, oldest first: an ADD, then an UPDATE for each new text."""
        self.read_parameters(Mem0Parameters)
        scope, _, number = self.found(mem0_id)
        now = self.now()
        get_numbered(scope, number, now=now)
        versions = versions_of(scope, number, now=now)
        read_log.record_read(scope)
        return Response(_history(mem0_id, versions))


class Mem0MemoriesView(Mem0View):
    permissions: ClassVar = {"DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("mem0_delete_all", request=None, parameters=[DeleteAllInput], responses={200: MessageOutput})
    def delete(self, request: Request) -> Response:
        """Soft-delete the memories of a user, agent, app or run, at most 20,000 at a time.

        As a single delete, refused unless the tenant's owner has set `key_deletes=retire`.
        """
        delete_all(self, self.labels(self.read_parameters(DeleteAllInput)))
        return Response({"message": "Memories deleted successfully!"})


class Mem0BatchView(Mem0View):
    permissions: ClassVar = {"PUT": "memory:update", "DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("mem0_batch_update", request=Mem0BatchUpdateInput, responses=MessageOutput)
    def put(self, request: Request) -> Response:
        """Change up to 100 memories: all of them, or none."""
        items, now = self.read(Mem0BatchUpdateInput)["memories"], self.now()
        with tenant_transaction(self.caller):
            for scope, number, place in self._each(items, writes=True):
                with forbidden_at("memories", place, "text"):
                    _changed(scope, number, items[place], now=now)
        return Response({"message": f"Successfully updated {len(items)} memories"})

    @operation("mem0_batch_delete", request=Mem0BatchDeleteInput, responses={200: MessageOutput})
    def delete(self, request: Request) -> Response:
        """Soft-delete up to 100 memories: all of them, or none; as a single delete."""
        items, now = self.read(Mem0BatchDeleteInput)["memories"], self.now()
        with tenant_transaction(self.caller):
            for scope, number, _ in self._each(items):
                _delete(scope, number, now=now)
        return Response({"message": f"Successfully deleted {len(items)} memories"})

    def _each(self, items: Sequence[Mapping[str, Any]], *, writes: bool = False) -> list[tuple[Scope, int, int]]:
        """Scope, number and place in the body, in the order in which all code locks: by space, then by memory.

        Raises MemoryNotFound, ValidationError.
        """
        found = [(*self.found(item["memory_id"], writes=writes), place) for place, item in enumerate(items)]
        if len({(scope.space.id, number) for scope, _, number, _ in found}) < len(found):
            twice = ErrorDetail("name each memory once", "doubled")
            raise serializers.ValidationError({"memories": [twice]})
        every = [(scope, number, place) for scope, _, number, place in found]
        return sorted(every, key=lambda one: (one[0].space.id, one[1]))


class Mem0FeedbackView(Mem0View):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "mem0_feedback",
        request=Mem0FeedbackInput,
        examples=[
            OpenApiExample(
                "of use",
                {"memory_id": "00000000-0001-8000-8000-000000000007", "feedback": "POSITIVE"},
                request_only=True,
            )
        ],
        responses=Mem0FeedbackOutput,
    )
    def post(self, request: Request) -> Response:
        """Rate whether a memory was useful.  This changes its importance."""
        fields, now = self.read(Mem0FeedbackInput), self.now()
        scope, _, number = self.found(fields["memory_id"], writes=True)
        memory, reason = get_numbered(scope, number, now=now), fields.get("feedback_reason")
        signal, times = SIGNALS[fields["feedback"]]
        for _ in range(times):
            give_feedback(
                scope,
                memory.id,
                signal,
                comment=Plaintext(reason) if reason else None,
                moves_importance=settings.FEEDBACK_MOVES_IMPORTANCE,
                now=now,
            )
        return Response({"id": fields["memory_id"], "feedback": fields["feedback"], "feedback_reason": reason})


@contextmanager
def forbidden_at(*names: str | int) -> Iterator[None]:
    """Forbidden content is said to be in this field of the body."""
    try:
        yield
    except ForbiddenContent as refused:
        details = [{**detail, "loc": ["body", *names]} for detail in refused.details]
        where = ".".join(map(str, names))
        raise ForbiddenContent(f"{where}: {details[0]['msg']}", details=details) from None


def delete_all(view: Mem0View, labels: OwnerLabels) -> int:
    """Soft-delete the memories with all of these IDs; returns how many.  Raises OwnerMissing, NotBuilt."""
    named = {name: value for name in IDS if (value := getattr(labels, name)) is not None}
    if not named:
        raise OwnerMissing
    if ANY in named.values():
        raise NotBuilt("* deletes nothing: name one user, agent, app or run.")
    wanted = Join(
        join="AND", parts=[Condition(key=name, operator="eq", value=(value,)) for name, value in named.items()]
    )
    scope, owners = view.reached(owners_of(wanted))
    deleted, now = 0, view.now()
    for part in scope.parts():
        every = list_memories(part, limit=MOST_DELETED, now=now).memories
        mine = [one for one in every if wanted.accepts(facts_of(one, owners[one.space_id]))]
        deleted += len(_soft_delete(part, [number_of(one) for one in mine], now=now))
    return deleted


def _delete(scope: Scope, number: int, *, now: datetime) -> None:
    """Raises MemoryNotFound, also for one under a legal hold."""
    get_numbered(scope, number, now=now)
    if not _soft_delete(scope, [number], now=now):
        raise MemoryNotFound


def _soft_delete(scope: Scope, numbers: Sequence[int], *, now: datetime) -> list[int]:
    ids = version_ids(scope, numbers, now=now)
    if not ids:
        return []
    return soft_delete_selection(scope, MemorySelection(memory_ids=tuple(ids)), now=now)


def _changed(scope: Scope, number: int, fields: Mapping[str, Any], *, now: datetime) -> OpenedMemory:
    text, metadata, end = fields.get("text"), fields.get("metadata"), fields.get("expiration_date")
    minutes_until(end, now=now)
    if metadata is not None:
        labels = get_numbered(scope, number, now=now).metadata.get(LABELS)
        metadata = metadata | ({LABELS: labels} if labels else {})
    change = Rewriting(
        text=None if text is None else Plaintext(text),
        metadata=metadata,
        expires_at=end,
        never_expires=fields.get("never_expires", False),
    )
    return rewrite(scope, number, change, now=now)


def _history(memory_id: str, versions: Sequence[OpenedMemory]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    before: str | None = None
    for version in versions:
        text = content_of(replace(version, text=version.said)).value  # with words that ended since
        if text == before:
            continue
        entries.append(
            {
                "id": f"{memory_id}/{len(entries)}",
                "memory_id": memory_id,
                "old_memory": before,
                "new_memory": text,
                "event": "UPDATE" if entries else "ADD",
                "input": None,
                "created_at": version.created_at,
                "updated_at": version.updated_at,
            }
        )
        before = text
    return entries
