"""First pages after signing in: the user's tenants, and the overview of one tenant."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts.services import person_of
from apps.console.cached_counts import get_or_count
from apps.console.charts import bars
from apps.console.ingest_statistics import KINDS, outcomes
from apps.console.memory_list import newest_in
from apps.console.space_list import owners_of
from apps.console.status_counts import count_statuses
from apps.console.svg_charts import columns
from apps.ingest.review import count_waiting
from apps.retention.requests import count_pending
from apps.tenants.members import reach_of
from apps.web.break_glass import waits_or_reads
from apps.web.environments import FIRST, environment_of, inside
from apps.web.navigation import front
from apps.web.pages import AccessLevel, PageContext, in_tenant, needs, show
from apps.web.upcoming_deletions import notice_of

DAYS: Final = 30
NEWEST: Final = 6
TYPES: Final = 8  # types drawn in the chart
WAITING: Final = 99  # most that is counted; beyond it the page shows "more than"


@needs(AccessLevel.FACTOR)
def home(request: HttpRequest) -> HttpResponse:
    """The user's tenants; redirects to the tenant if there is only one."""
    there = reach_of(request.user.pk or 0, closed=True)
    if not there and person_of(request).is_staff:
        return HttpResponseRedirect(reverse("admin:index"))
    fronts = [(reach, address) for reach in there if (address := front(reach))]
    closed = [(reach, address) for reach, address in fronts if reach.tenant.closed_at is not None]
    reaches = [(reach, address) for reach, address in fronts if reach.tenant.closed_at is None]
    if len(reaches) == 1 and not closed:
        return HttpResponseRedirect(reaches[0][1])
    return show(request, "home", reaches=reaches, closed=closed)


@in_tenant(AccessLevel.READER)
def overview(request: HttpRequest, at: PageContext) -> HttpResponse:
    """One environment: stored memories, outcomes of the input, pending work, newest memories."""
    environment = environment_of(request, at)
    scope = inside(at, environment)
    name = f"{at.reach.tenant.pk}:{environment.value}"
    held = get_or_count(f"tally:{name}", lambda: count_statuses(scope), now=at.now)
    became = get_or_count(
        f"outcomes:{name}:{at.now:%Y-%m-%d}", lambda: outcomes(scope, days=DAYS, now=at.now), now=at.now
    )
    newest = newest_in(scope, limit=NEWEST, now=at.now)
    owners = owners_of(scope, [space for space, _ in newest])
    types = list(held.value.by_type.items())
    return show(
        request,
        "overview",
        at=at,
        place="overview",
        environment=environment,
        environments=FIRST,
        held=held,
        types=bars(dict(types[:TYPES])),
        other_types=sum(count for _, count in types[TYPES:]),
        became=became,
        kinds=[{"name": kind, "total": became.value.totals[kind]} for kind in KINDS],
        chart=columns(became.value.days),
        refused=[
            {"decision": _said(decision.removeprefix("discarded_")), "reason": _said(reason), "count": count}
            for (decision, reason), count in became.value.refused.items()
        ],
        waiting=count_waiting(scope, most=WAITING + 1, now=at.now),
        asked_to_forget=count_pending(scope, most=WAITING + 1, now=at.now) if at.reach.may_delete else 0,
        most_waiting=WAITING,
        glass=waits_or_reads(at),
        notice=notice_of(at, environment),
        newest=[{"owner": owners[space.id], "shown": shown} for space, shown in newest],
        server=request.build_absolute_uri("/").rstrip("/"),
    )


def _said(code: str) -> str:
    return code.replace("_", " ")
