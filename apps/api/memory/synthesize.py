"""POST /memory/synthesize: an answer from several memories, with a quote for every statement."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Ids
from apps.api.fields import Label, Text, Whole
from apps.api.input_serializers import OWNERS, Input
from apps.api.memory.query import MAX_QUERY, MOST, QueryEmpty
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.recall.answering import synthesize
from apps.recall.synthesis import MODEL

MAX_IDS: Final = 100


class SynthesizeInput(Input):
    """A question, the memories to answer from, or both."""

    passed_over = OWNERS
    some_of = ("query", "memory_ids")

    query = Text(required=False, max_length=1_000_000)
    memory_ids = Ids(required=False, max_items=MAX_IDS)
    max_memories = Whole(default=10, min_value=1, max_value=MOST, help_text=f"10 by default, at most {MOST}.")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("query"), str) and not data["query"].strip():
            raise QueryEmpty
        return super().to_internal_value(data)


class CitationOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    quote = serializers.CharField(help_text="An exact part of the memory's text.")


class SynthesizeOutput(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="The quotes, concatenated; empty if there are none.")
    citations = CitationOutput(many=True)
    memories_used = serializers.IntegerField()
    model = serializers.CharField(help_text="`extractive`: no language model was used.")


class SynthesizeView(ApiView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"answer": "", "citations": [], "memories_used": 0}

    @operation(
        "synthesize",
        request=SynthesizeInput,
        examples=[
            OpenApiExample(
                "a question", {"query": "What do I eat, and what not?", "max_memories": 5}, request_only=True
            )
        ],
        responses=SynthesizeOutput,
    )
    def post(self, request: Request) -> Response:
        """Answer from several memories, with a quote for every statement.

        Without a language model the answer consists of unchanged sentences of the memories.
        """
        fields = self.read(SynthesizeInput)
        query = fields.get("query")
        made = synthesize(
            self.reader(fields.get("end_user_id"), spans=True),
            Plaintext(query[:MAX_QUERY]) if query is not None else None,
            fields.get("memory_ids"),
            most=fields["max_memories"],
            now=self.now(),
        )
        return Response(
            {
                "answer": made.answer,
                "citations": [{"memory_id": one.memory_id, "quote": one.quote} for one in made.citations],
                "memories_used": made.memories_used,
                "model": MODEL,
            }
        )
