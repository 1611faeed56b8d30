"""GET /v1/audit/events: the tenant's audit trail, newest first."""

from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, Moment, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.audit.selectors import AuditFilter, list_events

MOST: Final = 200


class EventsInput(Parameters):
    """Which rows."""

    action = Label(required=False, help_text="An exact action, or a prefix that ends with a dot: `api_key.`")
    actor = Label(required=False, help_text="For example `api_key:7`.")
    outcome = Choice(choices=("ok", "denied"), required=False)
    since = Moment(required=False)
    until = Moment(required=False, is_end=True)
    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")


class EventOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    tenant_id = serializers.IntegerField()
    seq = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    target = serializers.CharField()
    outcome = serializers.CharField()
    reason = serializers.CharField()
    request_id = serializers.CharField()
    count = serializers.IntegerField()
    network = serializers.CharField()
    code_version = serializers.CharField()
    prev_hash = serializers.CharField()
    hash = serializers.CharField()


class EventsOutput(serializers.Serializer[Any]):
    events = EventOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class EventsView(ApiView):
    permissions: ClassVar = {"GET": "audit:read"}

    @operation("list_audit_events", parameters=[EventsInput], responses=EventsOutput)
    def get(self, request: Request) -> Response:
        """The tenant's audit trail, of all its environments, newest first.

        Each row contains the hash of the previous one; docs/audit.md says over which bytes.
        """
        fields = dict(self.read_parameters(EventsInput))
        limit, before = fields.pop("limit"), fields.pop("cursor", None)
        found = list_events(self.scope(), AuditFilter(**fields), before=before, limit=limit + 1)
        shown = found[:limit]
        return Response(
            {
                "events": [entry.to_json() for entry in shown],
                "next_cursor": shown[-1].seq if len(found) > limit else None,
            }
        )
