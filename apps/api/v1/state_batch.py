"""POST /v1/state/batch: put and delete several items in one transaction."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.v1.body_identity import NamedView
from apps.api.v1.history_fields import Entries, Name, Names, kept_id
from apps.api.v1.state import DEEPEST, WHOSE, ItemInput, StateInput, StateOutput, StateVersion, item_body, new_state
from apps.history.state_writes import Put, Removal, Removed
from apps.ingest.conversation_sync import change_state

MOST_CHANGES: Final = 100


class RemovalInput(Input):
    """An item to delete, if it is there."""

    never_null = frozenset({"if_version"})

    namespace = Names(allow_empty=False, max_length=DEEPEST)
    key = Name()
    if_version = StateVersion(required=False, help_text="Only if the item has this version. Else 409.")


class StateBatchInput(StateInput):
    """Items to put and to delete; each may be named once."""

    some_of = ("puts", "deletes")

    puts = Entries(child=ItemInput(), default=list, max_length=MOST_CHANGES)
    deletes = Entries(child=RemovalInput(), default=list, max_length=MOST_CHANGES)

    def validate(self, attrs: Any) -> Any:
        if not 1 <= len(attrs["puts"]) + len(attrs["deletes"]) <= MOST_CHANGES:
            message = f"give 1 to {MOST_CHANGES} items in puts and deletes together"
            raise serializers.ValidationError(ErrorDetail(message, "changes"))
        return attrs


class PutItemOutput(StateOutput):
    created = serializers.BooleanField(help_text="False if the same value existed already.")


class StateBatchOutput(serializers.Serializer[Any]):
    items = PutItemOutput(many=True, help_text="In the order of `puts`.")
    deleted_ids = serializers.ListField(child=serializers.CharField())
    status = serializers.CharField(help_text="`ok`.")


class BatchStateView(NamedView):
    permissions: ClassVar = {"POST": "state:write"}
    meters: ClassVar = {"POST": "adds"}
    silent_answer: ClassVar = {"items": [], "deleted_ids": [], "status": "skipped"}
    refuses: ClassVar = frozenset({409})

    @operation(
        "change_state",
        request=StateBatchInput,
        examples=[
            OpenApiExample(
                "replace one by another",
                WHOSE
                | {
                    "puts": [{"namespace": ["drafts"], "key": "final", "value": {"text": "Dear all"}}],
                    "deletes": [{"namespace": ["drafts"], "key": "first"}],
                },
                request_only=True,
            )
        ],
        responses=StateBatchOutput,
    )
    def post(self, request: Request) -> Response:
        """Put and delete up to 100 items: all of them, or none if one is at another version than it should be.

        The `index` of a 409 counts the puts, then the deletes.
        """
        fields, now = self.read(StateBatchInput), self.now()
        source = fields["source"]
        puts = [new_state(one, source, now=now) for one in fields["puts"]]
        deletes = [
            Removal(namespace=tuple(one["namespace"]), key=one["key"], source=source, if_version=one.get("if_version"))
            for one in fields["deletes"]
        ]
        named = self.named(fields)
        done = change_state(self.scope(writes=True), named, [*puts, *deletes], now=now)
        return Response(
            {
                "items": [item_body(one.item) | {"created": one.is_new} for one in done if isinstance(one, Put)],
                "deleted_ids": [kept_id(one.id) for one in done if isinstance(one, Removed) and one.id is not None],
                "status": "ok",
            }
        )
