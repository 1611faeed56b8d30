"""Charts of the admin's first page, over the whole deployment: counts, times and ages, read as the operator role.

Each statement has a time limit, and its result is cached (``apps.console.cached_counts``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from apps.console.cached_counts import get_or_count
from apps.console.charts import Bar, Chart, bars, stacked
from apps.console.ingest_statistics import KINDS, kind_of
from apps.core.admin import OPERATOR
from apps.core.queries import execute, fetch_all
from apps.recall.latency_histogram import BOUNDS, percentile

DAYS: Final = 14
HOURS: Final = 48
PATIENCE_MS: Final = 1_500
AGE_DAYS: Final = 30  # days per column of the key age chart
AGES: Final = 13  # columns; the last one covers all older keys
RUNS: Final = 1_000  # most recent runs read per tenant
SWEPT: Final = ("archived", "deleted", "purged")
Rows = Sequence[tuple[Any, ...]]

# One lateral subquery per tenant, so that each uses the index that begins with the tenant.
_CANDIDATES: Final = """
select date_trunc(%(step)s, one.created_at, 'UTC'), one.decision, count(*) from tenants_tenant tenant
cross join lateral (select created_at, decision from ingest_candidate
                     where tenant_id = tenant.id and created_at >= %(since)s) one
group by 1, 2
"""
_PACES: Final = "select hour, bucket, count from recall_recallpace where hour >= %(since)s"
_QUEUE: Final = """
select kind, count(*), count(*) filter (where error <> ''),
       extract(epoch from %(now)s - min(run_after) filter (where run_after <= %(now)s))
  from outbox_outboxevent group by kind order by 2 desc, 1
"""
_KEYS: Final = """
select extract(epoch from %(now)s - coalesce(turned.started_at, state.created_at)) / 86400
  from crypto_tenantkeystate state
  left join lateral (select started_at from key_management_keyrotation
                      where tenant_id = state.tenant_id and to_version = state.active_version
                        and started_at is not null order by id limit 1) turned on true
"""
_SWEEPS: Final = """
select date_trunc('day', run.created_at, 'UTC'), sum(run.archived), sum(run.deleted), sum(run.purged), count(*)
  from tenants_tenant tenant
 cross join lateral (select created_at, archived, deleted, purged from retention_retentionrun
                      where tenant_id = tenant.id order by id desc limit %(most)s) run
 where run.created_at >= %(since)s group by 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPicture:
    """One chart.  said: a sentence that sums it up.  legend: each part of a stack and its amount.

    chart, bars: one of them is set, or neither if there is no data.  is_too_much: the query exceeded its time limit.
    """

    name: str
    title: str
    said: str = ""
    legend: Sequence[tuple[str, str]] = ()
    chart: Chart | None = None
    bars: Sequence[Bar] = ()
    notes: Sequence[str] = field(default=())
    is_alarming: bool = False
    is_too_much: bool = False


def pictures(*, now: datetime) -> list[ChartPicture]:
    drawn = (
        ("adds", "Adds, the last 48 hours", _adds),
        ("outcomes", "Outcomes, the last 14 days", _outcomes),
        ("recall", "Recall, the last 48 hours, in milliseconds", _recall),
        ("queue", "Outbox backlog", _queue),
        ("keys", "Ages of the tenants' keys, in days", _keys),
        ("sweeps", "Retention sweeps, the last 14 days", _sweeps),
    )
    return [_picture(name, title, draw, now=now) for name, title, draw in drawn]


def _picture(name: str, title: str, draw: Callable[[datetime], dict[str, Any]], *, now: datetime) -> ChartPicture:
    try:
        found = get_or_count(f"operators:{name}", lambda: draw(now), now=now)
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        return ChartPicture(name=name, title=title, is_too_much=True)
    return ChartPicture(name=name, title=title, **found.value)


def _read(sql: str, **said: Any) -> Rows:
    with transaction.atomic(using=OPERATOR):
        execute(f"set local statement_timeout = {PATIENCE_MS}", using=OPERATOR)
        return fetch_all(sql, said, using=OPERATOR)


def _adds(now: datetime) -> dict[str, Any]:
    hours = _steps(now.replace(minute=0, second=0, microsecond=0), timedelta(hours=1), HOURS)
    counts = dict.fromkeys(hours, 0)
    for hour, decision, count in _read(_CANDIDATES, step="hour", since=hours[0]):
        if hour in counts and kind_of(decision) == KINDS[0]:
            counts[hour] += count
    return _columns(
        [(count,) for count in counts.values()], [f"{hour:%a %H:%M}" for hour in counts], ["memories created"]
    )


def _outcomes(now: datetime) -> dict[str, Any]:
    days = _steps(_midnight(now), timedelta(days=1), DAYS)
    counts = {day: dict.fromkeys(KINDS, 0) for day in days}
    for day, decision, count in _read(_CANDIDATES, step="day", since=days[0]):
        if day in counts:
            counts[day][kind_of(decision)] += count
    return _columns([list(one.values()) for one in counts.values()], _dates(days), KINDS)


def _recall(now: datetime) -> dict[str, Any]:
    hours = _steps(now.replace(minute=0, second=0, microsecond=0), timedelta(hours=1), HOURS)
    counts = {hour: [0] * len(BOUNDS) for hour in hours}
    for hour, bucket, count in _read(_PACES, since=hours[0]):
        if hour in counts:
            counts[hour][bucket] += count
    whole = [sum(numbers) for numbers in zip(*counts.values(), strict=True)]
    if not sum(whole):
        return {}
    halves = [(percentile(one, 0.5), percentile(one, 0.95)) for one in counts.values()]
    half, most = percentile(whole, 0.5), percentile(whole, 0.95)
    return {
        "chart": stacked([(low, high - low) for low, high in halves], [f"{hour:%a %H:%M}" for hour in hours]),
        "legend": [("median (p50)", f"{half:.0f} ms"), ("p95", f"{most:.0f} ms")],
        "said": f"Of {sum(whole):,} recalls half took at most {half:.0f} milliseconds, 95% at most {most:.0f}.",
        "notes": [f"{sum(whole):,} recalls"],
    }


def _queue(now: datetime) -> dict[str, Any]:
    rows = _read(_QUEUE, now=now)
    failing = sum(row[2] for row in rows)
    late = max((float(row[3]) for row in rows if row[3] is not None), default=0.0)
    notes = [f"{failing:,} failing"] if failing else []
    if late > 60:
        notes.append(f"the oldest is due for {_said(timedelta(seconds=late))}")
    return {
        "bars": bars({kind.replace("_", " ").replace(".", " "): count for kind, count, *_ in rows}),
        "notes": notes,
        "is_alarming": bool(failing) or late > 300,
    }


def _keys(now: datetime) -> dict[str, Any]:
    ages = [float(age) for (age,) in _read(_KEYS, now=now)]
    if not ages:
        return {}
    counts = [0] * AGES
    for age in ages:
        counts[min(int(max(age, 0) // AGE_DAYS), AGES - 1)] += 1
    limit = settings.KEY_MAX_AGE_DAYS
    due = sum(age >= limit for age in ages)
    marks = [str(AGE_DAYS * number) for number in range(AGES)]
    drawn = stacked([(count,) for count in counts], [*marks[:-1], f"{marks[-1]} and more"])
    oldest = f"the oldest is {max(ages):.0f} days old"
    return {
        "chart": drawn,
        "said": f"{len(ages)} keys; {oldest}.",
        "notes": [oldest, f"{due} due for rotation" if due else f"rotated automatically after {limit} days"],
        "is_alarming": bool(due),
    }


def _sweeps(now: datetime) -> dict[str, Any]:
    days = _steps(_midnight(now), timedelta(days=1), DAYS)
    counts = {day: [0, 0, 0] for day in days}
    runs = 0
    for day, *swept, number in _read(_SWEEPS, since=days[0], most=RUNS):
        if day in counts:
            counts[day], runs = [int(one) for one in swept], runs + number
    found = _columns(list(counts.values()), _dates(days), SWEPT)
    return {**found, "notes": [f"{runs:,} run{'' if runs == 1 else 's'}"]}


def _columns(stacks: Sequence[Sequence[int]], marks: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    totals = {name: sum(stack[place] for stack in stacks) for place, name in enumerate(names)}
    if not sum(totals.values()):
        return {}
    legend = [(name, f"{total:,}") for name, total in totals.items()]
    return {"chart": stacked(stacks, marks), "legend": legend, "said": _sentence(totals)}


def _sentence(totals: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {total:,}" for name, total in totals.items())


def _steps(last: datetime, step: timedelta, number: int) -> list[datetime]:
    return [last - step * back for back in reversed(range(number))]


def _midnight(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _dates(days: Sequence[datetime]) -> list[str]:
    return [f"{day.day} {day:%b}" for day in days]


def _said(late: timedelta) -> str:
    minutes = int(late.total_seconds() // 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
