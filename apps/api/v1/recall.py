"""POST /v1/memory/recall and /v1/memory/query: memories for a prompt, as a block of text or as a list."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Labels
from apps.api.fields import Fraction, Text, Whole
from apps.api.memory.memory_output import RelevanceField, RetainedOutput, relevance_body
from apps.api.memory.query import MAX_QUERY, MOST
from apps.api.memory_ids import public_id
from apps.api.operations import operation
from apps.api.v1.body_identity import IdentityInput, NamedView
from apps.core.plaintext import Plaintext
from apps.memories.tenant_types import Registry, read_registry
from apps.projects.scope import Scope
from apps.recall.results import Filters, Hit, Recall
from apps.recall.services import recall

# Other names of some types on the wire.
ALIASES: Final[Mapping[str, str]] = {
    "relationship": "relation",
    "policy": "constraint",
    "intent": "task",
    "status": "fact",
    "temporal": "event",
}
HEADINGS: Final[Mapping[str, str]] = {
    "fact": "Facts",
    "preference": "Preferences",
    "instruction": "Instructions",
    "constraint": "Constraints",
    "event": "Events",
    "decision": "Decisions",
    "entity": "Entities",
    "relation": "Relationships",
    "task": "Tasks",
    "summary": "Summaries",
    "reflection": "Reflections",
    "insight": "Insights",
    "narrative": "Narratives",
    "analysis": "Analyses",
    "reference": "Also said",
}
EXAMPLE: Final = {"tenant_id": "acme", "user_id": "alice", "prompt": "Where do I live?"}


class PromptInput(IdentityInput):
    """The prompt that needs memories."""

    prompt = Text(max_length=1_000_000)
    k = Whole(default=8, min_value=1, max_value=MOST, help_text=f"How many: 8 by default, at most {MOST}.")
    min_relevance = Fraction(required=False, help_text="Leave out memories whose `relevance` is lower.")


class RecallInput(PromptInput):
    """The prompt that needs memories, and their types."""

    types = Labels(required=False, help_text="Content types; unknown names are ignored.")


class RecalledOutput(RetainedOutput):
    memory_id = serializers.CharField()
    environment = serializers.CharField()
    value = serializers.CharField()
    type = serializers.CharField()
    score = serializers.FloatField()
    relevance = RelevanceField()


class RecallOutput(serializers.Serializer[Any]):
    context = serializers.CharField(  # type: ignore[assignment]  # the wire's name; a serializer's own attribute otherwise
        help_text="Text for a prompt: headings, and a line for each memory.  Empty if there are no memories."
    )
    memories = RecalledOutput(many=True)
    used_fallback = serializers.BooleanField(help_text="Found by keywords only: the embedder was not available.")
    latency_ms = serializers.FloatField()


class MatchedOutput(RetainedOutput):
    memory_id = serializers.CharField()
    environment = serializers.CharField()
    raw_text = serializers.CharField()
    type = serializers.CharField()
    score = serializers.FloatField()
    relevance = RelevanceField()
    metadata = serializers.DictField()


class MatchesOutput(serializers.Serializer[Any]):
    memories = MatchedOutput(many=True)
    latency_ms = serializers.FloatField()


class PromptView(NamedView):
    """What both ways of asking have in common."""

    def found(self, fields: Mapping[str, Any]) -> Recall:
        scope = self.reader_of(fields, spans=True)
        return recall(
            scope,
            Plaintext(fields["prompt"][:MAX_QUERY]),
            filters=Filters(types=_known(scope, fields.get("types", ()))),
            limit=fields["k"],
            min_relevance=fields.get("min_relevance"),
            now=self.now(),
        )


class RecallView(PromptView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"context": "", "memories": []}

    @operation(
        "recall",
        request=RecallInput,
        examples=[OpenApiExample("for a prompt", EXAMPLE, request_only=True)],
        responses=RecallOutput,
    )
    def post(self, request: Request) -> Response:
        """Memories relevant to a prompt, formatted for insertion into one."""
        found = self.found(self.read(RecallInput))
        body = {
            "context": context_block(found.hits),
            "memories": [
                {
                    "memory_id": public_id(hit.memory.id),
                    "environment": hit.memory.environment,
                    "value": hit.memory.text.reveal(),
                    "type": hit.memory.type,
                    "score": hit.score,
                    "relevance": relevance_body(hit),
                    "retention_expires_at": hit.memory.kept_until,
                }
                for hit in found.hits
            ],
            "used_fallback": not found.dense_available,
            "latency_ms": round(found.latency_ms, 2),
        }
        return Response(body)


class PromptQueryView(PromptView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"memories": []}

    @operation(
        "v1_query",
        request=PromptInput,
        examples=[OpenApiExample("for a prompt", EXAMPLE, request_only=True)],
        responses=MatchesOutput,
    )
    def post(self, request: Request) -> Response:
        """Memories relevant to a prompt, best first."""
        found = self.found(self.read(PromptInput))
        body = {
            "memories": [
                {
                    "memory_id": public_id(hit.memory.id),
                    "environment": hit.memory.environment,
                    "raw_text": hit.memory.text.reveal(),
                    "type": hit.memory.type,
                    "score": hit.score,
                    "relevance": relevance_body(hit),
                    "metadata": dict(hit.memory.metadata),
                    "retention_expires_at": hit.memory.kept_until,
                }
                for hit in found.hits
            ],
            "latency_ms": round(found.latency_ms, 2),
        }
        return Response(body)


def context_block(hits: Sequence[Hit]) -> str:
    """A heading per type, in order of each type's best memory, and a line per memory; no ids, no scores."""
    groups: dict[str, list[str]] = {}
    for hit in hits:
        heading = HEADINGS.get(hit.memory.type, hit.memory.type.capitalize())
        groups.setdefault(heading, []).append("- " + " ".join(hit.memory.text.reveal().split()))
    return "\n\n".join("\n".join([f"{heading}:", *lines]) for heading, lines in groups.items())


def _known(scope: Scope, names: Sequence[str]) -> tuple[str, ...]:
    registry = read_registry(scope) if names else Registry()
    meant = (ALIASES.get(name.strip().lower(), name.strip().lower()) for name in names)
    return tuple(dict.fromkeys(registry.now_called(name) for name in meant if name in registry))
