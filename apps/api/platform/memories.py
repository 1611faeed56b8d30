"""/api/v1/memories: memories of an end user, of an agent and of a project."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, NoReturn

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import FilledLabels, Tags
from apps.api.fields import Choice, ClampedInQuery, Flag, Label, Moment, Text, Whole
from apps.api.input_serializers import Input, WriteInput
from apps.api.operations import operation
from apps.api.permissions import ApiStepUpRequired, NoKeyDeletes
from apps.api.platform.base import (
    MAX_NAME,
    SCOPES,
    AgentInput,
    PlatformView,
    ReachInput,
    check_agent,
    handle_in,
    success,
    with_owners,
)
from apps.api.platform.output import (
    PlatformMemoryAnswer,
    PlatformPageAnswer,
    SavedPlatformMemoryAnswer,
    importance_in,
    memory_body,
)
from apps.api.v1.history_fields import Entries
from apps.apikeys.permissions import PINS
from apps.core.plaintext import Plaintext
from apps.ingest.platform import PlatformFields, SavedMemory, change, save
from apps.memories.opened import OpenedMemory
from apps.memories.platform import Asset, LabelFilter, get_by_handle
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import SpaceOwner
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.platform import PlatformQuery, find_memories

MAX_VALUE: Final = 10_000  # characters
MAX_SUMMARY: Final = 2_000
MAX_KEY: Final = 256
MAX_IN_ADDRESS: Final = 1_000  # characters of a question in an address, which has at most 4,094
MOST_MESSAGES: Final = 50  # of one memory
MOST_ASSETS: Final = 10
MOST: Final = 50  # memories on a page
MOST_PAGES: Final = 1_000
EDITABLE: Final = (
    "value",
    "summary",
    "category",
    "tags",
    "importance",
    "pinned",
    "expiresAt",
    "source",
    "messageIds",
    "assets",
)


class AssetInput(Input):
    """A file that is stored elsewhere.  Only this is stored of it, encrypted."""

    url = Text(max_length=2_048, help_text="Where it is; it is never fetched.")
    type = Label(required=False, max_length=127, help_text="Its media type.")
    name = Label(required=False, max_length=256)
    size = Whole(required=False, min_value=0, max_value=2**53 - 1, help_text="In bytes.")
    checksum = Label(required=False, max_length=256)


class ChangePlatformMemoryInput(WriteInput):
    """The changes; at least one field.  Omitted and null fields do not change."""

    some_of: ClassVar[tuple[str, ...]] = EDITABLE

    value = Text(required=False, max_length=MAX_VALUE)
    summary = Text(required=False, max_length=MAX_SUMMARY, allow_blank=True, help_text='"" removes it.')
    category = Label(required=False)
    tags = Tags(required=False, help_text="Replaces all tags; an empty list clears them.")
    importance = Whole(required=False, min_value=1, max_value=10)
    pinned = Flag(required=False, help_text=f"A change of it needs the permission `{PINS}`.")
    expiresAt = Moment(required=False, help_text="In the future.")  # noqa: N815  (the wire's name)
    source = Label(required=False, help_text="`manual`, `auto` or a tool's own label, stored unencrypted.")  # type: ignore[assignment]  # the wire's name, not DRF's

    messageIds = FilledLabels(  # noqa: N815
        required=False, max_items=MOST_MESSAGES, max_length=256, help_text="Of the messages that it is from."
    )
    assets = Entries(child=AssetInput(), required=False, max_length=MOST_ASSETS, help_text="Replaces all.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if self.some_of and not any(name in fields for name in EDITABLE):
            missing = ErrorDetail(f"give at least one of: {', '.join(EDITABLE)}", "required")
            raise serializers.ValidationError({"non_field_errors": [missing]})
        return fields


class PlatformMemoryInput(ChangePlatformMemoryInput):
    """A memory.  A new one has the category fact, the importance 5 and the source manual unless you say otherwise."""

    some_of = ()

    key = Label(required=False, max_length=MAX_KEY, help_text="A memory with this key is changed in place.")
    value = Text(max_length=MAX_VALUE)
    scope = Choice(choices=SCOPES, default="global")
    agentId = Label(required=False, max_length=MAX_NAME, help_text="With the scope agent: whose it is.")  # noqa: N815
    workspaceId = Label(required=False, max_length=MAX_NAME)  # noqa: N815
    sessionId = Label(required=False, max_length=256)  # noqa: N815
    dedupe = Choice(choices=("update", "create"), default="update", help_text="create: a new memory in any case.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        check_agent(fields["scope"], fields)
        return fields


class PlatformListInput(ReachInput):
    """What to find, and which page."""

    aliases: ClassVar = {"q": "query", "cursor": "page"}

    query = Text(required=False, max_length=MAX_IN_ADDRESS, help_text="In key, summary, value, category and tags.")
    q = Text(required=False, max_length=MAX_IN_ADDRESS, help_text="The same as `query`.")
    category = Label(required=False)
    tag = Label(required=False)
    sessionId = Label(required=False, max_length=256, help_text="Only memories from this session.")  # noqa: N815
    messageId = Label(required=False, max_length=256, help_text="Only memories from this message.")  # noqa: N815
    limit = ClampedInQuery(lowest=1, highest=MOST, default=5)
    page = ClampedInQuery(lowest=1, highest=MOST_PAGES, default=1)
    cursor = ClampedInQuery(lowest=1, highest=MOST_PAGES, required=False, help_text="`nextCursor` of the page before.")


class PlatformMemoriesView(PlatformView):
    permissions: ClassVar = {"POST": "memory:add", "GET": "memory:read", "DELETE": "memory:delete"}
    permission_classes = (NoKeyDeletes,)
    meters: ClassVar = {"POST": "adds", "GET": "retrievals"}

    @operation(
        "platform_save",
        request=PlatformMemoryInput,
        examples=[
            OpenApiExample(
                "a fact",
                {"key": "diet", "value": "Vegan since 2026.", "tags": ["food"], "importance": 8},
                request_only=True,
            )
        ],
        responses={200: SavedPlatformMemoryAnswer, 201: SavedPlatformMemoryAnswer},
    )
    def post(self, request: Request) -> Response:
        """Save a memory.

        A memory of the same owner, project and workspace with the same key is changed in place: its ID stays, and so
        does every field that you omit.  201 if it is new, else 200.  Without a key it is always new.
        """
        fields, scope, now = self.read(PlatformMemoryInput), self.scope(writes=True), self.now()
        owner = self.owner(fields["scope"], fields.get("agentId"))
        saved = save(
            scope,
            owner,
            _fields(fields, now=now),
            key=fields.get("key"),
            workspace=fields.get("workspaceId", ""),
            always_creates=fields["dedupe"] == "create",
            now=now,
        )
        return _saved(saved, owner)

    @operation("platform_memories", parameters=[PlatformListInput], responses=PlatformPageAnswer)
    def get(self, request: Request) -> Response:
        """List or search memories of the end user, of the project and, if one is named, of an agent.

        With `query`: by its words, then by parts of words if no memory has them, then by meaning.  Equal ones are
        ordered by pin, importance and time of the last change, as are all without a query.
        """
        asked, scope, now = self.read_parameters(PlatformListInput), self.scope(), self.now()
        scope, owners = with_owners(scope, self.owners(asked))
        query, page, limit = asked.get("query", asked.get("q")), asked.get("cursor", asked["page"]), asked["limit"]
        found = find_memories(
            scope,
            PlatformQuery(
                query=None if query is None else Plaintext(query),
                labels=labels_of(asked),
                limit=limit,
                offset=(page - 1) * limit,
            ),
            now=now,
        )
        has_more = found.has_more and page < MOST_PAGES
        return success(
            {
                "items": [memory_body(memory, owners[space.id]) for memory, space in found.memories],
                "page": page,
                "limit": limit,
                "nextCursor": str(page + 1) if has_more else None,
                "hasMore": has_more,
            }
        )

    @operation("platform_delete_all", request=None, responses={403: None})
    def delete(self, request: Request) -> NoReturn:
        """Refused: only a person deletes, in a browser session after a fresh step-up."""
        raise ApiStepUpRequired


class PlatformMemoryView(PlatformView):
    permissions: ClassVar = {"GET": "memory:read", "PATCH": "memory:update", "DELETE": "memory:delete"}
    permission_classes = (NoKeyDeletes,)

    @operation("platform_memory", parameters=[AgentInput], responses=PlatformMemoryAnswer)
    def get(self, request: Request, platform_id: str) -> Response:
        """Get a memory."""
        scope, owner, memory = self._found(platform_id)
        read_log.record_read(scope)
        return success(memory_body(memory, owner))

    @operation(
        "platform_change",
        request=ChangePlatformMemoryInput,
        parameters=[AgentInput],
        examples=[OpenApiExample("another value", {"value": "Vegetarian.", "importance": 6}, request_only=True)],
        responses=SavedPlatformMemoryAnswer,
    )
    def patch(self, request: Request, platform_id: str) -> Response:
        """Change a memory in place: its ID stays.  The memory as it was stays in its history.

        Of a memory that another route made, only tags, importance and pin can be changed.
        """
        now = self.now()
        fields = _fields(self.read(ChangePlatformMemoryInput), now=now)
        scope, owner, memory = self._found(platform_id, writes=True)
        return _saved(change(scope, owner, memory, fields, now=now), owner)

    @operation("platform_delete", request=None, responses={403: None})
    def delete(self, request: Request, platform_id: str) -> NoReturn:
        """Refused: only a person deletes, in a browser session after a fresh step-up."""
        raise ApiStepUpRequired

    def _found(self, platform_id: str, *, writes: bool = False) -> tuple[Scope, SpaceOwner, OpenedMemory]:
        """The memory, its owner, and a scope with the owner's space.  Raises MemoryNotFound."""
        asked, handle, now = self.read_parameters(AgentInput), handle_in(platform_id), self.now()
        scope, owners = with_owners(self.scope(writes=writes), self.owners(asked))
        for part in scope.parts():
            try:
                memory = get_by_handle(part, handle, labels_of(asked), now=now)
            except MemoryNotFound:
                continue
            return part, owners[part.space.id], memory
        raise MemoryNotFound


def labels_of(asked: Mapping[str, Any]) -> LabelFilter:
    tag = asked.get("tag")
    return LabelFilter(
        category=asked.get("category"),
        tag=None if tag is None else tag.strip().lower(),
        workspace=asked.get("workspaceId", ""),
        session=asked.get("sessionId"),
        message=asked.get("messageId"),
    )


def _fields(fields: Mapping[str, Any], *, now: datetime) -> PlatformFields:
    """Raises ValidationError for an expiry in the past."""
    expires_at, importance = fields.get("expiresAt"), fields.get("importance")
    if expires_at is not None and expires_at <= now:
        raise serializers.ValidationError({"expiresAt": [ErrorDetail("must be in the future", "past")]})
    return PlatformFields(
        value=fields.get("value"),
        summary=fields.get("summary"),
        category=fields.get("category"),
        tags=fields.get("tags"),
        importance=None if importance is None else importance_in(importance),
        pinned=fields.get("pinned"),
        expires_at=expires_at,
        source=fields.get("source"),
        session_id=fields.get("sessionId"),
        messages=fields.get("messageIds"),
        assets=[Asset(**asset) for asset in fields["assets"]] if "assets" in fields else None,
    )


def _saved(saved: SavedMemory, owner: SpaceOwner) -> Response:
    body = memory_body(saved.memory, owner) | {"status": saved.status}
    return success(body, status=201 if saved.status == "created" else 200)
