"""Redelivery of failed deliveries.  Uses no key, so that the admin may request it too."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.webhooks.models import DeliveryStatus, WebhookDelivery, WebhookEndpoint

DELIVER: Final = "webhook.delivery"  # outbox kind of a delivery to be sent
GIVEN_UP: Final = (DeliveryStatus.FAILED, DeliveryStatus.DEAD_LETTER)


def redeliver(scope: Scope, ids: Sequence[int], *, now: datetime) -> list[int]:
    """Queue those of these deliveries that no worker is sending now, with all attempts available again; returns their
    ids.  Inside the tenant's transaction."""
    rows = WebhookDelivery.objects.within(scope).filter(pk__in=list(ids)).select_for_update(skip_locked=True)
    free = [row for row in rows.order_by("pk").select_related("endpoint") if not _is_leased(row, now=now)]
    for row in free:
        row.status, row.attempt_number, row.completed_at = DeliveryStatus.PENDING, 0, None
        row.max_attempts, row.next_retry_at, row.leased_until = _most_attempts(row.endpoint), None, None
    changed = ["status", "attempt_number", "completed_at", "max_attempts", "next_retry_at", "leased_until"]
    WebhookDelivery.objects.within(scope).bulk_update(free, changed)
    again = [row.pk for row in free]
    enqueue(scope, DELIVER, again, now=now)
    return again


def _is_leased(row: WebhookDelivery, *, now: datetime) -> bool:
    return row.leased_until is not None and row.leased_until > now


def _most_attempts(endpoint: WebhookEndpoint) -> int:
    return 1 + (endpoint.max_retries if endpoint.retry_enabled else 0)
