"""POST /memory/query and /memory/retrieve: the memories that best answer a question."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Metadata, OneOrMore, Tags, Weights
from apps.api.fields import Choice, Flag, Fraction, Label, Moment, Text, Whole
from apps.api.input_serializers import OWNERS, Input
from apps.api.memory.memory_output import FoundOutput, hit_body
from apps.api.operations import operation
from apps.api.permissions import check_history
from apps.api.views import ApiView
from apps.core.errors import Malformed
from apps.core.plaintext import Plaintext
from apps.memories.opened import OpenedMemory
from apps.memories.pinned import MOST as MOST_PINNED
from apps.memories.pinned import pinned_memories
from apps.recall import read_log
from apps.recall.modes import MODES, Mode
from apps.recall.profiles import PROFILES
from apps.recall.results import Filters, Hit, Recall
from apps.recall.services import recall
from apps.recall.stored_turns import FoundTurn, search_turns

MOST: Final = 50  # memories per response
MAX_QUERY: Final = 8_000  # characters; the rest of a longer query is ignored
TIERS: Final = ("hot", "warm", "cold")
SLA_TARGET_MS: Final = {"low": 100, "medium": 250, "high": 1000}


class QueryEmpty(Malformed):
    """query: must not be blank"""

    code = "EMPTY_QUERY"


class FiltersInput(Input):
    """Which memories may be returned."""

    passed_over = OWNERS
    kind = "filter"

    memory_type = OneOrMore(required=False)
    speaker = OneOrMore(required=False, help_text="Named speakers, by their first names; any of them.")
    source = OneOrMore(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    sources = OneOrMore(required=False)
    tags = Tags(required=False, help_text="Any of them.")
    tier = OneOrMore(required=False, choices=TIERS)
    since = Moment(required=False)
    until = Moment(required=False, is_end=True)
    include_summaries = Flag(default=True)
    session_id = Label(required=False, max_length=256)


class HitFields(Input):
    """Which fields the results have."""

    explain = Flag(default=True, help_text="`false` omits `scores` and `explanation`.")
    fields = OneOrMore(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False,
        choices=tuple(FoundOutput().get_fields()),
        help_text="Only these fields of each result, and `id`.",
    )


class QueryInput(HitFields):
    """A question and options for answering it."""

    passed_over = OWNERS
    aliases: ClassVar = {"limit": "k", "depth": "traversal_depth"}

    query = Text(max_length=1_000_000)
    k = Whole(required=False, min_value=1, max_value=MOST, help_text=f"How many; 5 by default, at most {MOST}.")
    limit = Whole(required=False, min_value=1, max_value=MOST, help_text="Alias of `k`.")
    filters = FiltersInput(required=False)
    session_id = Label(required=False, max_length=256, help_text="Memories of this session rank higher.")
    traversal_depth = Whole(
        required=False, min_value=1, max_value=3, help_text="Relations followed: 2, by default, or 3; 1 none."
    )
    depth = Whole(required=False, min_value=1, max_value=3, help_text="Alias of `traversal_depth`.")
    tier = OneOrMore(required=False, choices=TIERS, help_text="As in `filters`.")
    as_of = Moment(required=False, is_end=True, help_text="Memories valid at this time; for a date, at its end.")
    known_at = Moment(
        required=False,
        is_end=True,
        help_text="As recorded at this time; without `as_of`, also valid at this time.",
    )
    include_superseded = Flag(
        default=False, help_text="Also memories that were replaced, each behind what replaced it; without `as_of`."
    )
    metadata_filter = Metadata(required=False, help_text="Keys and the values they must have.")
    weights = Weights(required=False, help_text="Weights of the ranking factors.")
    rerank = Flag(
        required=False,
        help_text="Whether a cross-encoder reads the best results, which is slower; by default the operator decides.",
    )
    min_relevance = Fraction(
        required=False, help_text="Leave out results whose `relevance` is lower; 0 leaves out none."
    )
    mode = Choice(
        choices=tuple(MODES), default="auto", help_text="What to search; `summaries` and `skills` are filters by type."
    )
    profile = Choice(choices=PROFILES, required=False, help_text="The ranking profile.")
    include_turns = Flag(
        default=False, help_text="Also the newest stored turns that share words with the query; needs `history:read`."
    )
    include_pinned = Flag(
        default=False,
        help_text=f"Also the most important pinned memories, whatever the query and filters; at most {MOST_PINNED}.",
    )
    computation_tier = Choice(choices=tuple(SLA_TARGET_MS), default="medium")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("query"), str) and not data["query"].strip():
            raise QueryEmpty
        fields = super().to_internal_value(data)
        if fields["include_superseded"] and not fields.keys().isdisjoint(("as_of", "known_at")):
            refused = ErrorDetail("cannot be combined with as_of or known_at", "one_selector")
            raise serializers.ValidationError({"include_superseded": [refused]})
        if MODES[fields["mode"]].types and fields.get("filters", {}).get("memory_type"):
            refused = ErrorDetail("cannot be combined with filters.memory_type", "one_selector")
            raise serializers.ValidationError({"mode": [refused]})
        return fields


class RoutingOutput(serializers.Serializer[Any]):
    profile = serializers.CharField()
    computation_tier = serializers.CharField()
    depth = serializers.IntegerField()
    dense_available = serializers.BooleanField()
    legs = serializers.ListField(child=serializers.CharField(), help_text="The retrievers that ran.")
    legs_cut = serializers.ListField(
        child=serializers.CharField(),
        help_text="Retrievers and reranker omitted because they failed or the query's time limit was reached.",
    )


class FoundTurnOutput(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`h_…`")
    session_id = serializers.CharField()
    role = serializers.CharField()
    content = serializers.CharField()
    created_at = serializers.DateTimeField()
    score = serializers.FloatField(help_text="0 to 1, by words.")


class PinnedOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    text = serializers.CharField()
    extracted_type = serializers.CharField()
    importance = serializers.FloatField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class QueryOutput(serializers.Serializer[Any]):
    memories = FoundOutput(many=True)
    pinned = PinnedOutput(many=True, required=False, help_text="With `include_pinned`.")
    turns = FoundTurnOutput(many=True, required=False, help_text="With `include_turns`: at most `k`, best first.")
    context = serializers.CharField(help_text="The memories as lines for a prompt; first those of `pinned`.")  # type: ignore[assignment]  # the wire's name
    latency_ms = serializers.FloatField()
    session_id = serializers.CharField(allow_null=True)
    query_intent = serializers.CharField()
    query_id = serializers.UUIDField()
    sla_target_ms = serializers.IntegerField()
    routing = RoutingOutput()


class QueryView(ApiView):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}
    silent_answer: ClassVar = {"memories": []}

    @operation(
        "query",
        request=QueryInput,
        examples=[OpenApiExample("a question", {"query": "Where do I live?", "k": 3}, request_only=True)],
        responses=QueryOutput,
    )
    def post(self, request: Request) -> Response:
        """Recall the memories that best answer a question.

        Each result explains its rank: the factors of its score, how it was found, and its rank in each retriever.
        `explain` and `fields` make the answer smaller.
        """
        fields = self.read(QueryInput)
        depth = fields.get("traversal_depth", fields.get("depth", 2))
        scope = self.reader(fields.get("end_user_id"), spans=True)
        query, filters = Plaintext(fields["query"][:MAX_QUERY]), _filters(fields)
        limit, now = fields.get("k", fields.get("limit", 5)), self.now()
        if fields["include_turns"]:
            check_history(scope)
        found = recall(
            scope,
            query,
            filters=filters,
            limit=limit,
            depth=depth,
            profile=fields.get("profile"),
            weights=fields.get("weights"),
            session_id=fields.get("session_id"),
            rerank=fields.get("rerank"),
            min_relevance=fields.get("min_relevance"),
            legs=_legs(MODES[fields["mode"]]),
            keeps=MODES[fields["mode"]].keeps,
            now=now,
        )
        pinned = pinned_memories(scope, now=now) if fields["include_pinned"] else []
        if pinned:
            read_log.record_report(scope, len(pinned))
        body = _body(found, pinned, fields, depth=depth)
        if fields["include_pinned"]:
            body["pinned"] = [_pinned_body(one) for one in pinned]
        if fields["include_turns"]:
            turns = search_turns(scope, query, filters=filters, limit=limit, now=now)
            body["turns"] = [_turn_body(one) for one in turns]
        return Response(body)


@extend_schema_view(post=extend_schema(operation_id="retrieve"))
class RetrieveView(QueryView):
    """The same under its other name."""


def hit_bodies(hits: Sequence[Hit], fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results, with the fields that HitFields asked for."""
    return [hit_body(hit, explains=fields["explain"], names=fields.get("fields", ())) for hit in hits]


def _filters(fields: Mapping[str, Any]) -> Filters:
    chosen: Mapping[str, Any] = fields.get("filters", {})
    mode = MODES[fields["mode"]]
    return Filters(
        types=mode.types or chosen.get("memory_type", ()),
        speakers=chosen.get("speaker", ()),
        sources=_union(chosen.get("source", ()), chosen.get("sources", ())),
        tags=chosen.get("tags", ()),
        tiers=_union(chosen.get("tier", ()), fields.get("tier", ())),
        since=chosen.get("since"),
        until=chosen.get("until"),
        include_summaries=mode.include_summaries and chosen.get("include_summaries", True),
        session_id=chosen.get("session_id"),
        metadata=fields.get("metadata_filter", {}),
        as_of=fields.get("as_of"),
        known_at=fields.get("known_at"),
        include_superseded=fields["include_superseded"],
    )


def _legs(mode: Mode) -> Collection[str] | None:
    if mode.more_legs:
        return {*settings.RECALL_LEGS, *mode.more_legs}
    return mode.legs or None


def _turn_body(found: FoundTurn) -> dict[str, Any]:
    turn = found.turn
    return {
        "id": f"h_{turn.id}",
        "session_id": turn.session_id,
        "role": turn.role,
        "content": turn.content.reveal(),
        "created_at": turn.created_at,
        "score": found.score,
    }


def _union(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(some + others))


def _pinned_body(memory: OpenedMemory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "text": memory.text.reveal(),
        "extracted_type": memory.type,
        "importance": memory.importance,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def _body(found: Recall, pinned: Sequence[OpenedMemory], fields: Mapping[str, Any], *, depth: int) -> dict[str, Any]:
    tier = fields["computation_tier"]
    texts = {one.id: one.text.reveal() for one in (*pinned, *(hit.memory for hit in found.hits))}
    return {
        "memories": hit_bodies(found.hits, fields),
        "context": "\n".join(f"- {text}" for text in texts.values()),
        "latency_ms": round(found.latency_ms, 2),
        "session_id": fields.get("session_id"),
        "query_intent": found.intent,
        "query_id": str(found.query_id),
        "sla_target_ms": SLA_TARGET_MS[tier],
        "routing": {
            "profile": found.profile,
            "computation_tier": tier,
            "depth": depth,
            "dense_available": found.dense_available,
            "legs": list(found.legs),
            "legs_cut": list(found.legs_cut),
        },
    }
