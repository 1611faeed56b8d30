"""Create one delivery per subscribed endpoint for each event."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apps.core.queries import fetch_column
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.memories.read_events import Read
from apps.outbox.relay import OutboxKind, RoundRobin
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind
from apps.webhooks.event_log import is_recorded
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint, WebhookEvent
from apps.webhooks.payloads import TELL, EventPayload, payload_of, payload_of_row, project_ids
from apps.webhooks.redelivery import DELIVER

BATCH: Final = 100
READ: Final = ("memory.queried", "memory.recalled")


def fan_out(*, now: datetime, seconds: float = float("inf")) -> int:
    """Create deliveries for a batch of each tenant's events; returns the number of events.  seconds: see
    ``RoundRobin.drain``."""
    return _turns.drain(now=now, seconds=seconds)


def announce_events(scope: Scope, events: Iterable[WebhookEvent]) -> None:
    """Record unsaved events of this tenant for its listeners and endpoints, if there are any.  Inside its transaction.

    Changes of memories, keys and members need no call: triggers record them (``sql/events.sql``).
    """
    recorded, subscribed = is_recorded(scope), _subscribed(scope)
    made = WebhookEvent.objects.bulk_create(scope, [one for one in events if recorded or one.type in subscribed])
    for one in made:
        if one.type in subscribed:
            enqueue(scope, TELL, [one.pk], now=one.created_at)


def announce_reads(scope: Scope, reads: Sequence[Read], now: datetime) -> None:
    """Events of answered queries, recorded about a second after the response, if they are wanted."""
    with tenant_transaction(scope):
        if not reads or not (is_recorded(scope) or _subscribed(scope).intersection(READ)):
            return
        named = {space.id for read in reads for space in read.scope.spaces}
        # Nothing is sent about a person erased meanwhile; the lock keeps the other spaces until this is written.
        spaces = (
            Space.objects.within(scope).filter(pk__in=named).order_by("pk").select_for_update(of=("self",), no_key=True)
        )
        there = {space.pk: space for space in spaces}
        announce_events(scope, [one for read in reads for one in _told_of(read, there, now=now)])


def write(scope: Scope, pairs: Sequence[tuple[EventPayload, WebhookEndpoint]], *, now: datetime) -> list[int]:
    """Create a delivery of each event to the endpoint paired with it; returns their ids.  Inside the tenant's
    transaction."""
    if not pairs:
        return []
    projects = project_ids(scope, [one.project_id for one, _ in pairs])
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


def _subscribed(scope: Scope) -> set[str]:
    """The types of events that an endpoint subscribes to."""
    lists = WebhookEndpoint.objects.within(scope).filter(is_enabled=True).values_list("events", flat=True)
    return {type_ for types in lists for type_ in types}


def _is_wanted(one: EventPayload, endpoint: WebhookEndpoint) -> bool:
    return (
        one.type in endpoint.events
        and one.environment in ("", endpoint.environment)
        and (endpoint.project_id is None or one.project_id in (None, endpoint.project_id))
    )


def _told_of(read: Read, there: Mapping[int, Space], *, now: datetime) -> Iterator[WebhookEvent]:
    if len(read.scope.spaces) != 1 or read.scope.space.id not in there:
        return
    space = there[read.scope.space.id]
    data: dict[str, Any] = {
        "query_id": str(read.query_id),
        "user_id": space.owner_id if space.kind == SpaceKind.END_USER else None,
        "count": len(read.memory_ids),
        "actor": read.scope.principal.label,
    }
    queried, recalled = READ
    for type_, ids, more in (
        (queried, [], {}),
        (recalled, list(read.memory_ids), {"memory_ids": list(read.memory_ids)}),
    ):
        yield WebhookEvent(
            space_id=space.pk,
            type=type_,
            environment=read.scope.environment,
            project_id=read.scope.project_id,
            memory_ids=ids,
            data=data | more,
            created_at=now,
        )


def _expand(scope: Scope, ids: Sequence[int], now: datetime) -> None:
    """Create the deliveries of these events; listeners may still read them if the log is recorded."""
    rows = WebhookEvent.objects.within(scope).filter(pk__in=ids)
    _create_deliveries(scope, [payload_of_row(scope, row) for row in rows.order_by("pk")], now=now)
    if not is_recorded(scope):
        rows.delete()


def _create_deliveries(scope: Scope, events: Iterable[EventPayload], *, now: datetime) -> list[int]:
    """Create one delivery per event and subscribed endpoint; returns their ids.  Inside the tenant's transaction."""
    # Locked as the foreign key check will lock them: an endpoint deleted before the commit would roll it back.
    there = fetch_column(
        "select id from webhooks_webhookendpoint where tenant_id = %s and is_enabled order by id for key share",
        [scope.tenant_id],
    )
    endpoints = list(WebhookEndpoint.objects.within(scope).filter(pk__in=there).order_by("pk"))
    pairs = [(one, to) for one in events for to in endpoints if _is_wanted(one, to)]
    return write(scope, pairs, now=now)


_turns = RoundRobin({TELL: OutboxKind(do=_expand, batch=BATCH)})
