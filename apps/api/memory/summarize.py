"""POST /memory/summarize and GET /memory/clusters: summaries of memories, and clusters of related memories."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Ids
from apps.api.fields import ClampedInQuery, Flag, Label
from apps.api.input_serializers import OWNERS, Input, Parameters
from apps.api.memory.memory_output import MemoryOutput, SkipOutput, memory_body
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.selectors import get_memory
from apps.summaries.clusters import list_clusters
from apps.summaries.services import summarize

MAX_SOURCES: Final = 100


class SummarizeInput(Input):
    """The memories to summarize; a summary among them is replaced by its own sources."""

    passed_over = OWNERS

    memory_ids = Ids(max_items=MAX_SOURCES)
    lossless = Flag(default=False, help_text="Keep every name, number, date and fact, or else the original texts.")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class SummarizeView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}

    @operation(
        "summarize",
        request=SummarizeInput,
        examples=[OpenApiExample("three memories", {"memory_ids": [3, 5, 8], "lossless": True}, request_only=True)],
        responses={
            201: OpenApiResponse(MemoryOutput, "Summarized."),
            200: OpenApiResponse(
                PolymorphicProxySerializer("SummarizedOutput", [MemoryOutput, SkipOutput], None),
                "The existing summary, or a skip if there is nothing to summarize.",
            ),
        },
    )
    def post(self, request: Request) -> Response:
        """Summarize memories in a new memory made of their sentences, with `summary_of` edges to them.

        When a source is deleted, replaced or expired, the summary is removed in the same transaction, and rebuilt
        without it if at least three sources remain.
        """
        fields, now = self.read(SummarizeInput), self.now()
        scope = self.reader(fields.get("end_user_id"), writes=True)
        made = summarize(scope, fields["memory_ids"], lossless=fields["lossless"], now=now)
        if made.memory_id is None:
            return Response(_NOTHING)
        return Response(memory_body(get_memory(scope, made.memory_id, now=now)), status=201 if made.is_new else 200)


_NOTHING: Final[dict[str, Any]] = {
    "status": "skipped",
    "reason": "no_high_value_content",
    "memory_ids": [],
    "candidates_extracted": 0,
    "candidates_stored": 0,
    "decisions": [],
}


class ClustersInput(Parameters):
    """How many."""

    limit = ClampedInQuery(lowest=1, highest=200, default=20)


class ClusterOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    label = serializers.CharField()  # type: ignore[assignment]  # the wire's name, not DRF's
    size = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.IntegerField(), help_text="The newest fifty.")
    extracted_type = serializers.CharField()
    extracted_key = serializers.CharField(allow_null=True)
    summary_memory_id = serializers.IntegerField(allow_null=True)


class ClustersOutput(serializers.Serializer[Any]):
    clusters = ClusterOutput(many=True)
    total = serializers.IntegerField()


class ClustersView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("clusters", parameters=[ClustersInput], responses=ClustersOutput)
    def get(self, request: Request) -> Response:
        """Clusters of memories with the same type and topic, largest first."""
        limit = self.read_parameters(ClustersInput)["limit"]
        found, total = list_clusters(self.reader(), limit=limit, now=self.now())
        clusters = [
            {
                "id": one.id,
                "label": one.topic,
                "size": one.size,
                "memory_ids": list(one.memory_ids),
                "extracted_type": one.type,
                "extracted_key": one.key,
                "summary_memory_id": one.summary_id,
            }
            for one in found
        ]
        return Response({"clusters": clusters, "total": total})
