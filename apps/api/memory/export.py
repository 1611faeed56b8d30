"""GET /memory/export: all memories of one end user, as a stream."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar

import orjson
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request

from apps.api.memory.memory_output import MemoryOutput, memory_body
from apps.api.memory.relations import RelationOutput, relation_body
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.edges.selectors import edges_of
from apps.memories.exporting import ExportBatch, Exported, export_batches
from apps.projects.scope import Scope
from apps.transfers.exports.formats import typed_columns


class ExportedRelationOutput(RelationOutput):
    """A relation; its ends are named by their ``client_ref`` in the export."""

    from_ref = serializers.CharField()
    to_ref = serializers.CharField()


class ExportedPlatformOutput(serializers.Serializer[Any]):
    """Labels of a memory of an agent platform.  context: what else than its key it is saved under."""

    category = serializers.CharField()
    workspace = serializers.CharField(required=False)
    context = serializers.CharField(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    messages = serializers.ListField(child=serializers.CharField(), required=False)


class ExportedOutput(MemoryOutput):
    """A memory; replaced ones are reported as archived.  edges: those to earlier memories, in both directions."""

    client_ref = serializers.CharField()
    content = serializers.JSONField(allow_null=True, help_text="Of a typed memory.")
    keywords = serializers.CharField(allow_null=True, help_text="Of a typed memory.")
    platform = ExportedPlatformOutput(allow_null=True)
    edges = ExportedRelationOutput(many=True)


class ExportOutput(serializers.Serializer[Any]):
    """count and unreadable come last, because they are known only at the end."""

    user_id = serializers.IntegerField()
    generated_at = serializers.DateTimeField()
    memories = ExportedOutput(many=True)
    count = serializers.IntegerField()
    unreadable = serializers.IntegerField()


class ExportView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("export_all", responses=ExportOutput)
    def get(self, request: Request) -> HttpResponseBase:
        """All memories of one end user, oldest first, with their relations.

        Includes archived and replaced memories, but not deleted ones.  The response is a stream; `POST /imports`
        accepts it unchanged.
        """
        scope, now = self.reader(), self.now()
        batches = export_batches(scope, now=now)
        # The first batch is created here, so that errors get the envelope instead of breaking the stream.
        first = next(batches, None)
        ready = chain([first] if first else [], batches)
        return StreamingHttpResponse(_pieces(scope, ready, now=now), content_type="application/json")


def _pieces(scope: Scope, batches: Iterator[ExportBatch], *, now: datetime) -> Iterator[bytes]:
    user_id = scope.space.owner_id if scope.spaces else 0  # the wire requires an integer, even for an unknown end user
    yield b'{"user_id":%d,"generated_at":%b,"memories":[' % (user_id, orjson.dumps(now))
    count = unreadable = 0
    for batch in batches:
        rows = _rows(scope, batch, now=now)
        if rows:
            yield (b"," if count else b"") + b",".join(rows)
        count, unreadable = count + len(rows), unreadable + batch.unreadable
    yield b'],"count":%d,"unreadable":%d}' % (count, unreadable)


def _rows(scope: Scope, batch: ExportBatch, *, now: datetime) -> list[bytes]:
    """Rows of a batch.  Each edge is exported with the later of its two memories, so that an import knows both."""
    edges: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for edge in reversed(edges_of(scope, [one.memory.id for one in batch.memories], now=now)):
        references = {"from_ref": batch.refer(edge.from_id), "to_ref": batch.refer(edge.to_id)}
        edges[max(edge.from_id, edge.to_id)].append(relation_body(edge) | references)
    return [_row(one, edges[one.memory.id]) for one in batch.memories]


def _row(one: Exported, edges: list[dict[str, Any]]) -> bytes:
    more = {"client_ref": one.reference, "edges": edges}
    return orjson.dumps(memory_body(one.memory) | typed_columns(one.memory) | more)
