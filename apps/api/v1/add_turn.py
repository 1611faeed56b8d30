"""POST /v1/memory/add_turn: extract memories about the user from one turn of a conversation."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import MetadataOfSaid
from apps.api.fields import Choice, Flag, Label, Moment, Text
from apps.api.input_serializers import WriteInput
from apps.api.memory_ids import public_id
from apps.api.operations import operation
from apps.api.v1.body_identity import IdentityInput, NamedView
from apps.core.plaintext import Plaintext
from apps.ingest.turns import DISTILLED, LOW_VALUE, NOT_THE_USERS, REPLAY, Turn, TurnTaken, take_turn
from text.extraction.roles import OTHER_LABELS, USER_LABELS

ROLES: Final = ("user", *sorted(USER_LABELS - {"user"}), *sorted(OTHER_LABELS))


class TurnRole(Choice):
    """The speaker's role, in any case."""

    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data.strip().lower() if isinstance(data, str) else data)


class AddTurnInput(IdentityInput, WriteInput):
    """One turn.  The speaker is taken from ``role``, else a label at the start of the text ("assistant: "), else
    ``speaker``, else the metadata's ``role``, else it is the user."""

    text = Text()
    source = Label(default="chat", help_text="A label, stored unencrypted.")  # type: ignore[assignment]  # the wire's name, not DRF's
    role = TurnRole(choices=ROLES, required=False)
    speaker = Label(required=False, max_length=256)
    occurred_at = Moment(required=False)
    session_id = Label(required=False, max_length=256)
    metadata = MetadataOfSaid(required=False, help_text="Its scalars are copied to each memory made of the turn.")
    sync_embed = Flag(default=False, help_text="Has no effect.")

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and data.get("messages") is not None:
            told = "takes one turn: send `text` and `role`, and one request for each turn of `messages`"
            raise serializers.ValidationError({"messages": ErrorDetail(told, "one_turn")})
        return super().to_internal_value(data)


class TurnOutput(serializers.Serializer[Any]):
    memory_id = serializers.CharField(allow_null=True, help_text="Always null; see `memory_ids`.")
    memory_ids = serializers.ListField(child=serializers.CharField(), help_text="Extracted memories, as `m_…`.")
    candidate_ids = serializers.ListField(child=serializers.IntegerField(), help_text="What waits for review.")
    extractor = serializers.ChoiceField(choices=["rules", "model"], allow_null=True, help_text="The extractor.")
    fallback = serializers.CharField(allow_null=True, help_text="Why the rules were used despite a model.")
    status = serializers.ChoiceField(
        choices=["processing", "ok"], help_text="`processing`: accepted for extraction; `ok`: no extraction."
    )
    processing_status = serializers.ChoiceField(choices=[DISTILLED, NOT_THE_USERS, LOW_VALUE, REPLAY])
    embed_mode = serializers.ChoiceField(choices=["none"])
    already_exists = serializers.BooleanField()
    request_id = serializers.CharField(allow_null=True, help_text="`req_…` of the extraction.")


class AddTurnView(NamedView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}
    silent_answer: ClassVar = {"memory_id": None, "status": "ok", "processing_status": "skipped", "embed_mode": "none",
                               "already_exists": False, "request_id": None}  # fmt: skip
    silent_status = 201

    @operation(
        "add_turn",
        request=AddTurnInput,
        examples=[
            OpenApiExample(
                "a turn of the user",
                {"tenant_id": "acme", "user_id": "alice", "role": "user", "text": "I live in Lisbon now."},
                request_only=True,
            )
        ],
        responses={201: TurnOutput},
    )
    def post(self, request: Request) -> Response:
        """Extract memories about the user from one turn.

        Only turns of the user are processed; the turn itself is not stored.  The same turn, by the same speaker at the
        same time, sent again within 30 days is a replay and changes nothing.
        """
        fields = self.read(AddTurnInput)
        person = self.named(fields)
        taken = take_turn(self.scope(writes=True), person, _turn(fields), now=self.now())
        return Response(_body(taken), status=201)


def _turn(fields: Mapping[str, Any]) -> Turn:
    metadata: Mapping[str, Any] = fields.get("metadata", {})
    session = fields.get("session_id") or metadata.get("session_id")
    return Turn(
        text=Plaintext(fields["text"]),
        source=fields["source"],
        role=fields.get("role"),
        speaker=fields.get("speaker"),
        occurred_at=fields.get("occurred_at"),
        session_id=session if isinstance(session, str) else None,
        metadata=metadata,
    )


def _body(taken: TurnTaken) -> dict[str, Any]:
    return {
        "memory_id": None,
        "memory_ids": [public_id(memory_id) for memory_id in (taken.outcome.memory_ids if taken.outcome else [])],
        "candidate_ids": taken.outcome.review_ids if taken.outcome else [],
        "extractor": taken.outcome.extractor if taken.outcome else None,
        "fallback": (taken.outcome.fallback or None) if taken.outcome else None,
        "status": "processing" if taken.outcome else "ok",
        "processing_status": taken.status,
        "embed_mode": "none",
        "already_exists": taken.status == REPLAY,
        "request_id": f"req_{taken.receipt}" if taken.receipt else None,
    }
