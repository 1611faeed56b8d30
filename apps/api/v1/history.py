"""POST /v1/history/…: conversations, stored turn by turn and never recalled."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import MetadataOfSaid
from apps.api.fields import Clamped, Flag, Label, Whole
from apps.api.input_serializers import Input, WriteInput
from apps.api.memory_ids import public_id
from apps.api.operations import operation
from apps.api.v1.body_identity import IdentityInput, NamedView
from apps.api.v1.history_fields import AnyJson, AnyText, Entries, KeptIds, Name, WrittenMoment, kept_id
from apps.core.plaintext import Plaintext
from apps.history.turns import NewTurn, OpenedTurn, read
from apps.ingest.conversation_sync import Deleted, append_history, delete_history

MOST_TURNS: Final = 100
MOST_LISTED: Final = 5_000
LATEST: Final = 100  # of every session, unless the caller says how many
WHOSE: Final = {"tenant_id": "acme", "user_id": "alice", "session_id": "s1"}


class HistoryTurnInput(Input):
    """One turn.  With `idempotency_key` or `seq` it is appended only once."""

    role = Label(help_text="Stored in lower case; `human` becomes `user` and `ai` becomes `assistant`.")
    content = AnyText()
    seq = Whole(required=False, min_value=0, max_value=2**63 - 1)
    occurred_at = WrittenMoment(required=False)
    payload = AnyJson(required=False)
    idempotency_key = Name(required=False)


class AppendHistoryInput(IdentityInput, WriteInput):
    """Turns of one session."""

    session_id = Name()
    source = Label(default="api")  # type: ignore[assignment]  # the wire's name, not DRF's
    turns = Entries(child=HistoryTurnInput(), allow_empty=False, max_length=MOST_TURNS)
    extract = Flag(default=True, help_text="Extract memories from new turns of the user.")
    metadata = MetadataOfSaid(required=False, help_text="Its scalars are copied to each memory made of a turn.")


class ListHistoryInput(IdentityInput):
    never_null = frozenset({"source", "session_id"})

    session_id = Name(required=False, help_text="By default the latest turns of every session.")
    source = Label(required=False, help_text="By default every source.")  # type: ignore[assignment]  # the wire's name
    limit = Clamped(
        lowest=0,
        highest=MOST_LISTED,
        default=0,
        help_text=f"The latest turns, at most this many; 0: all of a session, of every session {LATEST}.",
    )


class DeleteHistoryInput(IdentityInput):
    """Either a session, or turns by ID."""

    never_null = frozenset({"source"})
    one_of = ("session_id", "ids")

    session_id = Name(required=False)
    ids = KeptIds(required=False)
    source = Label(required=False, help_text="By default every source.")  # type: ignore[assignment]  # the wire's name
    delete_derived_facts = Flag(
        default=False,
        help_text="Also soft-delete memories derived only from them, if the tenant's policy and the key allow it.",
    )

    def validate(self, attrs: Any) -> Any:
        if ("session_id" in attrs) == ("ids" in attrs):
            raise serializers.ValidationError(ErrorDetail("give one of session_id and ids", "one_selector"))
        return attrs


class TurnItemOutput(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`h_…`")
    session_id = serializers.CharField()
    role = serializers.CharField()
    content = serializers.CharField()
    seq = serializers.IntegerField(allow_null=True)
    occurred_at = serializers.CharField(allow_null=True)
    payload = serializers.JSONField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]  # the wire's name, not DRF's
    created_at = serializers.DateTimeField()


class AppendedItemOutput(TurnItemOutput):
    created = serializers.BooleanField(help_text="False if it existed already.")


class AppendHistoryOutput(serializers.Serializer[Any]):
    items = AppendedItemOutput(many=True)
    request_ids = serializers.ListField(child=serializers.CharField(), help_text="Extractions: one for each turn.")
    status = serializers.CharField(help_text="`ok`.")


class ListHistoryOutput(serializers.Serializer[Any]):
    items = TurnItemOutput(many=True)
    total = serializers.IntegerField(help_text="Of the whole session.")


class DeletedOutput(serializers.Serializer[Any]):
    deleted_ids = serializers.ListField(child=serializers.CharField())
    deleted_fact_ids = serializers.ListField(child=serializers.CharField())


class AppendHistoryView(NamedView):
    permissions: ClassVar = {"POST": "history:write"}
    meters: ClassVar = {"POST": "adds"}
    silent_answer: ClassVar = {"items": [], "request_ids": [], "status": "skipped"}

    @operation(
        "append_history",
        request=AppendHistoryInput,
        examples=[
            OpenApiExample(
                "two turns",
                WHOSE
                | {
                    "turns": [
                        {"role": "user", "content": "I live in Lisbon.", "seq": 0},
                        {"role": "assistant", "content": "How nice!", "seq": 1},
                    ]
                },
                request_only=True,
            )
        ],
        responses=AppendHistoryOutput,
    )
    def post(self, request: Request) -> Response:
        """Store turns of a session.

        A turn with a known `idempotency_key`, or a known `seq`, `role` and `content`, is not stored twice.  Turns are
        never recalled; with `extract`, memories are extracted from the user's turns.
        """
        fields = self.read(AppendHistoryInput)
        appended = append_history(
            self.scope(writes=True),
            self.named(fields),
            fields["session_id"],
            [_new(turn) for turn in fields["turns"]],
            source=fields["source"],
            metadata=fields.get("metadata", {}),
            extract=fields["extract"],
            now=self.now(),
        )
        return Response(
            {
                "items": [_item(turn) | {"created": turn.is_new} for turn in appended.turns],
                "request_ids": [f"req_{turn_id}" for turn_id in appended.distilled],
                "status": "ok",
            }
        )


class ListHistoryView(NamedView):
    permissions: ClassVar = {"POST": "history:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"items": [], "total": 0}

    @operation(
        "list_history",
        request=ListHistoryInput,
        examples=[OpenApiExample("the latest ten", WHOSE | {"limit": 10}, request_only=True)],
        responses=ListHistoryOutput,
    )
    def post(self, request: Request) -> Response:
        """Read a session, oldest first: by `seq` if any turn has one, else in the order of appending.

        Without `session_id`, the latest turns of every session, in the order of appending.
        """
        fields = self.read(ListHistoryInput)
        session_id = fields.get("session_id")
        found = read(
            self.reader_of(fields),
            session_id,
            source=fields.get("source"),
            limit=fields["limit"] or (LATEST if session_id is None else 0),
            now=self.now(),
        )
        return Response({"items": [_item(turn) for turn in found.turns], "total": found.total})


class DeleteHistoryView(NamedView):
    permissions: ClassVar = {"POST": "history:write"}

    @operation(
        "delete_history",
        request=DeleteHistoryInput,
        examples=[OpenApiExample("a session", WHOSE, request_only=True)],
        responses=DeletedOutput,
    )
    def post(self, request: Request) -> Response:
        """Permanently delete a session, or turns by ID.  Absent IDs are not in the response."""
        fields = self.read(DeleteHistoryInput)
        deleted = delete_history(
            self.reader_of(fields),
            session_id=fields.get("session_id"),
            turn_ids=fields.get("ids", ()),
            source=fields.get("source"),
            with_facts=fields["delete_derived_facts"],
            now=self.now(),
        )
        return Response(deleted_body(deleted))


def deleted_body(deleted: Deleted) -> dict[str, list[str]]:
    """A ``DeletedOutput``."""
    return {
        "deleted_ids": [kept_id(one) for one in deleted.ids],
        "deleted_fact_ids": [public_id(memory_id) for memory_id in deleted.facts],
    }


def _new(fields: Mapping[str, Any]) -> NewTurn:
    return NewTurn(
        role=fields["role"],
        content=Plaintext(fields["content"]),
        seq=fields.get("seq"),
        occurred_at=fields.get("occurred_at"),
        payload=fields.get("payload"),
        idempotency_key=fields.get("idempotency_key"),
    )


def _item(turn: OpenedTurn) -> dict[str, Any]:
    return {
        "id": kept_id(turn.id),
        "session_id": turn.session_id,
        "role": turn.role,
        "content": turn.content.reveal(),
        "seq": turn.seq,
        "occurred_at": turn.occurred_at,
        "payload": turn.payload,
        "source": turn.source,
        "created_at": turn.created_at,
    }
