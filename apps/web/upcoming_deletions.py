"""What retention will delete next, and what legal holds protect."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.console.cached_counts import get_or_count
from apps.console.ingest_statistics import Day
from apps.console.space_list import Owner, owners_of, spaces_in
from apps.console.svg_charts import columns
from apps.erasure.legal_holds import list_holds
from apps.memories.lifetimes import COUNTED, PLATFORM
from apps.policies.retention import DEFAULT, Level
from apps.projects.scope import Environment
from apps.projects.selectors import list_projects
from apps.retention.notices import list_notices
from apps.retention.previewing import Leaving, preview
from apps.web.environments import FIRST, environment_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show
from apps.web.retention_words import BY, STEPS, TITLES, amount

READ: Final = "retention:read"
AHEAD: Final = (7, 30, 90, 365)  # choices for the number of days ahead
SAMPLE: Final = 12
DRAWN: Final = ("soft_deleted", "archived", "purged")  # stacked from the bottom up


@in_tenant(AccessLevel.GRANTED, grant=READ)
def preview_retention(request: HttpRequest, at: PageContext) -> HttpResponse:
    """The same forecast as `memsync retention preview`."""
    environment = environment_of(request, at)
    days = int(said) if (said := request.GET.get("days", "")) in {str(one) for one in AHEAD} else AHEAD[1]
    name = f"leaving:{at.reach.tenant.pk}:{environment.value}:{days}"
    found = get_or_count(
        name,
        lambda: preview(
            at.scope, until=at.now + timedelta(days=days), environment=environment, sample=SAMPLE, now=at.now
        ),
        now=at.now,
    )
    whose = _whose(at, found.value)
    going = [one for one in found.value if not one.is_held]
    return show(
        request,
        "retention_next",
        at=at,
        place="retention",
        part="next",
        environment=environment,
        environments=FIRST,
        days=days,
        ahead=AHEAD,
        found=found,
        total=sum(one.count for one in going),
        kinds=[
            {"name": STEPS[step][0], "total": sum(one.count for one in going if one.step == step)} for step in DRAWN
        ],
        chart=columns(_days(going, at.now.date(), days), DRAWN),
        by_day=[
            {"day": day, "leaving": [_leaving(one, whose) for one in some]}
            for day, some in groupby(going, key=lambda one: max(one.day, at.now.date()))
        ],
        held=sum(one.count for one in found.value if one.is_held),
        today=at.now.date(),
    )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def holds(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Legal holds.  Their cases are shown only to roles that may delete."""
    found = list_holds(at.scope, lifted=True)[::-1]
    projects = {one.pk: one for one in list_projects(at.scope)}
    owners = owners_in(at, [one.space_id for one in found if one.space_id])
    return show(
        request,
        "holds",
        at=at,
        place="retention",
        part="holds",
        found=[
            {"one": one, "what": _held(one, projects, owners), "owner": owners.get(one.space_id or 0)} for one in found
        ],
        in_force=sum(one.lifted_at is None for one in found),
    )


def notice_of(at: PageContext, environment: Environment | None = None) -> dict[str, Any] | None:
    """When the next memories of the environment (or of any) expire, and how many within a week.  None if none do, or if
    the role may not see retention."""
    if READ not in at.reach.permissions:
        return None
    found = [one for one in list_notices(at.scope) if environment is None or one.environment == environment.value]
    if not found:
        return None
    soonest, today = min(found, key=lambda one: one.first_on), at.now.date()
    return {
        "environment": soonest.environment,
        "first_on": max(soonest.first_on, today),
        "is_today": soonest.first_on <= today,
        "count": sum(one.count for one in found),
    }


def owners_in(at: PageContext, space_ids: Sequence[int]) -> dict[int, Owner]:
    return owners_of(at.scope, spaces_in(at.scope, space_ids)) if space_ids else {}


def _whose(at: PageContext, found: Sequence[Leaving]) -> dict[tuple[str, int], str]:
    """Display names of the policy levels that delete something."""
    names = {(DEFAULT, 0): "this deployment", (PLATFORM, 0): "the memory itself", (Level.TENANT.value, 0): at.tenant}
    levels = {(one.level, one.target_id) for one in found}
    if any(level == Level.PROJECT for level, _ in levels):
        names |= {(Level.PROJECT.value, one.pk): one.name for one in list_projects(at.scope)}
    spaces = sorted(target_id for level, target_id in levels if level == Level.SPACE)
    return names | {(Level.SPACE.value, pk): one.label for pk, one in owners_in(at, spaces).items()}


def _days(found: Sequence[Leaving], today: date, ahead: int) -> list[Day]:
    """One entry per day from today on; overdue memories count as today."""
    counts = {today + timedelta(days=number): dict.fromkeys(DRAWN, 0) for number in range(ahead + 1)}
    for one in found:
        counts[max(one.day, today)][one.step] += one.count
    return [Day(day=day, counts=of_day) for day, of_day in counts.items()]


def _leaving(one: Leaving, whose: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    named = TITLES.get(one.rule, ("", "", ""))[0].lower()
    said = "" if one.value is None or one.rule == COUNTED else f" {amount(one.rule, one.value)}"
    return {
        "one": one,
        "step": STEPS[one.step][0],
        "means": STEPS[one.step][1],
        "why": BY.get(one.rule) or f"{named}{said}",
        "whose": whose.get((one.level, one.target_id), one.level),
        "more": max(0, one.count - len(one.ids)),
    }


def _held(one: Any, projects: Mapping[int, Any], owners: Mapping[int, Owner]) -> str:
    if one.project_id:
        return f"The project {projects[one.project_id].name}" if one.project_id in projects else "A project"
    if one.space_id:
        return owners[one.space_id].label if one.space_id in owners else "A space"
    return f"Memory {one.memory_id}" if one.memory_id else "The whole tenant"
