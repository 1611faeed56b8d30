"""POST /memory/search/routed: choose a strategy for a question, and answer it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Flag, Label, Text, Whole
from apps.api.input_serializers import OWNERS
from apps.api.memory.memory_output import FoundOutput
from apps.api.memory.query import MAX_QUERY, MOST, HitFields, QueryEmpty, hit_bodies
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.recall.answering import Routed, search_routed
from apps.recall.routing import INTENTS, ROUTES

WANTED: Final = tuple(dict.fromkeys((*INTENTS, *ROUTES)))
CHOICES: Final = tuple((word, word) for word in WANTED)  # as named in the schema


class RoutedInput(HitFields):
    """A question.  ``route`` and ``force_intent`` mean the same: answer it this way."""

    passed_over = OWNERS

    query = Text(max_length=1_000_000)
    k = Whole(default=5, min_value=1, max_value=MOST, help_text=f"How many memories: 5 by default, at most {MOST}.")
    route = Choice(choices=WANTED, required=False, help_text="Use this strategy, regardless of the question.")
    force_intent = Choice(choices=WANTED, required=False, help_text="Alias of `route`, which takes precedence.")
    include_reasoning = Flag(default=False)
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("query"), str) and not data["query"].strip():
            raise QueryEmpty
        return super().to_internal_value(data)


class RoutedOutput(serializers.Serializer[Any]):
    query_id = serializers.UUIDField()
    intent = serializers.CharField(help_text=", ".join(INTENTS))
    route = serializers.CharField(help_text=", ".join((*ROUTES, "refused")))
    refused = serializers.BooleanField()
    refusal_reason = serializers.CharField(allow_null=True)
    memories = FoundOutput(many=True)
    answer = serializers.CharField(allow_null=True, help_text="Sentences of the memories; null if none answers.")
    confidence = serializers.FloatField(help_text="0 to 1, for comparing results; not a probability.")
    reasoning = serializers.ListField(child=serializers.CharField(), required=False)
    latency_ms = serializers.FloatField()


class SearchRoutedView(ApiView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"memories": []}

    @operation(
        "search_routed",
        request=RoutedInput,
        examples=[
            OpenApiExample("a question", {"query": "Where do I live?", "include_reasoning": True}, request_only=True)
        ],
        responses=RoutedOutput,
    )
    def post(self, request: Request) -> Response:
        """Choose a strategy for a question, and answer it with quotes.

        A single fact comes from current facts (`canonical`) if the question names one or one is the best result,
        several from memories of a kind or time (`structured`), anything else from recall (`hybrid`). Requests for a
        secret are refused.
        """
        fields = self.read(RoutedInput)
        found = search_routed(
            self.reader(fields.get("end_user_id"), spans=True),
            Plaintext(fields["query"][:MAX_QUERY]),
            limit=fields["k"],
            wanted=fields.get("route", fields.get("force_intent")),
            now=self.now(),
        )
        return Response(_body(found, fields))


def _body(found: Routed, fields: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "query_id": str(found.query_id),
        "intent": found.plan.intent,
        "route": found.plan.route,
        "refused": found.plan.is_refused,
        "refusal_reason": found.plan.refusal_reason,
        "memories": hit_bodies(found.hits, fields),
        "answer": found.answer,
        "confidence": round(found.confidence, 6),
        "latency_ms": round(found.latency_ms, 2),
    }
    return body | {"reasoning": list(found.plan.reasoning)} if fields["include_reasoning"] else body
