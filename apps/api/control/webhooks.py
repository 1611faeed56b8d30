"""/org/webhooks: webhook endpoints and deliveries; the client is ``memorysync.ControlPlaneClient``.

An endpoint receives events of one environment only: the environment of the key that created it, or production if a user
created it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import orjson
from drf_spectacular.utils import OpenApiExample
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.webhook_fields import (
    CreatedWebhookOutput,
    CreateInput,
    DeliveriesOutput,
    DeliveryOutput,
    DeliveryPageInput,
    EventTypesOutput,
    RecentInput,
    ReplayedOutput,
    ReplayInput,
    TestedOutput,
    TestInput,
    UpdateInput,
    WebhookHealthOutput,
    WebhookOutput,
    WebhooksOutput,
    created_body,
    delivery_body,
    retry_policy,
    signature_policy,
    webhook_body,
)
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.projects.scope import Scope
from apps.webhooks import deliveries, services
from apps.webhooks.deliveries import rate
from apps.webhooks.events import CATEGORIES, TYPES
from apps.webhooks.payloads import shown_id

READ, WRITE = "webhooks:read", "webhooks:write"


class WebhookView(ApiView):
    """What these routes have in common."""

    headers_read: ClassVar = ("X-Project-ID",)

    def reach(self, in_body: str | None = None) -> Scope:
        """The caller's environment; one project where the header, the body or the key names it, else all."""
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
        """Create a webhook.  Only this response contains the signing secret."""
        fields, now = self.read(CreateInput), self.now()
        made = services.create(
            self.reach(fields.get("project_id")),
            name=fields["name"],
            url=fields["url"],
            wanted=fields["events"],
            description=fields.get("description"),
            retry=retry_policy(fields),
            signature=signature_policy(fields),
            now=now,
        )
        return Response(created_body(made), status=201)

    @operation("list_webhooks", responses=WebhooksOutput)
    def get(self, request: Request) -> Response:
        """The webhooks with their delivery statistics, newest first."""
        found = services.list_endpoints(self.reach())
        rows = [one.row for one in found]
        total = sum(row.total_deliveries for row in rows)
        active = [row for row in rows if row.is_enabled]
        return Response(
            {
                "endpoints": [webhook_body(one) for one in found],
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
        return Response(webhook_body(services.get(self.reach(), endpoint_id)))

    @operation("update_webhook", request=UpdateInput, responses=WebhookOutput)
    def patch(self, request: Request, endpoint_id: int) -> Response:
        """Change the given fields only."""
        fields = self.read(UpdateInput)
        changed = services.update(
            self.reach(),
            endpoint_id,
            name=fields.get("name"),
            url=fields.get("url"),
            description=fields.get("description"),
            wanted=fields.get("events"),
            retry=retry_policy(fields),
            signature=signature_policy(fields),
            now=self.now(),
        )
        return Response(webhook_body(changed))

    @operation("delete_webhook", request=None, responses={204: None})
    def delete(self, request: Request, endpoint_id: int) -> Response:
        """Delete a webhook with its deliveries; pending ones are not sent."""
        services.delete(self.reach(), endpoint_id, now=self.now())
        return Response(status=204)


class PauseView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("pause_webhook", request=None, responses=WebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Pause a webhook.  Pending deliveries are kept; events that occur while paused are not delivered."""
        return Response(webhook_body(services.pause(self.reach(), endpoint_id, now=self.now())))


class ResumeView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("resume_webhook", request=None, responses=WebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Resume a webhook; pending deliveries are sent first."""
        return Response(webhook_body(services.resume(self.reach(), endpoint_id, now=self.now())))


class RotateSecretView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}
    fresh: ClassVar = frozenset({"POST"})

    @operation("rotate_webhook_secret", request=None, responses=CreatedWebhookOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Create a new secret.  For a day the old one also signs, in a header whose name ends in -Previous."""
        return Response(created_body(services.rotate_secret(self.reach(), endpoint_id, now=self.now())))


class TestView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("test_webhook", request=TestInput, responses=TestedOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Send a delivery marked as a test."""
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
                "message": "It is being sent; GET the delivery to see its result.",
            }
        )


class ReplayView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("replay_webhook_deliveries", request=ReplayInput, responses=ReplayedOutput)
    def post(self, request: Request, endpoint_id: int) -> Response:
        """Resend failed deliveries, oldest first.  Event and delivery IDs stay the same."""
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

    @operation("list_webhook_deliveries", parameters=[DeliveryPageInput], responses=DeliveriesOutput)
    def get(self, request: Request, endpoint_id: int) -> Response:
        """Deliveries to one webhook, newest first."""
        return Response(_page(self, self.read_parameters(DeliveryPageInput), endpoint_id))


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
        return Response(delivery_body(found)) if found else Response(status=204)


class DeliveryView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_delivery", responses=DeliveryOutput)
    def get(self, request: Request, delivery_id: int) -> Response:
        """One delivery, with each attempt."""
        return Response(delivery_body(deliveries.get(self.reach(), delivery_id, now=self.now())))


class RetryDeliveryView(WebhookView):
    permissions: ClassVar = {"POST": WRITE}

    @operation("retry_webhook_delivery", request=None, responses=DeliveryOutput)
    def post(self, request: Request, delivery_id: int) -> Response:
        """Resend a delivery now, with a full set of retries."""
        return Response(delivery_body(deliveries.retry(self.reach(), delivery_id, now=self.now())))


class EventTypesView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_event_types", responses=EventTypesOutput)
    def get(self, request: Request) -> Response:
        """The available event types."""
        self.reach()  # refuse an unknown project here too, as on every route
        categories = {name: list(types) for name, types in CATEGORIES.items()}
        return Response({"event_types": list(TYPES), "categories": categories})


class WebhookHealthView(WebhookView):
    permissions: ClassVar = {"GET": READ}

    @operation("get_webhook_health", responses=WebhookHealthOutput)
    def get(self, request: Request) -> Response:
        """Delivery statistics of all webhooks."""
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
        "deliveries": [delivery_body(one) for one in found.deliveries],
        "total": found.total,
        "page": asked["page"],
        "page_size": asked["page_size"],
    }
