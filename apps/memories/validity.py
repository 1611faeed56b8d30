"""Bitemporal validity: when a memory held, and since when that is known.  Both half-open, [from, to).

A row stores what is believed now of its latest interval.  A revived memory has earlier intervals, and a late statement
corrects what was believed before; both are stored in rows of their own, so that any moment can be queried as known at
any other.  Queries about the present read none of these rows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from apps.core.prepared_sql import Columns, insert
from apps.core.queries import fetch_all
from apps.core.scoping import ScopedQuerySet
from apps.memories.models import Memory, MemoryPeriod, MemoryQuerySet
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """at: the time in the world that is queried.  known_at: later statements are ignored."""

    at: datetime
    known_at: datetime

    @classmethod
    def asked(cls, as_of: datetime | None, known_at: datetime | None, *, now: datetime) -> "AsOf | None":
        """None for a query about the present.  Without ``as_of``, the queried time is ``known_at``."""
        if as_of is None and known_at is None:
            return None
        return cls(at=as_of or known_at or now, known_at=known_at or now)


@dataclass(frozen=True, slots=True)
class Ever:
    """In place of a time: memories count whether they still hold or were replaced, with their text of today."""


_PERIOD: Final = Columns(MemoryPeriod, "period")
_BELIEVED: Final = (
    f"select {_PERIOD.sql} from unnest(%s::bigint[]) wanted(id) cross join lateral ("  # noqa: S608  (our own columns)
    "select * from memories_memoryperiod where tenant_id = %s and memory_id = wanted.id and known_to is null "
    "order by id) period order by period.id"
)

EVER: Final = Ever()
Moment = AsOf | Ever

_HELD = """((coalesce({row}.known_from, {row}.created_at) <= %s and coalesce({row}.valid_from, {row}.created_at) <= %s
    and ({row}.valid_to is null or {row}.valid_to > %s))
  or exists (select from memories_memoryperiod period where period.tenant_id = {row}.tenant_id
    and period.memory_id = {row}.id and period.known_from <= %s and (period.known_to is null or period.known_to > %s)
    and period.valid_from <= %s and (period.valid_to is null or period.valid_to > %s)))"""


def true_sql(row: str, moment: Moment | None, *, now: datetime) -> tuple[str, list[Any]]:
    """An SQL condition, with its values: whether the memory with this alias is true, or was at the moment."""
    if isinstance(moment, Ever):
        return "true", []
    if moment is None:
        return f"{row}.validity <> 'superseded' and ({row}.valid_to is null or {row}.valid_to > %s)", [now]
    at, known_at = moment.at, moment.known_at
    return _HELD.format(row=row), [known_at, at, at, known_at, known_at, at, at]


def holding(rows: MemoryQuerySet, moment: AsOf) -> MemoryQuerySet:
    """Those of these rows that are active and held at the moment, whatever happened to them since."""
    at, known_at = moment.at, moment.known_at
    periods: ScopedQuerySet[MemoryPeriod] = ScopedQuerySet(MemoryPeriod).filter(
        _contains(moment), tenant_id=OuterRef("tenant_id"), memory_id=OuterRef("pk")
    )
    latest = Q(begun__lte=at, told__lte=known_at) & (Q(valid_to=None) | Q(valid_to__gt=at))
    return (
        rows.filter(retention_status="active")
        .alias(begun=Coalesce("valid_from", "created_at"), told=Coalesce("known_from", "created_at"))
        .filter(latest | Exists(periods))
    )


def put_intervals(scope: Scope, rows: Collection[Memory], moment: AsOf) -> None:
    """Give rows that held at the moment the interval in which they did, as known then.  For reading only."""
    earlier = {row.pk: row for row in rows if not _is_of_latest(row, moment)}
    periods = MemoryPeriod.objects.within(scope).filter(_contains(moment), memory_id__in=earlier) if earlier else ()
    for period in periods:
        row = earlier[period.memory_id]
        row.valid_from, row.valid_to = period.valid_from, period.valid_to


def _contains(moment: AsOf) -> Q:
    """The periods that contain the moment."""
    return Q(
        Q(known_to=None) | Q(known_to__gt=moment.known_at),
        Q(valid_to=None) | Q(valid_to__gt=moment.at),
        known_from__lte=moment.known_at,
        valid_from__lte=moment.at,
    )


def _is_of_latest(row: Memory, moment: AsOf) -> bool:
    latest = Periods.of_row(row).latest
    return latest.known_from <= moment.known_at and latest.holds_at(moment.at)


@dataclass(slots=True, kw_only=True)
class Interval:
    """A validity interval [start, end), known since ``known_from``.  period_id: of its own row, if it has one."""

    start: datetime
    end: datetime | None
    known_from: datetime
    period_id: int | None = None

    def holds_at(self, at: datetime) -> bool:
        return self.start <= at and (self.end is None or at < self.end)

    @property
    def is_empty(self) -> bool:
        return self.end is not None and self.end <= self.start


@dataclass(slots=True, kw_only=True)
class Periods:
    """All intervals of one memory; ``latest`` is stored in its row.  Changed here first, and written once by ``write``.

    earlier: other intervals that are still believed.  corrected: former beliefs, each with the time of its correction.
    """

    latest: Interval
    earlier: list[Interval] = field(default_factory=list)
    corrected: list[tuple[Interval, datetime]] = field(default_factory=list)
    ended: dict[int, datetime] = field(default_factory=dict)  # period rows no longer believed, since when
    has_changed: bool = False

    @classmethod
    def of_row(cls, row: Memory, earlier: Sequence[MemoryPeriod] = ()) -> "Periods":
        return cls(
            latest=Interval(
                start=row.valid_from or row.created_at, end=row.valid_to, known_from=row.known_from or row.created_at
            ),
            earlier=[
                Interval(start=one.valid_from, end=one.valid_to, known_from=one.known_from, period_id=one.pk)
                for one in earlier
            ],
        )

    @property
    def stretches(self) -> list[Interval]:
        return [one for one in (*self.earlier, self.latest) if not one.is_empty]

    def change(self, stretch: Interval, *, end: datetime | None, now: datetime) -> None:
        """Record that, as known from now on, this interval ended at ``end``."""
        self.has_changed = True
        now = max(now, stretch.known_from)
        if stretch.period_id is not None:
            self.ended[stretch.period_id] = now
        elif stretch.known_from < now and not stretch.is_empty:
            self.corrected.append((Interval(start=stretch.start, end=stretch.end, known_from=stretch.known_from), now))
        stretch.end, stretch.known_from, stretch.period_id = end, now, None

    def begin(self, start: datetime, *, now: datetime) -> None:
        """Begin a new interval at ``start``; the earlier intervals stay."""
        self.has_changed = True
        self.earlier.append(self.latest)
        self.latest = Interval(start=start, end=None, known_from=now)

    def add(self, start: datetime, end: datetime, *, now: datetime) -> bool:
        """Add an interval that became known late; returns whether it is the latest one."""
        self.has_changed = True
        stretch = Interval(start=start, end=end, known_from=now)
        if start < self.latest.start:
            self.earlier.append(stretch)
            return False
        self.earlier.append(self.latest)
        self.latest = stretch
        return True

    def end_latest(self, end: datetime, *, now: datetime) -> None:
        """End the latest interval at ``end``, if it did not end before.  One that began later never held."""
        last = end if self.latest.end is None else min(self.latest.end, end)
        self.change(self.latest, end=max(last, self.latest.start), now=now)

    def put_into(self, row: Memory) -> None:
        row.valid_from, row.valid_to, row.known_from = self.latest.start, self.latest.end, self.latest.known_from


def read(scope: Scope, rows: Collection[Memory]) -> dict[int, Periods]:
    """The periods of these memories, by id.  Inside the transaction that holds the space's lock."""
    if not rows:
        return {}
    values = [[row.pk for row in rows], scope.tenant_id]
    believed = [_PERIOD.row(found) for found in fetch_all(_BELIEVED, values, prepared=True)]
    earlier: dict[int, list[MemoryPeriod]] = {}
    for period in believed:
        earlier.setdefault(period.memory_id, []).append(period)
    return {row.pk: Periods.of_row(row, earlier.get(row.pk, ())) for row in rows}


def write(scope: Scope, space_id: int, changed: dict[int, Periods], *, now: datetime) -> None:
    """Write the rows of periods; ``put_into`` fills the memories' rows.  In the transaction that changes them."""
    for periods in changed.values():
        for period_id, since in periods.ended.items():
            MemoryPeriod.objects.within(scope).filter(pk=period_id).update(known_to=since)
    insert(
        MemoryPeriod(
            tenant_id=scope.tenant_id,
            space_id=space_id,
            memory_id=memory_id,
            valid_from=one.start,
            valid_to=one.end,
            known_from=one.known_from,
            known_to=known_to,
            created_at=now,
        )
        for memory_id, periods in changed.items()
        for one, known_to in [
            *periods.corrected,
            *((one, None) for one in periods.earlier if one.period_id is None and not one.is_empty),
        ]
    )
