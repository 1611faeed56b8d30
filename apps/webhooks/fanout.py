"""Create one delivery per subscribed endpoint for each event."""

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from django.db import connection
from django.db.models import Q

from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.memories.read_events import Read
from apps.outbox.relay import OutboxKind, RoundRobin
from apps.outbox.services import enqueue
from apps.projects.models import Project, Space
from apps.projects.scope import Scope, SpaceKind
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint, WebhookEvent
from apps.webhooks.redelivery import DELIVER

TELL: Final = "webhook.event"  # outbox kind of an event to be sent
BATCH: Final = 100
_NAMESPACE: Final = uuid.UUID("6e1c8d5e-52bb-4a4c-8f5e-0d7a5c1f9a37")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPayload:
    """One event to be sent.  environment: blank if the event belongs to none.  data: ids and states."""

    event_id: uuid.UUID
    type: str
    created_at: datetime
    data: Mapping[str, Any]
    environment: str = ""
    project_id: int | None = None
    space_id: int | None = None
    memory_ids: Sequence[int] = field(default=())


def event_id(scope: Scope, *parts: object) -> uuid.UUID:
    """A UUID derived from these parts: the same parts give the same id."""
    return uuid.uuid5(_NAMESPACE, "|".join(map(str, (scope.tenant.uid, *parts))))


def fan_out(*, now: datetime, seconds: float = float("inf")) -> int:
    """Create deliveries for a batch of each tenant's events; returns the number of events.  seconds: see
    ``RoundRobin.drain``."""
    return _turns.drain(now=now, seconds=seconds)


def create_deliveries(scope: Scope, events: Iterable[EventPayload], *, now: datetime) -> list[int]:
    """Create one delivery per event and subscribed endpoint; returns their ids.  Inside the tenant's transaction."""
    with connection.cursor() as cursor:
        # Locked as the foreign key check will lock them: an endpoint deleted before the commit would roll it back.
        cursor.execute(
            "select id from webhooks_webhookendpoint where tenant_id = %s and is_enabled order by id for key share",
            [scope.tenant_id],
        )
        there = [endpoint_id for (endpoint_id,) in cursor.fetchall()]
    endpoints = list(WebhookEndpoint.objects.within(scope).filter(pk__in=there).order_by("pk"))
    pairs = [(one, to) for one in events for to in endpoints if _is_wanted(one, to)]
    return write(scope, pairs, now=now)


def create_read_deliveries(scope: Scope, reads: Sequence[Read], now: datetime) -> None:
    """Deliveries for answered queries, if an endpoint subscribes to them; created about a second after the response."""
    with tenant_transaction(scope):
        wanted = Q(events__contains=["memory.queried"]) | Q(events__contains=["memory.recalled"])
        if not reads or not WebhookEndpoint.objects.within(scope).filter(wanted, is_enabled=True).exists():
            return
        named = {space.id for read in reads for space in read.scope.spaces}
        # Nothing is sent about a person erased meanwhile; the lock keeps the other spaces until this is written.
        spaces = (
            Space.objects.within(scope).filter(pk__in=named).order_by("pk").select_for_update(of=("self",), no_key=True)
        )
        there = {space.pk: space for space in spaces}
        create_deliveries(scope, [one for read in reads for one in _told_of(read, there, now=now)], now=now)


def write(scope: Scope, pairs: Sequence[tuple[EventPayload, WebhookEndpoint]], *, now: datetime) -> list[int]:
    """Create a delivery of each event to the endpoint paired with it; returns their ids.  Inside the tenant's
    transaction."""
    if not pairs:
        return []
    projects = dict(
        Project.objects.within(scope)
        .filter(pk__in={one.project_id for one, _ in pairs if one.project_id is not None})
        .values_list("pk", "public_id")
    )
    ids = reserve_ids(len(pairs), sequence="webhooks_webhookdelivery_id_seq")
    WebhookDelivery.objects.bulk_create(
        scope,
        (
            WebhookDelivery(
                id=delivery_id,
                endpoint_id=endpoint.pk,
                space_id=one.space_id,
                memory_ids=list(one.memory_ids),
                event_id=one.event_id,
                event_type=one.type,
                payload=payload_of(scope, one, projects.get(one.project_id or 0)).decode(),
                max_attempts=1 + (endpoint.max_retries if endpoint.retry_enabled else 0),
                created_at=now,
            )
            for delivery_id, (one, endpoint) in zip(ids, pairs, strict=True)
        ),
    )
    enqueue(scope, DELIVER, ids, now=now)
    return ids


def payload_of(scope: Scope, one: EventPayload, project: str | None) -> bytes:
    """The request body."""
    return orjson.dumps(
        {
            "id": shown_id(one.event_id),
            "type": one.type,
            "created_at": one.created_at.astimezone(UTC).isoformat(),
            "tenant_id": scope.tenant.name,
            "environment": one.environment or None,
            "project_id": project,
            "data": dict(one.data),
        }
    )


def shown_id(event_id: uuid.UUID) -> str:
    return f"evt_{event_id.hex}"


def hash_of(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()


def _is_wanted(one: EventPayload, endpoint: WebhookEndpoint) -> bool:
    return (
        one.type in endpoint.events
        and one.environment in ("", endpoint.environment)
        and (endpoint.project_id is None or one.project_id in (None, endpoint.project_id))
    )


def _told_of(read: Read, there: Mapping[int, Space], *, now: datetime) -> Iterator[EventPayload]:
    if len(read.scope.spaces) != 1 or read.scope.space.id not in there:
        return
    space = there[read.scope.space.id]
    data: dict[str, Any] = {
        "query_id": str(read.query_id),
        "user_id": space.owner_id if space.kind == SpaceKind.END_USER else None,
        "count": len(read.memory_ids),
        "actor": read.scope.principal.label,
    }
    for type_, ids in (("memory.queried", ()), ("memory.recalled", read.memory_ids)):
        yield EventPayload(
            event_id=event_id(read.scope, type_, read.query_id, space.pk),
            type=type_,
            created_at=now,
            data=data | ({"memory_ids": list(ids)} if type_ == "memory.recalled" else {}),
            environment=read.scope.environment,
            project_id=read.scope.project_id,
            space_id=space.pk,
            memory_ids=ids,
        )


def _expand(scope: Scope, ids: Sequence[int], now: datetime) -> None:
    rows = WebhookEvent.objects.within(scope).filter(pk__in=ids)
    create_deliveries(
        scope,
        [
            EventPayload(
                event_id=event_id(scope, "event", row.pk),
                type=row.type,
                created_at=row.created_at,
                data=row.data,
                environment=row.environment,
                project_id=row.project_id,
                space_id=row.space_id,
                memory_ids=row.memory_ids,
            )
            for row in rows.order_by("pk")
        ],
        now=now,
    )
    rows.delete()


_turns = RoundRobin({TELL: OutboxKind(do=_expand, batch=BATCH)})
