"""Status of deliveries, redelivery, and test deliveries."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q, Sum

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.encrypted_tables import ciphers_of, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_tenant
from apps.projects.scope import Scope
from apps.webhooks import events
from apps.webhooks.fanout import write
from apps.webhooks.models import DELIVERIES, RESPONSE, DeliveryStatus, WebhookDelivery
from apps.webhooks.payloads import EventPayload
from apps.webhooks.redelivery import redeliver
from apps.webhooks.services import UnknownEvents, find, reachable

FAILING: Final = 3  # consecutive failed attempts after which an endpoint counts as failing
ENDED: Final = (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DEAD_LETTER)


class DeliveryNotFound(NotFound):
    """Delivery not found."""

    code = "WEBHOOK_DELIVERY_NOT_FOUND"


class AlreadyDelivered(Conflict):
    """This delivery succeeded already."""

    code = "WEBHOOK_ALREADY_DELIVERED"


class UnknownStatus(Invalid):
    """A delivery is pending, retrying, delivered, failed or dead_letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """response: the beginning of the last response body; None if there was none or it cannot be decrypted any more."""

    row: WebhookDelivery
    response: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPage:
    deliveries: Sequence[Delivery]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDeliveries:
    """eligible: number of deliveries that matched.  ids: those that are sent again."""

    eligible: int
    ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """ended_7d: deliveries that ended in the last seven days.  success_rate_7d: the percentage of them that succeeded;
    100 if there were none."""

    endpoints: int
    active: int
    deliveries: int
    deliveries_24h: int
    ended_7d: int
    success_rate_7d: float
    failing: int
    retrying: int
    dead_letters: int


def rate(good: int, total: int) -> float:
    """In percent; 100 if total is 0."""
    return round(100 * good / total, 2) if total else 100.0


def page(
    scope: Scope, *, number: int, size: int, endpoint_id: int | None = None, status: str | None = None, now: datetime
) -> DeliveryPage:
    """One page of deliveries, newest first.  number: page, from 1.  Raises WebhookNotFound or UnknownStatus."""
    with tenant_transaction(scope):
        rows = _among(scope, endpoint_id, status)
        some = rows.order_by("-id")[(number - 1) * size : number * size]
        return DeliveryPage(deliveries=_opened(scope, list(some), now=now), total=rows.count())


def newest(
    scope: Scope,
    *,
    endpoint_id: int | None = None,
    status: str | None = None,
    before: int | None = None,
    limit: int,
    now: datetime,
) -> list[Delivery]:
    """Deliveries, newest first, without a total.  before: an id; only older ones.  Raises WebhookNotFound or
    UnknownStatus."""
    with tenant_transaction(scope):
        rows = _among(scope, endpoint_id, status)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        return _opened(scope, list(rows.order_by("-id")[:limit]), now=now)


def latest(scope: Scope, endpoint_id: int, *, now: datetime) -> Delivery | None:
    """The endpoint's newest delivery.  Raises WebhookNotFound."""
    return next(iter(page(scope, number=1, size=1, endpoint_id=endpoint_id, now=now).deliveries), None)


def get(scope: Scope, delivery_id: int, *, now: datetime) -> Delivery:
    """Raises DeliveryNotFound."""
    with tenant_transaction(scope):
        return _opened(scope, [_find(scope, delivery_id)], now=now)[0]


def retry(scope: Scope, delivery_id: int, *, now: datetime) -> Delivery:
    """Send a delivery again now, with all its retries available again.  Raises DeliveryNotFound or AlreadyDelivered."""
    with tenant_transaction(scope):
        row = _find(scope, delivery_id)
        if row.status == DeliveryStatus.DELIVERED:
            raise AlreadyDelivered
        redeliver(scope, [row.pk], now=now)
        _record(scope, AuditAction.WEBHOOK_RETRY, row.endpoint_id, 1, now=now)
        row.refresh_from_db(from_queryset=WebhookDelivery.objects.within(scope))
        return _opened(scope, [row], now=now)[0]


def replay(
    scope: Scope, endpoint_id: int, *, since: datetime, statuses: Sequence[str], limit: int, now: datetime
) -> ReplayedDeliveries:
    """Send deliveries again that ended with one of these statuses since then, oldest first.  Event and delivery ids do
    not change.  Raises WebhookNotFound or UnknownStatus."""
    if not statuses or not set(statuses) <= set(DeliveryStatus.values):
        raise UnknownStatus
    with tenant_transaction(scope):
        endpoint = find(scope, endpoint_id)
        rows = WebhookDelivery.objects.within(scope).filter(
            endpoint_id=endpoint.pk, status__in=statuses, created_at__gte=since
        )
        ids = list(rows.order_by("pk").values_list("pk", flat=True)[:limit])
        again = redeliver(scope, ids, now=now)
        _record(scope, AuditAction.WEBHOOK_REPLAY, endpoint.pk, len(again), now=now)
        return ReplayedDeliveries(eligible=rows.count() if len(ids) == limit else len(ids), ids=again)


def test(scope: Scope, endpoint_id: int, event_type: str, *, now: datetime) -> WebhookDelivery:
    """Queue a delivery marked as a test, whether or not the endpoint subscribes to the event.  Raises WebhookNotFound
    or UnknownEvents."""
    if events.unknown([event_type]):
        raise UnknownEvents(f"There is no such event. There are: {', '.join(events.TYPES)}.")
    with tenant_transaction(scope):
        endpoint = find(scope, endpoint_id)
        told = EventPayload(
            event_id=uuid.uuid4(),
            type=event_type,
            created_at=now,
            data={"test": True},
            environment=endpoint.environment,
            project_id=endpoint.project_id,
        )
        (delivery_id,) = write(scope, [(told, endpoint)], now=now)
        _record(scope, AuditAction.WEBHOOK_TEST, endpoint.pk, 1, now=now)
        return _find(scope, delivery_id)


def health(scope: Scope, *, now: datetime) -> Health:
    with tenant_transaction(scope):
        endpoints = reachable(scope).aggregate(
            all=Count("pk"),
            active=Count("pk", filter=Q(is_enabled=True)),
            failing=Count("pk", filter=Q(is_enabled=True, consecutive_failures__gte=FAILING)),
            deliveries=Sum("total_deliveries", default=0),
        )
        week = Q(completed_at__gte=now - timedelta(days=7))
        found = _mine(scope).aggregate(
            day=Count("pk", filter=Q(created_at__gte=now - timedelta(days=1))),
            ended=Count("pk", filter=week & Q(status__in=ENDED)),
            good=Count("pk", filter=week & Q(status=DeliveryStatus.DELIVERED)),
            retrying=Count("pk", filter=Q(status=DeliveryStatus.RETRYING)),
            dead=Count("pk", filter=Q(status=DeliveryStatus.DEAD_LETTER)),
        )
    return Health(
        endpoints=endpoints["all"],
        active=endpoints["active"],
        deliveries=endpoints["deliveries"],
        deliveries_24h=found["day"],
        ended_7d=found["ended"],
        success_rate_7d=rate(found["good"], found["ended"]),
        failing=endpoints["failing"],
        retrying=found["retrying"],
        dead_letters=found["dead"],
    )


def _mine(scope: Scope) -> ScopedQuerySet[WebhookDelivery]:
    """Deliveries of the endpoints within the scope."""
    return WebhookDelivery.objects.within(scope).filter(endpoint__in=reachable(scope))


def _among(scope: Scope, endpoint_id: int | None, status: str | None) -> ScopedQuerySet[WebhookDelivery]:
    if status is not None and status not in DeliveryStatus.values:
        raise UnknownStatus
    rows = _mine(scope)
    if endpoint_id is not None:
        rows = rows.filter(endpoint_id=find(scope, endpoint_id).pk)
    return rows if status is None else rows.filter(status=status)


def _find(scope: Scope, delivery_id: int) -> WebhookDelivery:
    row = _mine(scope).filter(pk=delivery_id).first() if delivery_id < 2**63 else None
    if row is None:
        raise DeliveryNotFound
    return row


def _opened(scope: Scope, rows: Sequence[WebhookDelivery], *, now: datetime) -> list[Delivery]:
    try:
        of_tenant: dict[int | None, SpaceCipher] = {None: open_tenant(scope.tenant)}
        ciphers = of_tenant | ciphers_of(scope, {row.space_id for row in rows if row.space_id is not None})
    except SpaceShredded:  # an erasure is running: this page shows no responses
        return [Delivery(row=row, response=None) for row in rows]
    return [Delivery(row=row, response=_response(scope, row, ciphers, now=now)) for row in rows]


def _response(
    scope: Scope, row: WebhookDelivery, ciphers: dict[int | None, SpaceCipher], *, now: datetime
) -> str | None:
    if row.response_ct is None:
        return None
    try:
        raw = ciphers[row.space_id].open_bytes(RESPONSE, row.pk, bytes(row.response_ct))
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=DELIVERIES, now=now)
        return None
    return raw.decode(errors="replace")


def _record(scope: Scope, action: AuditAction, endpoint_id: int, count: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"webhook:{endpoint_id}", count=count, now=now)
