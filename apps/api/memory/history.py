"""GET /memory/{id}/history: the changes of one memory."""

from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.revisions import TRACKED, Revision, get_history
from apps.recall import read_log

MOST: Final = 1_000


class HistoryInput(Parameters):
    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)
    offset = WholeInQuery(default=0, min_value=0, max_value=2**31)


class ValuesOutput(serializers.Serializer[Any]):
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)


class RevisionOutput(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    event = serializers.CharField()
    changed_fields = serializers.ListField(child=serializers.CharField())
    diff = serializers.DictField(child=ValuesOutput())
    actor = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class HistoryOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    total = serializers.IntegerField()
    revisions = RevisionOutput(many=True)
    tracked_fields = serializers.ListField(child=serializers.CharField())


class HistoryView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("history", parameters=[HistoryInput], responses=HistoryOutput)
    def get(self, request: Request, memory_id: int) -> Response:
        """The history of a memory, oldest first.

        Revision 0 is its creation; each later one says who changed what.  `actor` is null for changes by the service
        itself.
        """
        fields, scope = self.read_parameters(HistoryInput), self.reader(spans=True)
        found = get_history(scope, memory_id, limit=fields["limit"], offset=fields["offset"], now=self.now())
        read_log.record_read(scope)
        return Response(
            {
                "memory_id": found.memory_id,
                "total": found.total,
                "revisions": [_revision(one) for one in found.revisions],
                "tracked_fields": list(TRACKED),
            }
        )


def _revision(one: Revision) -> dict[str, Any]:
    return {
        "revision": one.number,
        "event": one.event,
        "changed_fields": list(one.changed_fields),
        "diff": {name: dict(values) for name, values in one.diff.items()},
        "actor": one.actor,
        "created_at": one.created_at,
    }
