"""Usage of a tenant: recent input and recalls, stored memories, and what is left of its quotas."""

from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.apikeys.quota import QuotaState, quota_mode, standings
from apps.audit.selectors import count_by_day
from apps.console.cached_counts import Counted, get_or_count
from apps.console.charts import Bar, bars
from apps.console.ingest_statistics import KINDS, Day, outcomes
from apps.console.status_counts import StatusCounts, count_statuses
from apps.console.svg_charts import columns
from apps.projects.scope import Environment
from apps.web.environments import FIRST, inside
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

DAYS: Final = 30
NEAR: Final = 80  # percent of a quota, from which on it is marked
RECALL: Final = "memory.recall"
WHO: Final = {"api_key": "programs", "account": "people"}  # in the order of the chart
MODES: Final = {
    "strict": "Requests beyond it are refused (429).",
    "silent": "Requests beyond it get a normal response but have no effect.",
}


@in_tenant(AccessLevel.GRANTED, grant="usage:read")
def usage(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Counts only, over every environment."""
    name, today = at.reach.tenant.pk, f"{at.now:%Y-%m-%d}"
    brought = get_or_count(f"brought:{name}:{today}", lambda: _brought(at), now=at.now)
    recalled = get_or_count(f"recalled:{name}:{today}", lambda: _recalled(at), now=at.now)
    stored = get_or_count(f"stored:{name}", lambda: _stored(at), now=at.now)
    lines = bars({one.value: stored.value[one].current for one in FIRST})
    mode = quota_mode(at.scope)
    return show(
        request,
        "usage",
        at=at,
        place="usage",
        charts=[
            _chart("Added", "input by programs, by outcome", brought, KINDS),
            _chart("Recalled", "recalls and searches, by caller", recalled, tuple(WHO.values())),
        ],
        stored=[_held(one.value, stored.value[one], bar) for one, bar in zip(FIRST, lines, strict=True)],
        counted_at=stored.at if stored.is_kept else None,
        meters=[_meter(one) for one in standings(at.scope, now=at.now)],
        mode=mode,
        mode_said=MODES.get(mode, ""),
        is_unused=not any(day.total for day in (*brought.value, *recalled.value)),
    )


def _brought(at: PageContext) -> list[Day]:
    found = [outcomes(inside(at, environment), days=DAYS, now=at.now) for environment in FIRST]
    return [_sum([one.days[number] for one in found]) for number in range(DAYS)]


def _sum(days: list[Day]) -> Day:
    return Day(day=days[0].day, counts={kind: sum(one.counts[kind] for one in days) for kind in KINDS})


def _recalled(at: PageContext) -> list[Day]:
    first = at.now.astimezone(UTC).date() - timedelta(days=DAYS - 1)
    found = count_by_day(at.scope, RECALL, since=datetime.combine(first, time(), UTC))
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return [Day(day=day, counts={name: found.get((day, kind), 0) for kind, name in WHO.items()}) for day in days]


def _stored(at: PageContext) -> dict[Environment, StatusCounts]:
    return {environment: count_statuses(inside(at, environment)) for environment in FIRST}


def _chart(title: str, words: str, found: Counted[list[Day]], kinds: tuple[str, ...]) -> dict[str, Any]:
    totals = {kind: sum(day.counts[kind] for day in found.value) for kind in kinds}
    return {
        "title": title,
        "id": title.lower(),
        "words": words,
        "found": found,
        "kinds": [{"name": kind, "total": f"{total:,}"} for kind, total in totals.items()],
        "is_empty": not any(totals.values()),
        "total": f"{sum(totals.values()):,}",
        "drawn": columns(found.value, kinds),
    }


def _held(environment: str, held: StatusCounts, bar: Bar) -> dict[str, Any]:
    counts = [f"{count:,}" for count in (held.current, held.replaced, held.archived, held.deleted)]
    return {"environment": environment, "counts": counts, "bar": bar}


def _meter(one: QuotaState) -> dict[str, Any]:
    percent = 0.0 if one.limit is None else 100.0 if one.used >= one.limit else round(100 * one.used / one.limit, 1)
    return {
        "name": one.meter,
        "used": f"{one.used:,}",
        "limit": None if one.limit is None else f"{one.limit:,}",
        "left": None if one.limit is None else f"{max(0, one.limit - one.used):,}",
        "percent": percent,
        "is_near": percent >= NEAR,
    }
