"""GET /v1/events and /v1/events/stream: the events of webhooks, in pages or as server-sent events."""

from typing import Any, ClassVar, Final

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import invalid
from apps.api.fields import Label, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.operations import operation
from apps.api.permissions import InsufficientScope
from apps.api.views import ApiView
from apps.apikeys.selectors import Authenticated
from apps.memories.spaces import find_end_user
from apps.webhooks import event_log
from apps.webhooks.event_log import NOBODY, EventFilter
from apps.webhooks.events import CATEGORIES, TYPES, unknown
from apps.webhooks.listeners import Hub, Listener, serve_first
from apps.webhooks.services import UnknownEvents

MOST: Final = 500
OF_MEMORIES: Final = frozenset(CATEGORIES["memory"] + CATEGORIES["session"])
OF_THE_TENANT: Final = "webhooks:read"  # permission to see events of keys, members, quotas and limits
HOLD: Final = "memsync.hold"  # set by the web server: a function that keeps the response open for a listener

hub: Final = Hub(timezone.now)


class LiveEventsInput(Parameters):
    """Which events."""

    after = WholeInQuery(required=False, help_text="The position of the last event that you have.")
    types = Label(
        required=False, max_length=512, help_text="Types, separated by commas; by default all that the key may see."
    )


class EventPageInput(LiveEventsInput):
    limit = WholeInQuery(default=100, min_value=1, max_value=MOST)


class LiveEventOutput(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    id = serializers.CharField(help_text="`evt_…`, the same as of webhooks.")
    type = serializers.CharField()
    created_at = serializers.DateTimeField()
    tenant_id = serializers.CharField()
    environment = serializers.CharField(allow_null=True)
    project_id = serializers.CharField(allow_null=True)
    data = serializers.DictField()  # type: ignore[assignment]  # the wire's name, not DRF's


class EventPageOutput(serializers.Serializer[Any]):
    events = LiveEventOutput(many=True)
    next = serializers.IntegerField(help_text="The `after` of the next request.")
    has_more = serializers.BooleanField(help_text="Whether there may be more now.")


class LiveEventsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}
    refuses: ClassVar = frozenset({410})

    def wanted(self, types: str | None, end_user: str | None) -> EventFilter:
        """Raises UnknownEvents, and InsufficientScope for a type that the key may not see."""
        scope = self.scope()
        visible = frozenset(TYPES) if OF_THE_TENANT in scope.permissions else OF_MEMORIES
        named = visible if types is None else frozenset(one.strip() for one in types.split(","))
        if unknown(named):
            raise UnknownEvents(f"An unknown type of event. There are: {', '.join(TYPES)}.")
        if not named <= visible:
            raise InsufficientScope(f"Insufficient scope. Missing: {OF_THE_TENANT}")
        space = find_end_user(scope, end_user) if end_user is not None else None
        return EventFilter(
            environment=scope.environment,
            project_id=scope.project_id,
            space_id=None if end_user is None else space.id if space else NOBODY,
            types=named,
        )


class EventPageView(LiveEventsView):
    @operation("list_events", parameters=[EventPageInput], responses=EventPageOutput)
    def get(self, request: Request) -> Response:
        """List events, oldest first, those of one end user if the header names one.

        The same events as of `/v1/events/stream`, for clients that cannot keep a connection open.  Without `after`, the
        oldest events that are kept.  Events are recorded from the first request to either route on.
        """
        asked, scope = self.read_parameters(EventPageInput), self.scope()
        only = self.wanted(asked.get("types"), self.end_user_or_none(None))
        state = event_log.keep_recording(scope, now=self.now())
        after = event_log.find_position(scope, state, asked.get("after", state.dropped))
        page = event_log.read_page(scope, state, after=after, limit=asked["limit"], only=only)
        events = [{"position": event.position, **event.body} for event in page.events]
        return Response({"events": events, "next": page.position, "has_more": page.has_more})


class EventStreamView(LiveEventsView):
    @operation(
        "stream_events",
        parameters=[
            LiveEventsInput,
            OpenApiParameter(
                "Last-Event-ID",
                {"type": "string", "pattern": "^[0-9]{0,18}$"},
                OpenApiParameter.HEADER,
                description="Sent by clients that connect again, in place of `after`.",
            ),
        ],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Stream events as they happen, those of one end user if the header names one.

        Server-sent events: `id` is the position, `event` the type, and `data` what webhooks receive.  The stream begins
        after `Last-Event-ID` or `after`, by default with the next event.
        """
        asked, scope = self.read_parameters(LiveEventsInput), self.scope()
        end_user = self.end_user_or_none(None)
        only = self.wanted(asked.get("types"), end_user)
        after = _last_event_id(request) if request.headers.get("Last-Event-ID") else asked.get("after")
        state = event_log.keep_recording(scope, now=self.now())
        position = event_log.find_position(scope, state, after)
        assert isinstance(request.auth, Authenticated)  # noqa: S101  (no person has the permission)
        listener = Listener(scope, request.auth, only, position=position, end_user=end_user)
        serve_first(listener, state)
        pieces = [listener.take() or b"", listener.take() or b""]
        hold = request.META.get(HOLD)
        if hold is not None and request.method == "GET":  # by another server the stream ends after what there is
            hub.add(listener)
            hold(listener)
        # nginx would otherwise wait for more before it passes anything on.
        return StreamingHttpResponse(pieces, content_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _last_event_id(request: Request) -> int:
    field = WholeInQuery()
    try:
        return int(field.run_validation(request.headers["Last-Event-ID"]))
    except serializers.ValidationError as refused:
        raise invalid(serializers.ValidationError({"Last-Event-ID": refused.detail}), place="header") from None
