"""The log of a tenant's events: listeners read it from a position on, and again after a broken connection.

Events are written in the transaction of the change, and transactions commit in any order: an ID may become visible
after a higher one was read.  Events are therefore numbered after their commit.  The first reader gives those without a
position the next ones, and holds the lock of the tenant's ``EventLog`` row until they are committed.  So a
reader that sees a position sees, or has seen, every lower one.

Nothing is recorded for a tenant that has never listened, or not for EVENT_HOURS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import orjson
from django.conf import settings
from django.db.models import Q

from apps.core.errors import Gone
from apps.core.queries import execute, fetch_one, fetch_value
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.webhooks.models import EventLog, WebhookEvent
from apps.webhooks.payloads import TELL, body_of, payload_of_row, project_ids

NOTED_EVERY: Final = timedelta(hours=1)  # that there are listeners
NUMBERED: Final = 5_000  # events that one transaction numbers
NOBODY: Final = 0  # the space of an end user who has none yet


class EventsGone(Gone):
    """The events after this position are not kept any more: read the current state, then connect without a position."""

    code = "EVENTS_GONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """position: of the last event.  dropped: events up to it are not kept.  listened_at: None if nothing is recorded.
    is_complete: whether every committed event has its position."""

    position: int
    dropped: int
    listened_at: datetime | None
    is_complete: bool


@dataclass(frozen=True, kw_only=True)
class LoggedEvent:
    """project: the public id of its project, if it has one."""

    position: int
    scope: Scope
    row: WebhookEvent
    project: str | None

    @cached_property
    def body(self) -> dict[str, Any]:
        """What webhooks receive as well."""
        return body_of(self.scope, payload_of_row(self.scope, self.row), self.project)

    @cached_property
    def frame(self) -> bytes:
        """The event as a server-sent event."""
        return b"id: %d\nevent: %b\ndata: %b\n\n" % (self.position, self.row.type.encode(), orjson.dumps(self.body))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted.  project_id, space_id: None for any."""

    environment: str
    project_id: int | None
    space_id: int | None
    types: frozenset[str]

    def condition(self) -> Q:
        """As ``matches``, for a query."""
        wanted = Q(type__in=self.types, environment__in=("", self.environment))
        if self.project_id is not None:
            wanted &= Q(project_id=None) | Q(project_id=self.project_id)
        return wanted if self.space_id is None else wanted & Q(space_id=self.space_id)

    def matches(self, event: LoggedEvent) -> bool:
        row = event.row
        return (
            (self.space_id is None or row.space_id == self.space_id)
            and row.type in self.types
            and row.environment in ("", self.environment)
            and (self.project_id is None or row.project_id in (None, self.project_id))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """position: to go on from."""

    events: Sequence[LoggedEvent]
    position: int
    has_more: bool


def listen(scope: Scope, *, now: datetime) -> None:
    """Start to record the tenant's events, or note that they are still listened to."""
    with tenant_transaction(scope):
        execute(
            "insert into webhooks_eventlog (tenant_id, position, dropped, is_recording, listened_at, created_at) "
            "values (%s, 0, 0, true, %s, %s) on conflict (tenant_id) do update "
            "set is_recording = true, listened_at = excluded.listened_at",
            [scope.tenant_id, now, now],
        )


def is_recorded(scope: Scope) -> bool:
    """Inside the tenant's transaction."""
    return EventLog.objects.within(scope).filter(is_recording=True).exists()


def keep_recording(scope: Scope, *, now: datetime) -> LogState:
    """As ``read_state``, for a listener: recording begins, or is kept up."""
    state = read_state(scope)
    if state.listened_at is None or state.listened_at < now - NOTED_EVERY:
        listen(scope, now=now)
        state = read_state(scope)
    return state


def find_position(scope: Scope, state: LogState, after: int | None) -> int:
    """The position to read from; after: None for from now on.  Raises EventsGone."""
    if after is None:
        while not state.is_complete:
            state = read_state(scope)
        return state.position
    if not state.dropped <= after <= state.position:  # it is higher if the database was restored from a backup
        raise EventsGone
    return after


def read_state(scope: Scope) -> LogState:
    """Give new events their positions; the state then."""
    with tenant_transaction(scope):
        row = fetch_one(
            "select position, dropped, case when is_recording then listened_at end, "
            "exists (select from webhooks_webhookevent event "
            "where event.tenant_id = log.tenant_id and event.position is null) "
            "from webhooks_eventlog log where log.tenant_id = %s",
            [scope.tenant_id],
        )
        position, dropped, listened_at, is_behind = row or (0, 0, None, False)
        position, count = _number(scope) if is_behind else (position, 0)
        return LogState(position=position, dropped=dropped, listened_at=listened_at, is_complete=count < NUMBERED)


def read_page(scope: Scope, state: LogState, *, after: int, limit: int, only: EventFilter | None = None) -> EventPage:
    """The first events after a position, in order; only: None for all of the tenant's.  state: read before."""
    with tenant_transaction(scope):
        rows = WebhookEvent.objects.within(scope).filter(position__gt=after)
        some = list((rows.filter(only.condition()) if only else rows).order_by("position")[:limit])
        projects = project_ids(scope, [row.project_id for row in some])
    events = [
        LoggedEvent(position=row.position or 0, scope=scope, row=row, project=projects.get(row.project_id or 0))
        for row in some
    ]
    is_full = len(events) == limit
    last = events[-1].position if events else after  # above the state's if others have numbered more meanwhile
    return EventPage(
        events=events,
        position=last if is_full else max(last, state.position),
        has_more=is_full or not state.is_complete,
    )


def sweep(scope: Scope, *, now: datetime) -> None:
    """Delete events older than EVENT_HOURS; if nobody has listened for that long, stop recording and delete them all.

    Events that webhooks wait for are kept until they are sent.
    """
    while not read_state(scope).is_complete:  # an event without a position would be deleted unnoticed
        pass
    kept_from = now - timedelta(hours=settings.EVENT_HOURS)
    with tenant_transaction(scope):
        log = EventLog.objects.within(scope).select_for_update().first()
        if log is None:
            return
        is_over = log.listened_at < kept_from
        last = fetch_value(
            "with gone as (delete from webhooks_webhookevent event where tenant_id = %s "
            "and (%s or position is not null and created_at < %s) and not exists ("
            "select from outbox_outboxevent waiting where waiting.tenant_id = event.tenant_id and waiting.kind = %s "
            "and waiting.subject_id = event.id) returning position) select max(position) from gone",
            [scope.tenant_id, is_over, kept_from, TELL],
        )
        if is_over and log.is_recording:  # events from now on are not recorded: no listener may go on from here
            log.position += 1
            last = log.position
        log.is_recording = not is_over
        log.dropped = max(log.dropped, last or 0)
        log.save(update_fields=["position", "dropped", "is_recording"])


def _number(scope: Scope) -> tuple[int, int]:
    """Number at most NUMBERED events; returns the last position, and how many there were.  Inside the tenant's
    transaction, whose snapshot must be newer than the lock: not in a repeatable read."""
    log = EventLog.objects.within(scope).select_for_update().get()
    row = fetch_one(
        "with fresh as (select id, row_number() over (order by id) as nth from webhooks_webhookevent "
        "where tenant_id = %s and position is null order by id limit %s), "
        "numbered as (update webhooks_webhookevent event set position = %s + fresh.nth from fresh "
        "where event.tenant_id = %s and event.id = fresh.id returning event.position) "
        "select count(*), max(position) from numbered",
        [scope.tenant_id, NUMBERED, log.position, scope.tenant_id],
    )
    count, last = row or (0, None)
    if last is not None:
        log.position = last
        log.save(update_fields=["position"])
    return log.position, count
