"""POST /v3/memories/search/ and POST /v3/memories/: memories by a question, and all of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import FilledLabels, Metadata, OneOrMore
from apps.api.fields import Flag, Fraction, Moment, Text, Whole
from apps.api.mem0.base import Mem0Input, Mem0Page, Mem0View, page_links, paged
from apps.api.mem0.fields import FilterExpression
from apps.api.mem0.filters import (
    Condition,
    Expression,
    both,
    narrows,
    owners_of,
    read_filters,
)
from apps.api.mem0.output import FoundMemoryOutput, Mem0PageOutput, facts_of, memory_body
from apps.api.memory.query import MAX_QUERY
from apps.api.operations import operation
from apps.core.plaintext import Plaintext
from apps.memories.selectors import list_memories
from apps.recall import read_log, reranking
from apps.recall.scores import score_of
from apps.recall.services import recall

MOST: Final = 1_000  # results of a search
SEARCHED: Final = 200  # best memories that filters choose from, if there are any
LISTED: Final = 20_000  # newest memories that are opened to be filtered
THRESHOLD: Final = 0.1
OWNER_EXAMPLE: Final = {"user_id": "ana"}


class NarrowedInput(Mem0Input):
    """Whose memories, and which of them."""

    unbuilt = ("show_expired", "reference_date")

    filters = FilterExpression(help_text="Conditions, of which one names a user, agent, app or run (docs/mem0.md).")
    categories = FilledLabels(required=False, help_text="Any of them.")
    latest_only = Flag(required=False, help_text="No effect: replaced memories are never found.")

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        fields["asked"] = read_filters(fields["filters"])
        return fields


class Mem0SearchInput(NarrowedInput):
    """A question, and whose memories answer it."""

    query = Text(max_length=1_000_000)
    top_k = Whole(default=10, min_value=1, max_value=MOST)
    threshold = Fraction(default=THRESHOLD, help_text="The least score.")
    metadata = Metadata(required=False, help_text="Names that a memory's metadata have with these values.")
    fields = OneOrMore(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False, choices=tuple(FoundMemoryOutput().get_fields()), help_text="Of each result; all by default."
    )
    rerank = Flag(
        required=False, help_text="Whether a cross-encoder reads the best results; by default the operator decides."
    )
    keyword_search = Flag(required=False, help_text="No effect: words always count.")


class Mem0ListInput(NarrowedInput):
    """Whose memories."""

    start_date = Moment(required=False, help_text="Stored then or later.")
    end_date = Moment(required=False, is_end=True, help_text="Stored then or before.")


class Mem0FoundOutput(serializers.Serializer[Any]):
    results = FoundMemoryOutput(many=True)


class Mem0SearchView(Mem0View):
    permissions: ClassVar = {"POST": "memory:read"}
    meters: ClassVar = {"POST": "retrievals"}

    @operation(
        "mem0_search",
        request=Mem0SearchInput,
        examples=[
            OpenApiExample("a question", {"query": "What do I eat?", "filters": OWNER_EXAMPLE}, request_only=True)
        ],
        responses=Mem0FoundOutput,
    )
    def post(self, request: Request) -> Response:
        """The memories that best answer a question, best first.

        Filters choose from the 200 best.  A score is 0 to 1, and can be compared between questions.  Results are in the
        order of their scores unless a cross-encoder read them.
        """
        asked, now = self.read(Mem0SearchInput), self.now()
        wanted = _wanted(asked)
        scope, owners = self.reached(owners_of(asked["asked"]))
        limit = max(asked["top_k"], SEARCHED) if narrows(wanted) else asked["top_k"]
        found = recall(
            scope, Plaintext(asked["query"][:MAX_QUERY]), limit=limit, rerank=asked.get("rerank"),
            min_relevance=0.0, with_alike=narrows(wanted), now=now,
        )  # fmt: skip
        results = []
        for hit in found.hits:
            facts, score = facts_of(hit.memory, owners[hit.memory.space_id]), score_of(hit)
            if score >= asked["threshold"] and wanted.accepts(facts):
                results.append(memory_body(facts) | {"score": round(score, 4)})
        if reranking.NAME not in found.legs:
            results.sort(key=lambda one: -one["score"])
        return Response({"results": [_only(one, asked.get("fields")) for one in results[: asked["top_k"]]]})


class Mem0ListView(Mem0View):
    permissions: ClassVar = {"POST": "memory:read"}

    @operation(
        "mem0_list",
        request=Mem0ListInput,
        parameters=[Mem0Page],
        examples=[OpenApiExample("of a user", {"filters": OWNER_EXAMPLE}, request_only=True)],
        responses=Mem0PageOutput,
    )
    def post(self, request: Request) -> Response:
        """List memories, newest first.  Filters choose from the newest 20,000."""
        asked, page_asked, now = self.read(Mem0ListInput), self.read_parameters(Mem0Page), self.now()
        wanted, page, size = _wanted(asked), page_asked["page"], page_asked["page_size"]
        scope, owners = self.reached(owners_of(asked["asked"]))
        if narrows(wanted):
            every = list_memories(scope, limit=LISTED, now=now).memories
            facts = [facts_of(memory, owners[memory.space_id]) for memory in every]
            accepted = [one for one in facts if wanted.accepts(one)]
            shown, total = paged(accepted, page=page, page_size=size), len(accepted)
        else:
            found = list_memories(scope, limit=size, offset=(page - 1) * size, now=now)
            shown, total = [facts_of(one, owners[one.space_id]) for one in found.memories], found.total
        read_log.record_report(scope, len(shown))
        links = page_links(self, page=page, page_size=size, total=total)
        return Response(links | {"results": [memory_body(one) for one in shown]})


def _wanted(asked: Mapping[str, Any]) -> Expression:
    """The filters, and the conditions that the body has beside them."""
    beside: list[Expression] = []
    if asked.get("categories"):
        beside.append(Condition(key="categories", operator="in", value=asked["categories"]))
    if asked.get("metadata"):
        beside.append(Condition(key="metadata", operator="eq", value=asked["metadata"]))
    for name, operator in (("start_date", "gte"), ("end_date", "lte")):
        if moment := asked.get(name):
            beside.append(Condition(key="created_at", operator=operator, value=((moment, moment),)))
    return both(asked["asked"], *beside) if beside else asked["asked"]


def _only(body: dict[str, Any], names: tuple[str, ...] | None) -> dict[str, Any]:
    return body if names is None else {name: body[name] for name in ("id", *names) if name in body}
