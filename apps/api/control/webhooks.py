"""/org/webhooks: who is told of what happens; the client is ``memorysync.ControlPlaneClient``.

Nobody gives events of other environments away: an endpoint belongs to the environment of the key that made it, or to
production where a person did.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import orjson
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Flag, Input, Label, Labels, Parameters, Text, Whole, WholeInQuery
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.projects.scope import Scope
from apps.webhooks import deliveries, services
from apps.webhooks.deliveries import Delivery, rate
from apps.webhooks.events import CATEGORIES, TYPES
from apps.webhooks.services import Endpoint
from apps.webhooks.telling import hash_of, shown_id

ALGORITHMS: Final = ("hmac-sha256", "hmac-sha512")
STATUSES: Final = ("pending", "retrying", "delivered", "failed", "dead_letter")
READ, WRITE = "webhooks:read", "webhooks:write"


def _within(column: str) -> dict[str, Any]:
    least, most = services.BOUNDS[column]
    return {"min_value": least, "max_value": most}


class RetryInput(Input):
    """When what failed is tried again."""

    enabled = Flag(required=False)
    max_retries = Whole(required=False, **_within("max_retries"))
    initial_delay_seconds = Whole(required=False, **_within("initial_delay_seconds"))
    max_delay_seconds = Whole(required=False, **_within("max_delay_seconds"))
    backoff_multiplier = serializers.FloatField(required=False, **_within("backoff_multiplier"))
    retry_status_codes = Labels(required=False, max_items=64, max_length=3)


class SignatureInput(Input):
    """How a delivery is signed."""

    algorithm = Choice(choices=ALGORITHMS, required=False)
    header_name = Label(required=False, max_length=64)
    timestamp_header = Label(required=False, max_length=64)
    tolerance_seconds = Whole(required=False, **_within("signature_tolerance"))


class UpdateInput(Input):
    name = Label(required=False, max_length=128)
    url = Text(required=False, max_length=services.MOST_URL)
    events = Labels(required=False, choices=TYPES)
    description = Text(required=False, max_length=500, allow_blank=True)
    retry_config = RetryInput(required=False)
    signature_config = SignatureInput(required=False)

    some_of: ClassVar = ("name", "url", "events", "description", "retry_config", "signature_config")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("at least one field is required")
        return attrs


class CreateInput(Input):
    name = Label(max_length=128)
    url = Text(max_length=services.MOST_URL, help_text="https, and a public address.")
    events = Labels(choices=TYPES, help_text="At least one.")
    description = Text(required=False, max_length=500, allow_blank=True)
    retry_config = RetryInput(required=False)
    signature_config = SignatureInput(required=False)
    project_id = Label(required=False, max_length=64, help_text="Only what happens in this project.")


class TestInput(Input):
    event_type = Choice(choices=TYPES, default="memory.created")


class ReplayInput(Input):
    since_minutes = Whole(default=60, min_value=1, max_value=10_080)
    statuses = Labels(default=("failed", "dead_letter"), choices=STATUSES)
    limit = Whole(default=100, min_value=1, max_value=1_000)


class PageInput(Parameters):
    page = WholeInQuery(default=1, min_value=1, max_value=1_000_000)
    page_size = WholeInQuery(default=20, min_value=1, max_value=100)
    status_filter = Choice(choices=STATUSES, required=False)


class RecentInput(PageInput):
    endpoint_id = WholeInQuery(required=False, min_value=1)


class WebhookOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    url = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    secret_prefix = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField()
    environment = serializers.CharField()
    signature_algorithm = serializers.ChoiceField(choices=ALGORITHMS)
    signature_header = serializers.CharField()
    timestamp_header = serializers.CharField()
    signature_tolerance = serializers.IntegerField()
    retry_enabled = serializers.BooleanField()
    max_retries = serializers.IntegerField()
    initial_delay_seconds = serializers.IntegerField()
    max_delay_seconds = serializers.IntegerField()
    backoff_multiplier = serializers.FloatField()
    retry_status_codes = serializers.ListField(child=serializers.CharField())
    total_deliveries = serializers.IntegerField()
    successful_deliveries = serializers.IntegerField()
    failed_deliveries = serializers.IntegerField()
    consecutive_failures = serializers.IntegerField()
    success_rate = serializers.FloatField(help_text="In percent; 100 before the first delivery has ended.")
    last_triggered_at = serializers.DateTimeField(allow_null=True)
    last_success_at = serializers.DateTimeField(allow_null=True)
    last_failure_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    last_status_code = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    created_by_name = serializers.CharField(allow_null=True)
    project_id = serializers.CharField(allow_null=True)


class CreatedWebhookOutput(WebhookOutput):
    secret = serializers.CharField(help_text="Shown this once.")


class WebhooksOutput(serializers.Serializer[Any]):
    endpoints = WebhookOutput(many=True)
    total_endpoints = serializers.IntegerField()
    active_endpoints = serializers.IntegerField()
    total_deliveries = serializers.IntegerField()
    avg_success_rate = serializers.FloatField()
    failing_endpoints = serializers.IntegerField()


class AttemptOutput(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    status_code = serializers.IntegerField(allow_null=True)
    latency_ms = serializers.IntegerField()
    error = serializers.CharField()


class DeliveryOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    endpoint_id = serializers.IntegerField()
    event_type = serializers.CharField()
    event_id = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES)
    payload = serializers.DictField()
    payload_hash = serializers.CharField(help_text="SHA-256 of the body, in hex.")
    signature = serializers.CharField(allow_null=True, help_text="Of the last attempt.")
    status_code = serializers.IntegerField(allow_null=True)
    response_body = serializers.CharField(allow_null=True, help_text="The first 1,024 bytes of the last answer.")
    error_message = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField(allow_null=True)
    attempt_number = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    attempts = AttemptOutput(many=True)
    next_retry_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)


class DeliveriesOutput(serializers.Serializer[Any]):
    deliveries = DeliveryOutput(many=True)
    total = serializers.IntegerField()
    page = serializers.IntegerField()
    page_size = serializers.IntegerField()


class TestedOutput(serializers.Serializer[Any]):
    delivery_id = serializers.IntegerField()
    event_id = serializers.CharField()
    event_type = serializers.CharField()
    endpoint_id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=STATUSES)
    payload = serializers.DictField()
    message = serializers.CharField()


class ReplayedOutput(serializers.Serializer[Any]):
    endpoint_id = serializers.IntegerField()
    eligible = serializers.IntegerField()
    replayed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    delivery_ids = serializers.ListField(child=serializers.IntegerField())


class EventTypesOutput(serializers.Serializer[Any]):
    event_types = serializers.ListField(child=serializers.CharField())
    categories = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class WebhookHealthOutput(serializers.Serializer[Any]):
    active_webhooks = serializers.IntegerField()
    total_webhooks = serializers.IntegerField()
    total_deliveries_all_time = serializers.IntegerField()
    total_deliveries_24h = serializers.IntegerField()
    success_rate_7d = serializers.FloatField(help_text="In percent; 100 where nothing was delivered.")
    failing_endpoints = serializers.IntegerField()
    pending_retries = serializers.IntegerField()
    dead_letter_count = serializers.IntegerField()


class WebhookView(ApiView):
    """What these routes have in common."""

    headers_read: ClassVar = ("X-Project-ID",)

    def reach(self, in_body: str | None = None) -> Scope:
        """The environment of whoever asks; one project where the header, the body or the key names it, else all."""
        named = self.request.headers.get("X-Project-ID", "").strip() or in_body
        return replace(self.caller, project_id=self.project_named(named).pk) if named else self.caller


class WebhooksView(WebhookView):
    permissions: ClassVar = {"GET": READ, "POST": WRITE}
    fresh: ClassVar = frozenset({"POST"})

    @operation(
        "create_webhook",
        request=CreateInput,
        examples=[
            OpenApiExample(
                "a webhook",
                {"name": "my service", "url": "https://hooks.example.com/memory", "events": ["memory.created"]},
                request_only=True,
            )
        ],
        responses={201: CreatedWebhookOutput},
    )
    def post(self, request: Request) -> Response:
        """Be told of events.  The secret that signs deliveries is in this answer and in no other."""
        fields, now = self.read(CreateInput), self.now()
        made = services.create(
            self.reach(fields.get("project_id")),
            name=fields["name"],
            url=fields["url"],
            wanted=fields["events"],
            description=fields.get("description"),
            retry=_retry(fields),
            signature=_signature(fields),
            now=now,
        )
        return Response(_created(made), status=201)

    @operation("list_webhooks", responses=WebhooksOutput)
    def get(self, request: Request) -> Response:
        """The webhooks, newest first, and how they fare."""
        found = services.list_endpoints(self.reach())
        rows = [one.row for one in found]
        total = sum(row.total_deliveries for row in rows)
        active = [row for row in rows if row.is_enabled]
        return Response(
            {
                "endpoints": [_body(one) for one in found],
                "total_endpoints": len(rows),
                "active_endpoints": len(active),
                "total_deliveries": total,
                "avg_success_rate": rate(sum(row.successful_deliveries for row in rows), total),
                "failing_endpoints": sum(row.consecutive_failures >= deliveries.FAILING for row in active),
            }
        )


class EndpointView(WebhookView):
    permissions: ClassVar = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}

    @operation("get_webhook", responses=WebhookOutput)
    def get(self, request: Request, endpoint_id: int) -> Response:
        """One webhook."""
        return Response(_body(services.get(self.reach(), endpoint_id)))

    @operation("update_webhook", request=UpdateInput, responses=WebhookOutput)
    def patch(self, request: Request, endpoint_id: int) -> Response:
        """Change what is given, and leave the rest as it is."""
        fields = self.read(UpdateInput)
        changed = services.update(
            self.reach(),
            endpoint_id,
            name=fields.get("name"),
            url=fields.get("url"),
            description=fields.get("description"),
            wanted=fields.get("events"),
            retry=_retry(fields),
            signature=_signature(fields),
            now=self.now(),
        )
        return Response(_body(changed))

    @operation("delete_webhook", request=None, responses={204: None})
    def delete(self, request: Request, endpoint_id: int) -> Response:
        """Delete it, with its deliveries; what waits is not sent."""
        services.delete(self.reach(), endpoint_id, now=self.now())
        return Response(status=204)


class PauseView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("pause_webhook", request=None, responses=WebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Send nothing until it is resumed.  What waits stays; what happens meanwhile is not told."""
        return Response(_body(services.pause(self.reach(), endpoint_id, now=self.now())))


class ResumeView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("resume_webhook", request=None, responses=WebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Send again, and first what waited."""
        return Response(_body(services.resume(self.reach(), endpoint_id, now=self.now())))


class RotateSecretView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}
    fresh: ClassVar = frozenset({"POST"})

    @operation("rotate_webhook_secret", request=None, responses=CreatedWebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """A new secret.  For a day the old one signs as well, in a header whose name ends in -Previous."""
        return Response(_created(services.rotate_secret(self.reach(), endpoint_id, now=self.now())))


class TestView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("test_webhook", request=TestInput, responses=TestedOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Send a delivery that says that it is a test."""
        fields = self.read(TestInput)
        row = deliveries.test(self.reach(), endpoint_id, fields["event_type"], now=self.now())
        return Response(
            {
                "delivery_id": row.pk,
                "event_id": shown_id(row.event_id),
                "event_type": row.event_type,
                "endpoint_id": row.endpoint_id,
                "status": row.status,
                "payload": orjson.loads(row.payload),
                "message": "It is being sent; ask for the delivery to see what became of it.",
            }
        )


class ReplayView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("replay_webhook_deliveries", request=ReplayInput, responses=ReplayedOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Send again what was not delivered, the oldest first.  Event and delivery ids stay the same."""
        fields, now = self.read(ReplayInput), self.now()
        found = deliveries.replay(
            self.reach(),
            endpoint_id,
            since=now - timedelta(minutes=fields["since_minutes"]),
            statuses=fields["statuses"],
            limit=fields["limit"],
            now=now,
        )
        return Response(
            {
                "endpoint_id": endpoint_id,
                "eligible": found.eligible,
                "replayed": len(found.ids),
                "skipped": found.eligible - len(found.ids),
                "delivery_ids": list(found.ids),
            }
        )


class DeliveriesView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("list_webhook_deliveries", parameters=[PageInput], responses=DeliveriesOutput)
    def get(self, request: Request, endpoint_id: int) -> Response:
        """Deliveries to one webhook, newest first."""
        return Response(_page(self, self.read_parameters(PageInput), endpoint_id))


class RecentDeliveriesView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("list_recent_webhook_deliveries", parameters=[RecentInput], responses=DeliveriesOutput)
    def get(self, request: Request) -> Response:
        """Deliveries to every webhook, newest first."""
        asked = self.read_parameters(RecentInput)
        return Response(_page(self, asked, asked.get("endpoint_id")))


class LatestDeliveryView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_latest_webhook_delivery", responses={200: DeliveryOutput, 204: None})
    def get(self, request: Request, endpoint_id: int) -> Response:
        """The newest delivery; 204 where there is none."""
        found = deliveries.latest(self.reach(), endpoint_id, now=self.now())
        return Response(_delivery(found)) if found else Response(status=204)


class DeliveryView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_delivery", responses=DeliveryOutput)
    def get(self, request: Request, delivery_id: int) -> Response:
        """One delivery, with each attempt."""
        return Response(_delivery(deliveries.get(self.reach(), delivery_id, now=self.now())))


class RetryDeliveryView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("retry_webhook_delivery", request=None, responses=DeliveryOutput)
    def post(self, request: Request, delivery_id: int) -> Response:
        """Send it again now, with all its retries before it."""
        return Response(_delivery(deliveries.retry(self.reach(), delivery_id, now=self.now())))


class EventTypesView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_event_types", responses=EventTypesOutput)
    def get(self, request: Request) -> Response:
        """The events that there are."""
        self.reach()  # a project that is not there is refused here as everywhere
        categories = {name: list(types) for name, types in CATEGORIES.items()}
        return Response({"event_types": list(TYPES), "categories": categories})


class WebhookHealthView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_health", responses=WebhookHealthOutput)
    def get(self, request: Request) -> Response:
        """How deliveries fare, all webhooks together."""
        found = deliveries.health(self.reach(), now=self.now())
        return Response(
            {
                "active_webhooks": found.active,
                "total_webhooks": found.endpoints,
                "total_deliveries_all_time": found.deliveries,
                "total_deliveries_24h": found.deliveries_24h,
                "success_rate_7d": found.success_rate_7d,
                "failing_endpoints": found.failing,
                "pending_retries": found.retrying,
                "dead_letter_count": found.dead_letters,
            }
        )


_RETRY: Final = {"enabled": "retry_enabled"}
_SIGNATURE: Final = {
    "algorithm": "signature_algorithm",
    "header_name": "signature_header",
    "tolerance_seconds": "signature_tolerance",
}


def _retry(fields: Mapping[str, Any]) -> dict[str, Any]:
    given = {_RETRY.get(name, name): value for name, value in fields.get("retry_config", {}).items()}
    if "retry_status_codes" in given:
        given["retry_status_codes"] = list(given["retry_status_codes"])
    return given


def _signature(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {_SIGNATURE.get(name, name): value for name, value in fields.get("signature_config", {}).items()}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _body(one: Endpoint) -> dict[str, Any]:
    row = one.row
    return {
        "id": row.pk,
        "name": row.name,
        "url": one.url,
        "description": one.description,
        "secret_prefix": row.secret_prefix,
        "events": row.events,
        "enabled": row.is_enabled,
        "environment": row.environment,
        "signature_algorithm": row.signature_algorithm,
        "signature_header": row.signature_header,
        "timestamp_header": row.timestamp_header,
        "signature_tolerance": row.signature_tolerance,
        "retry_enabled": row.retry_enabled,
        "max_retries": row.max_retries,
        "initial_delay_seconds": row.initial_delay_seconds,
        "max_delay_seconds": row.max_delay_seconds,
        "backoff_multiplier": row.backoff_multiplier,
        "retry_status_codes": row.retry_status_codes,
        "total_deliveries": row.total_deliveries,
        "successful_deliveries": row.successful_deliveries,
        "failed_deliveries": row.total_deliveries - row.successful_deliveries,
        "consecutive_failures": row.consecutive_failures,
        "success_rate": rate(row.successful_deliveries, row.total_deliveries),
        "last_triggered_at": _time(row.last_triggered_at),
        "last_success_at": _time(row.last_success_at),
        "last_failure_at": _time(row.last_failure_at),
        "last_error": row.last_error or None,
        "last_status_code": row.last_status_code,
        "created_at": _time(row.created_at),
        "updated_at": _time(row.updated_at),
        "created_by_name": row.created_by,
        "project_id": one.project,
    }


def _created(one: Endpoint) -> dict[str, Any]:
    return _body(one) | {"secret": one.secret}


def _page(view: WebhookView, asked: Mapping[str, Any], endpoint_id: int | None) -> dict[str, Any]:
    found = deliveries.page(
        view.reach(),
        number=asked["page"],
        size=asked["page_size"],
        endpoint_id=endpoint_id,
        status=asked.get("status_filter"),
        now=view.now(),
    )
    return {
        "deliveries": [_delivery(one) for one in found.deliveries],
        "total": found.total,
        "page": asked["page"],
        "page_size": asked["page_size"],
    }


def _delivery(one: Delivery) -> dict[str, Any]:
    row = one.row
    return {
        "id": row.pk,
        "endpoint_id": row.endpoint_id,
        "event_type": row.event_type,
        "event_id": shown_id(row.event_id),
        "status": row.status,
        "payload": orjson.loads(row.payload),
        "payload_hash": hash_of(row.payload),
        "signature": row.signature or None,
        "status_code": row.status_code,
        "response_body": one.response,
        "error_message": row.error or None,
        "latency_ms": row.latency_ms,
        "attempt_number": row.attempt_number,
        "max_attempts": row.max_attempts,
        "attempts": row.attempts,
        "next_retry_at": _time(row.next_retry_at),
        "created_at": _time(row.created_at),
        "completed_at": _time(row.completed_at),
    }
