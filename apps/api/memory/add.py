"""POST /memory/add: store one memory, if it is worth remembering."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import MetadataOfSaid, Tags
from apps.api.fields import Flag, Fraction, Label, Moment, Text, Whole, is_label, read_moment
from apps.api.input_serializers import OWNERS, WriteInput
from apps.api.memory.memory_output import SkipOutput, StoredOutput, decisions_body, memory_body, skip_body
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import first_stored, remember_for

TEN_YEARS: Final = 10 * 366 * 24 * 60  # minutes
ROLES: Final = {
    **dict.fromkeys(("user", "human", "customer", "caller"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "agent", "model"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}


class RememberInput(WriteInput):
    """One memory to store.  ``content`` is an alias of ``text``; one of the two is required."""

    passed_over = OWNERS
    one_of = ("text", "content")
    aliases: ClassVar = {"content": "text"}

    text = Text(required=False, help_text="The text to store.")
    content = Text(required=False, help_text="Alias of `text`.")
    source = Label(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False, help_text="Source label, stored unencrypted."
    )
    event_type = Label(required=False, help_text="A label, stored unencrypted.")
    tags = Tags(required=False)
    importance = Fraction(required=False, help_text="From 0.5 on the text is stored unsplit.")
    session_id = Label(required=False, max_length=256)
    occurred_at = Moment(required=False, help_text="When it was said, by default now; overrides the metadata's.")
    metadata = MetadataOfSaid(
        required=False, help_text="Stored unchanged; `speaker`, `role` and `occurred_at` also set who spoke and when."
    )
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")
    client_ref = Label(required=False, max_length=128, help_text="Your own ID: the same ID is stored once.")
    ttl_minutes = Whole(required=False, min_value=1, max_value=TEN_YEARS)

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if "text" not in fields:
            if "content" not in fields:
                raise serializers.ValidationError({"text": ErrorDetail("field required", "required")})
            fields["text"] = fields.pop("content")
        return fields


class AddInput(RememberInput):
    """One memory to store.  ``content`` is an alias of ``text``; one of the two is required."""

    deduplicate = Flag(default=True)


def proposal(fields: Mapping[str, Any], *, deduplicate: bool) -> Proposal:
    """The proposal that the fields of a RememberInput describe."""
    metadata: Mapping[str, Any] = fields.get("metadata", {})
    return Proposal(
        text=Plaintext(fields["text"]),
        source=fields.get("source", ""),
        event_type=fields.get("event_type", ""),
        tags=fields.get("tags", ()),
        importance=fields.get("importance"),
        session_id=fields.get("session_id") or _label(metadata, "session_id"),
        metadata=metadata,
        client_ref=fields.get("client_ref"),
        ttl_minutes=fields.get("ttl_minutes"),
        deduplicate=deduplicate,
        role=ROLES.get((_label(metadata, "role") or "user").strip().lower(), "user"),
        speaker=_label(metadata, "speaker"),
        occurred_at=fields.get("occurred_at") or said_at(metadata),
    )


def _label(metadata: Mapping[str, Any], name: str) -> str | None:
    """A label in the caller's metadata.  A value of another form is ignored, because the caller may mean something else
    by it."""
    value = metadata.get(name)
    return value if isinstance(value, str) and value.strip() and len(value) <= 256 and is_label(value) else None


def said_at(metadata: Mapping[str, Any]) -> datetime | None:
    """The time that the metadata gives for its text, or None."""
    return read_moment(metadata.get("occurred_at")) or read_moment(metadata.get("event_time"))


class AddView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "add",
        request=AddInput,
        examples=[OpenApiExample("a fact", {"text": "I live in Lisbon and work as a nurse."}, request_only=True)],
        responses={201: OpenApiResponse(StoredOutput, "Stored."), 200: OpenApiResponse(SkipOutput, "Not stored.")},
    )
    def post(self, request: Request) -> Response:
        """Store one memory.

        Returns 201 and the first memory stored, with all IDs in `memory_ids`; or 200 and why nothing was stored.
        """
        fields, now = self.read(AddInput), self.now()
        scope, end_user = self.scope(writes=True), self.end_user(fields.get("end_user_id"))
        one = proposal(fields, deduplicate=fields["deduplicate"])
        scope, (outcome,) = remember_for(scope, end_user, [one], now=now)
        if not outcome.is_stored:
            return Response(skip_body(outcome))
        stored = memory_body(first_stored(scope, outcome, now=now))
        also = {"memory_ids": outcome.memory_ids, "decisions": decisions_body(outcome.decisions)}
        return Response(stored | also, status=201)
