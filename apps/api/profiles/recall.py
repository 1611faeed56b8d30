"""/v1/memory/{ns}/{profile}/recall and /ask: typed memories found by topic, words and vector."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Clamped, Flag, Label, Text
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.permissions import check_history
from apps.api.profiles.base import ProfileView
from apps.api.profiles.fields import Vector
from apps.api.profiles.output import FoundTypedMemoryOutput, typed_body
from apps.core.plaintext import Plaintext
from apps.memories.typed import NAMES
from apps.memories.typed_selectors import public_ids
from apps.projects.scope import Scope
from apps.recall.answering import ask
from apps.recall.results import Filters
from apps.recall.stored_turns import FoundTurn, search_turns
from apps.recall.typed import MOST, TypedQuery, TypedRecall, recall_typed

MAX_QUERY: Final = 8_000  # characters
WAYS: Final = ("query", "embedding", "topic_key")


class TypedFiltersInput(Input):
    """Which memories may be returned."""

    types = serializers.ListField(
        child=Choice(choices=NAMES), required=False, max_length=len(NAMES),
        help_text="Any of them; an empty list matches nothing.",
    )  # fmt: skip
    session_id = Label(required=False, max_length=256)
    source = Label(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    k = Clamped(lowest=1, highest=MOST, default=8, help_text="How many; 8 by default.")
    include_superseded = Flag(default=False, help_text="Also memories that were replaced.")


class TypedRecallInput(TypedFiltersInput):
    """At least one of query, embedding and topic_key."""

    some_of = WAYS

    query = Text(required=False, max_length=MAX_QUERY)
    embedding = Vector(required=False, help_text="Your own vector; compared with your vectors of the same length.")
    topic_key = Label(required=False, max_length=256)
    include_turns = Flag(
        default=False, help_text="Also the newest stored turns that share words with `query`; needs `history:read`."
    )

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if fields.keys().isdisjoint(WAYS):
            missing = ErrorDetail("give at least one of query, embedding and topic_key", "required")
            raise serializers.ValidationError({"non_field_errors": [missing]})
        return fields


class AskInput(TypedFiltersInput):
    """A question."""

    question = Text(max_length=MAX_QUERY)


class FoundProfileTurnOutput(serializers.Serializer[Any]):
    session_id = serializers.CharField()
    seq = serializers.IntegerField()
    role = serializers.CharField()
    content = serializers.CharField()
    distance = serializers.FloatField(help_text="0 to 1, by words; the nearest first.")


class TypedAnswerOutput(serializers.Serializer[Any]):
    memories = FoundTypedMemoryOutput(many=True)
    txid = serializers.IntegerField(help_text="Number of the profile's latest change; 0 of an unknown profile.")


class TypedRecallOutput(TypedAnswerOutput):
    turns = FoundProfileTurnOutput(many=True, required=False, help_text="With `include_turns`: at most `k`.")


class AskOutput(TypedAnswerOutput):
    answer = serializers.CharField(allow_null=True, help_text="Sentences of the memories; null if none answers.")
    sources = serializers.ListField(child=serializers.CharField(), help_text="The memories that it quotes.")


class TypedRecallView(ProfileView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}

    @operation(
        "profile_recall",
        request=TypedRecallInput,
        examples=[OpenApiExample("by topic and words", {"query": "diet", "topic_key": "user.diet"}, request_only=True)],
        responses=TypedRecallOutput,
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Recall memories by topic key, words and vector.

        The score is the sum of weight / (60 + rank) over the channels that found a memory: topic weighs 2, keyword and
        vector 1.  An unknown profile has no memories.
        """
        fields = self.read(TypedRecallInput)
        scope, now = self.found(ns, profile), self.now()
        query = Plaintext(fields["query"]) if "query" in fields else None
        if fields["include_turns"]:
            check_history(scope)
        found = recall_typed(
            scope,
            _query(fields, query=query, vector=fields.get("embedding"), topic_key=fields.get("topic_key")),
            now=now,
        )
        self.reached(found.txid)
        body = {"memories": _bodies(scope, found), "txid": found.txid}
        if fields["include_turns"]:
            filters = Filters(session_id=fields.get("session_id"))
            turns = search_turns(scope, query, filters=filters, limit=fields["k"], now=now) if query else []
            body["turns"] = [_turn_body(one) for one in turns]
        return Response(body)


class AskView(ProfileView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}

    @operation(
        "profile_ask",
        request=AskInput,
        examples=[OpenApiExample("a question", {"question": "What do I eat?"}, request_only=True)],
        responses=AskOutput,
    )
    def post(self, request: Request, ns: str, profile: str) -> Response:
        """Answer a question from the memories that it recalls.

        No language model is used: the answer consists of sentences of the memories.
        """
        fields = self.read(AskInput)
        scope = self.found(ns, profile)
        found, made = ask(scope, _query(fields), Plaintext(fields["question"]), now=self.now())
        by_id = {hit.memory.id: hit.memory.public_id for hit in found.hits}
        body = {
            "answer": made.answer or None,
            "sources": list(dict.fromkeys(by_id[one.memory_id] for one in made.citations)),
            "memories": _bodies(scope, found),
            "txid": found.txid,
        }
        self.reached(found.txid)
        return Response(body)


def _query(fields: Mapping[str, Any], **ways: Any) -> TypedQuery:
    return TypedQuery(
        types=fields.get("types"),
        session_id=fields.get("session_id"),
        source=fields.get("source"),
        limit=fields["k"],
        include_superseded=fields["include_superseded"],
        **ways,
    )


def _turn_body(found: FoundTurn) -> Mapping[str, Any]:
    turn = found.turn
    return {
        "session_id": turn.session_id,
        "seq": turn.id,
        "role": turn.role,
        "content": turn.content.reveal(),
        "distance": 1 - found.score,
    }


def _bodies(scope: Scope, found: TypedRecall) -> Sequence[Mapping[str, Any]]:
    successors = public_ids(scope, [hit.memory.superseded_by for hit in found.hits if hit.memory.superseded_by])
    return [
        typed_body(hit.memory, successor=successors.get(hit.memory.superseded_by or 0))
        | {"score": hit.score, "channels": list(hit.channels)}
        for hit in found.hits
    ]
