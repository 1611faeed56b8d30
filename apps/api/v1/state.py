"""POST /v1/state/…: items that a framework stores, read by namespace and key, and never recalled."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import JsonObject, MetadataOfSaid
from apps.api.fields import Choice, Clamped, Flag, Label, Text, Whole, Word
from apps.api.input_serializers import Input, WriteInput
from apps.api.memory.query import MAX_QUERY
from apps.api.memory_ids import public_id
from apps.api.operations import operation
from apps.api.v1.body_identity import IdentityInput, NamedView
from apps.api.v1.history import DeletedOutput, deleted_body
from apps.api.v1.history_fields import AnyText, Name, Names, kept_id
from apps.core.plaintext import Plaintext
from apps.history import state_queries
from apps.history.state_filters import OPERATORS, is_filter
from apps.history.state_sealing import OpenedState
from apps.history.state_writes import NewState
from apps.ingest.conversation_sync import delete_state, put_state

DEEPEST: Final = 20  # segments of a namespace
API: Final = "api"  # default source of an item
MOST_LISTED: Final = 5_000
MOST_FOUND: Final = 100
LONGEST_TTL: Final = 10 * 366 * 86_400  # seconds
WHOSE: Final = {"tenant_id": "acme", "user_id": "alice"}
OF_NEWEST: Final = "of the 5,000 items changed last."
PLACE: Final = WHOSE | {"namespace": ["users", "alice"], "key": "profile"}


class StateInput(IdentityInput):
    """Whose state, and of which source."""

    never_null = frozenset({"source", "prefix", "namespace_prefix", "keys", "if_version", "ttl_seconds"})

    source = Label(default=API)  # type: ignore[assignment]  # the wire's name, not DRF's


class PlaceInput(StateInput):
    namespace = Names(allow_empty=False, max_length=DEEPEST)
    key = Name()


class StateVersion(Word):
    """The version of an item, as responses name it; "0" if there is to be none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(pattern=r"[0-9]{1,20}(?:\.[0-9]{1,10})?", **options)


class ValueFilter(JsonObject):
    """Values that an item must have, by field: a value, or an object of operators."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        where = super().to_internal_value(data)
        if not is_filter(where):
            known = ", ".join(OPERATORS)
            raise serializers.ValidationError(ErrorDetail(f"must be values by field; operators are {known}", "filter"))
        return where


class ItemInput(Input):
    """An item to store, without its owner."""

    namespace = Names(allow_empty=False, max_length=DEEPEST)
    key = Name()
    value = JsonObject()
    text = AnyText(required=False, help_text="The text to search; by default the value as JSON.")
    index = Flag(default=True, help_text="Also search it by meaning.")
    metadata = MetadataOfSaid(required=False, help_text="Its scalars are copied to each memory made of the text.")
    ttl_seconds = Whole(
        required=False, min_value=1, max_value=LONGEST_TTL, help_text="Delete it after this time; by default never."
    )
    if_version = StateVersion(
        required=False, help_text='Only if the item has this version; "0": only if there is none. Else 409.'
    )


class PutStateInput(ItemInput, StateInput, WriteInput):
    """An item and its namespace and key."""

    extract = Flag(default=False, help_text="Extract memories from the text.")
    replace_derived_facts = Flag(
        default=False,
        help_text="Soft-delete memories derived from the previous value, if the tenant's policy and the key allow it.",
    )


class ListStateInput(StateInput):
    namespace_prefix = Names(default=tuple, max_length=DEEPEST)
    filter = ValueFilter(required=False, help_text=OF_NEWEST)
    order = Choice(
        choices=state_queries.ORDERS,
        default=state_queries.NEWEST,
        help_text=f"With `-`: descending. By key: {OF_NEWEST}",
    )
    limit = Clamped(lowest=1, highest=MOST_LISTED, default=100)
    offset = Clamped(lowest=0, highest=2**53, default=0)


class SearchStateInput(StateInput):
    query = Text(max_length=1_000_000)
    namespace_prefix = Names(default=tuple, max_length=DEEPEST)
    filter = ValueFilter(required=False)
    limit = Clamped(lowest=1, highest=MOST_FOUND, default=10)
    offset = Clamped(lowest=0, highest=2**53, default=0)


class DeleteStateInput(StateInput):
    namespace = Names(allow_empty=False, max_length=DEEPEST)
    keys = Names(required=False, max_length=MOST_LISTED, help_text="By default all of the namespace; empty: none.")
    delete_derived_facts = Flag(
        default=False,
        help_text="Also soft-delete memories derived only from them, if the tenant's policy and the key allow it.",
    )


class NamespacesInput(StateInput):
    prefix = Names(default=tuple, max_length=DEEPEST)
    suffix = Names(default=tuple, max_length=DEEPEST, help_text="Only namespaces that end with these segments.")
    max_depth = Clamped(
        lowest=1, highest=DEEPEST, required=False, help_text="Longer ones are cut, and duplicates are removed."
    )
    limit = Clamped(lowest=1, highest=MOST_LISTED, default=100)
    offset = Clamped(lowest=0, highest=2**53, default=0)


class StateOutput(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`h_…`")
    namespace = serializers.ListField(child=serializers.CharField())
    key = serializers.CharField()
    value = serializers.DictField()
    text = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the wire's name, not DRF's
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    version = serializers.CharField(help_text="For `if_version`; no version is used twice.")


class FoundStateOutput(StateOutput):
    score = serializers.FloatField()


class PutStateOutput(serializers.Serializer[Any]):
    item = StateOutput()
    created = serializers.BooleanField(help_text="False if the same value existed already.")
    request_id = serializers.CharField(allow_null=True, help_text="`req_…` of the extraction.")
    deleted_fact_ids = serializers.ListField(child=serializers.CharField())
    status = serializers.CharField(help_text="`ok`.")


class GetStateOutput(serializers.Serializer[Any]):
    item = StateOutput(allow_null=True)


class ListStateOutput(serializers.Serializer[Any]):
    items = StateOutput(many=True)
    total = serializers.IntegerField(help_text="Of all pages.")


class SearchStateOutput(serializers.Serializer[Any]):
    items = FoundStateOutput(many=True)
    total = serializers.IntegerField(help_text="How many are relevant to the query at all.")


class NamespacesOutput(serializers.Serializer[Any]):
    namespaces = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    total = serializers.IntegerField(help_text="Of all pages.")


class PutStateView(NamedView):
    permissions: ClassVar = {"POST": "state:write"}
    meters: ClassVar = {"POST": "adds"}
    silent_answer: ClassVar = {"item": {}, "created": False, "status": "skipped"}
    refuses: ClassVar = frozenset({409})

    @operation(
        "put_state",
        request=PutStateInput,
        examples=[OpenApiExample("a profile", PLACE | {"value": {"tone": "brief"}}, request_only=True)],
        responses=PutStateOutput,
    )
    def post(self, request: Request) -> Response:
        """Store an item, replacing the existing one.  Storing the same value again changes at most when it expires."""
        fields = self.read(PutStateInput)
        stored = put_state(
            self.scope(writes=True),
            self.named(fields),
            new_state(fields, fields["source"], now=self.now()),
            extract=fields["extract"],
            replace_facts=fields["replace_derived_facts"],
            now=self.now(),
        )
        return Response(
            {
                "item": item_body(stored.put.item),
                "created": stored.put.is_new,
                "request_id": f"req_{stored.put.item.id}" if stored.was_distilled else None,
                "deleted_fact_ids": [public_id(memory_id) for memory_id in stored.deleted_facts],
                "status": "ok",
            }
        )


class GetStateView(NamedView):
    permissions: ClassVar = {"POST": "state:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"item": None}

    @operation(
        "get_state",
        request=PlaceInput,
        examples=[OpenApiExample("a profile", PLACE, request_only=True)],
        responses=GetStateOutput,
    )
    def post(self, request: Request) -> Response:
        """Read an item; `item` is null if there is none."""
        fields = self.read(PlaceInput)
        item = state_queries.find(
            self.reader_of(fields),
            fields["namespace"],
            fields["key"],
            source=fields["source"],
            now=self.now(),
        )
        return Response({"item": None if item is None else item_body(item)})


class ListStateView(NamedView):
    permissions: ClassVar = {"POST": "state:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"items": [], "total": 0}

    @operation(
        "list_state",
        request=ListStateInput,
        examples=[OpenApiExample("below users", WHOSE | {"namespace_prefix": ["users"]}, request_only=True)],
        responses=ListStateOutput,
    )
    def post(self, request: Request) -> Response:
        """List the items of a namespace and its children, by default those changed last first."""
        fields = self.read(ListStateInput)
        found = state_queries.list_items(
            self.reader_of(fields),
            fields["namespace_prefix"],
            source=fields["source"],
            where=fields.get("filter"),
            order=fields["order"],
            limit=fields["limit"],
            offset=fields["offset"],
            now=self.now(),
        )
        return Response({"items": _items(found.items), "total": found.total})


class SearchStateView(NamedView):
    permissions: ClassVar = {"POST": "state:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"items": [], "total": 0}

    @operation(
        "search_state",
        request=SearchStateInput,
        examples=[OpenApiExample("how to answer", WHOSE | {"query": "how long may answers be?"}, request_only=True)],
        responses=SearchStateOutput,
    )
    def post(self, request: Request) -> Response:
        """Search the items of a namespace and its children, best first.

        By meaning if an item is indexed, else by the share of the query's words in its text.  The 5,000 last changed
        items are searched.
        """
        fields = self.read(SearchStateInput)
        found = state_queries.search(
            self.reader_of(fields),
            Plaintext(fields["query"][:MAX_QUERY]),
            fields["namespace_prefix"],
            source=fields["source"],
            where=fields.get("filter"),
            limit=fields["limit"],
            offset=fields["offset"],
            now=self.now(),
        )
        return Response({"items": _items(found.items), "total": found.total})


class DeleteStateView(NamedView):
    permissions: ClassVar = {"POST": "state:write"}

    @operation(
        "delete_state",
        request=DeleteStateInput,
        examples=[
            OpenApiExample("one key", WHOSE | {"namespace": ["users", "alice"], "keys": ["profile"]}, request_only=True)
        ],
        responses=DeletedOutput,
    )
    def post(self, request: Request) -> Response:
        """Permanently delete keys of a namespace, or all of it.  Child namespaces are not affected."""
        fields = self.read(DeleteStateInput)
        deleted = delete_state(
            self.reader_of(fields),
            fields["namespace"],
            fields.get("keys"),
            source=fields["source"],
            with_facts=fields["delete_derived_facts"],
            now=self.now(),
        )
        return Response(deleted_body(deleted))


class NamespacesView(NamedView):
    permissions: ClassVar = {"POST": "state:read"}

    @operation(
        "list_state_namespaces",
        request=NamespacesInput,
        examples=[OpenApiExample("the first level", WHOSE | {"max_depth": 1}, request_only=True)],
        responses=NamespacesOutput,
    )
    def post(self, request: Request) -> Response:
        """List the namespaces that have items, in alphabetical order."""
        fields = self.read(NamespacesInput)
        found = state_queries.list_namespaces(
            self.reader_of(fields),
            fields["prefix"],
            source=fields["source"],
            suffix=fields["suffix"],
            max_depth=fields.get("max_depth"),
            limit=fields["limit"],
            offset=fields["offset"],
            now=self.now(),
        )
        return Response({"namespaces": [list(name) for name in found.names], "total": found.total})


def new_state(fields: Mapping[str, Any], source: str, *, now: datetime) -> NewState:
    """The item that validated fields of ItemInput describe."""
    ttl = fields.get("ttl_seconds")
    return NewState(
        namespace=tuple(fields["namespace"]),
        key=fields["key"],
        value=fields["value"],
        source=source,
        text=Plaintext(fields["text"]) if "text" in fields else None,
        is_indexed=fields["index"],
        metadata=fields.get("metadata", {}),
        expires_at=None if ttl is None else now + timedelta(seconds=ttl),
        if_version=fields.get("if_version"),
    )


def _items(items: Sequence[OpenedState]) -> list[dict[str, Any]]:
    return [item_body(item) for item in items]


def item_body(item: OpenedState) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": kept_id(item.id),
        "namespace": list(item.namespace),
        "key": item.key,
        "value": dict(item.value),
        "text": item.text.reveal(),
        "source": item.source,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "expires_at": item.expires_at,
        "version": item.version,
    }
    return body if item.score is None else body | {"score": round(item.score, 6)}
