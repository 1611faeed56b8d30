"""How long memories are kept and by whose word, what goes next, and what a legal hold keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from apps.accounts import stepup
from apps.ingest.outcomes import Day
from apps.memories.browsing import Owner, find_space, owner_of, owners_of, spaces_in
from apps.memories.spaces import find_end_user
from apps.projects.policies import (
    BOUNDS,
    DEFAULT,
    RULES,
    InForce,
    Level,
    Policy,
    PolicyLoosened,
    PolicyRefused,
    explain,
    list_said,
    set_policy,
)
from apps.projects.scope import Scope
from apps.projects.selectors import get_project, list_projects
from apps.retention.holds import list_holds
from apps.retention.previewing import Leaving, preview, preview_change
from apps.retention.rules import COUNTED, PLATFORM
from apps.web.drawing import columns
from apps.web.environments import FIRST, environment_of, inside
from apps.web.pages import At, Need, in_tenant, show
from apps.web.reckoning import counted
from apps.web.seeking import id_of

READ, WRITE = "retention:read", "retention:write"
ACTION: Final = "retention.tighten"
WHOLE: Final = 1  # of an assertion: the rules are named in what it is about
SAID: Final = 50  # policies of projects and spaces that are listed
AHEAD: Final = (7, 30, 90, 365)  # days that are looked ahead
SAMPLE: Final = 12
# Of each rule: what it is called, what its number counts, and what it says.
TITLES: Final[Mapping[str, tuple[str, str, str]]] = {
    "active_days": ("In recall", "days", "from when it was remembered; pinned ones and constraints are exempt"),
    "archive_days": ("In the archive after that", "days", "read by its id alone; 0 archives nothing"),
    "grace_days": ("To be brought back", "days", "from its deletion until it is gone for good"),
    "task_ttl_seconds": ("A task", "seconds", "lasts at most, whatever was asked for"),
    "event_max_age_seconds": ("An event", "seconds", "from when it was remembered"),
    "superseded_max_age_seconds": ("A replaced value", "seconds", "from when another took its place"),
    "superseded_max_count": ("Replaced values of one thing", "count", "the newest are kept"),
}
UNITS: Final[Mapping[str, int]] = {"days": 86_400, "hours": 3_600, "minutes": 60}
STEPS: Final = {
    "archived": ("archived", "out of recall, still read by its id"),
    "soft_deleted": ("deleted", "out of every answer, can be brought back"),
    "purged": ("gone for good", ""),
}
DRAWN: Final = ("soft_deleted", "archived", "purged")  # from the bottom up
BY: Final = {
    "ttl": "its own time",
    "grace": "its days to be brought back are over",
    COUNTED: "newer values of the same thing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """Whose policy is looked at: of the tenant, and of a project and a space of it where they are named."""

    scope: Scope
    project: Any = None
    space_id: int | None = None
    owner: Owner | None = None

    @property
    def levels(self) -> list[tuple[Level, int, str]]:
        """Where something can be said: the level, its target, and a name to show."""
        found: list[tuple[Level, int, str]] = [(Level.TENANT, 0, self.scope.tenant.name)]
        if self.project:
            found.append((Level.PROJECT, self.project.pk, self.project.name))
        if self.space_id and self.owner:
            found.append((Level.SPACE, self.space_id, self.owner.label))
        return found

    @property
    def query(self) -> str:
        return urlencode(self.fields)

    @property
    def fields(self) -> dict[str, str]:
        named = {"project": self.project.public_id if self.project else "", "space": str(self.space_id or "")}
        return {name: value for name, value in named.items() if value}

    @property
    def spaces(self) -> list[int]:
        return [self.space_id] if self.space_id else []


@in_tenant(Need.GRANTED, grant=READ, methods="GET POST")
def retention(request: HttpRequest, at: At) -> HttpResponse:
    """POST looks for one end user: their id belongs in no address."""
    concerned = _concerned(request, at)
    if request.method == "POST":
        return _to_person(request, at, concerned)
    said, rules = explain(
        at.scope, project_id=concerned.project.pk if concerned.project else None, space_ids=concerned.spaces
    )
    projects = list_projects(at.scope)
    return show(
        request,
        "retention",
        at=at,
        place="retention",
        part="policies",
        concerned=concerned,
        projects=projects,
        columns=[_column(concerned, one) for one in _in_order(said)],
        rules=[_row(rules[name], _in_order(said), concerned) for name in RULES],
        others=_others(at, projects) if not concerned.fields else [],
        levels=concerned.levels if WRITE in at.reach.permissions else [],
        units=list(UNITS),
    )


@in_tenant(Need.ASSERTION, grant=WRITE, methods="GET POST")
def tighten_retention(request: HttpRequest, at: At) -> HttpResponse:
    """GET says what these rules would do at once and asks for the last word; POST is that word."""
    concerned = _concerned(request, at)
    level, target_id, name = _level(request.GET.get("level", ""), concerned)
    back = f"{reverse('web_retention', args=[at.tenant])}?{concerned.query}"
    try:
        rules = _rules(request.GET)
        asked: dict[str, Any] = {"action": ACTION, "target": _target(at, level, target_id, rules), "count": WHOLE}
        if request.method == "POST":
            stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
            set_policy(at.scope, level, target_id, rules, now=at.now)
            messages.success(request, "This holds from now on. What is past its time goes with the next run.")
            return HttpResponseRedirect(back)
        change = preview_change(at.scope, level, target_id, rules, now=at.now)
    except (PolicyLoosened, PolicyRefused) as error:
        for sentence in _refusals(error):
            messages.error(request, sentence)
        return HttpResponseRedirect(back)
    holds = explain(
        at.scope, project_id=concerned.project.pk if concerned.project else None, space_ids=concerned.spaces
    )[1]
    return show(
        request,
        "tighten_retention",
        at=at,
        place="retention",
        level=level,
        name=name,
        rules=[
            {"title": TITLES[rule][0], "before": amount(rule, holds[rule].value), "after": amount(rule, value)}
            for rule, value in rules.items()
        ],
        steps=[{"name": STEPS[step][0], "before": change.before[step], "after": change.after[step]} for step in STEPS],
        more=sum(change.after.values()) - sum(change.before.values()),
        grace=rules.get("grace_days", holds["grace_days"].value),
        query=request.GET.urlencode(),
        assertion=stepup.issue_assertion(request, **asked),
        back=back,
    )


@in_tenant(Need.GRANTED, grant=READ)
def preview_retention(request: HttpRequest, at: At) -> HttpResponse:
    """What `memsync retention preview` says."""
    environment = environment_of(request, at)
    days = int(said) if (said := request.GET.get("days", "")) in {str(one) for one in AHEAD} else AHEAD[1]
    name = f"leaving:{at.reach.tenant.pk}:{environment.value}:{days}"
    found = counted(
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


@in_tenant(Need.GRANTED, grant=READ)
def holds(request: HttpRequest, at: At) -> HttpResponse:
    """Cases are for those who may delete: what keeps them from it."""
    found = list_holds(at.scope, lifted=True)[::-1]
    projects = {one.pk: one for one in list_projects(at.scope)}
    owners = _owners(at, [one.space_id for one in found if one.space_id])
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


def amount(rule: str, value: int | None) -> str:
    """A rule's number as people say it."""
    if value is None:
        return "no limit"
    unit = TITLES.get(rule, ("", "days", ""))[1]
    if unit == "count":
        return f"{value:,}"
    if unit == "days":
        return _plural(value, "days")
    for name, seconds in UNITS.items():
        if value % seconds == 0:
            return _plural(value // seconds, name)
    return f"{value:,} seconds"


def _plural(number: int, unit: str) -> str:
    return f"{number:,} {unit[:-1] if number == 1 else unit}"


def _concerned(request: HttpRequest, at: At) -> Concerned:
    """Raises ProjectNotFound, SpaceNotFound."""
    named, space_id = request.GET.get("project", ""), id_of(request.GET.get("space"))
    return Concerned(
        scope=at.scope,
        project=get_project(at.scope, named) if named else None,
        space_id=space_id,
        owner=owner_of(find_space(at.scope, space_id), now=at.now) if space_id else None,
    )


def _to_person(request: HttpRequest, at: At, concerned: Concerned) -> HttpResponse:
    named = request.POST.get("end_user", "").strip()
    space = find_end_user(inside(at, environment_of(request, at)), named) if named else None
    if named and space is None:
        messages.warning(request, "There is nobody of this name in this environment.")
    fields = concerned.fields | ({"space": str(space.id)} if space else {})
    return HttpResponseRedirect(f"{reverse('web_retention', args=[at.tenant])}?{urlencode(fields)}")


def _in_order(said: Sequence[Policy]) -> list[Policy]:
    """From the widest to the narrowest."""
    order = [DEFAULT, Level.TENANT, Level.PROJECT, Level.SPACE]
    return sorted(said, key=lambda one: order.index(one.level))


def _column(concerned: Concerned, one: Policy) -> dict[str, str]:
    names = {(level.value, target_id): name for level, target_id, name in concerned.levels}
    return {"level": one.level, "name": names.get((one.level, one.target_id), "this deployment")}


def _row(holds: InForce, said: Sequence[Policy], concerned: Concerned) -> dict[str, Any]:
    title, unit, meaning = TITLES[holds.rule]
    words = [one for one in said if holds.rule in one.rules]
    return {
        "rule": holds.rule,
        "title": title,
        "unit": unit,
        "meaning": meaning,
        "holds": amount(holds.rule, holds.value),
        "level": holds.level if holds.value is not None else "",
        "why": _why(holds, words),
        "cells": [
            {
                "said": amount(holds.rule, one.rules[holds.rule]) if holds.rule in one.rules else "",
                "wins": (one.level, one.target_id) == (holds.level, holds.target_id) and holds.rule in one.rules,
            }
            for one in said
        ],
        "least": BOUNDS[holds.rule][0],
        "most": BOUNDS[holds.rule][1] if holds.value is None else holds.value,
        "value": holds.value,
    }


def _why(holds: InForce, words: Sequence[Policy]) -> str:
    if not words:
        return "nobody limits it"
    if len(words) == 1:
        return "nobody else says anything" if holds.level != DEFAULT else "nobody says anything stricter"
    others = {one.rules[holds.rule] for one in words if one.level != holds.level}
    return "all say the same" if others == {holds.value} else "the strictest of what is said"


def _others(at: At, projects: Sequence[Any]) -> list[dict[str, Any]]:
    """Projects and spaces that say something themselves."""
    found = list_said(at.scope, most=SAID)
    names = {one.pk: one for one in projects}
    owners = _owners(at, [one.target_id for one in found if one.level == Level.SPACE])
    rows = []
    for one in found:
        if one.level == Level.PROJECT:
            name, query = names[one.target_id].name, urlencode({"project": names[one.target_id].public_id})
        else:
            name, query = owners[one.target_id].label, urlencode({"space": one.target_id})
        said = [f"{TITLES[rule][0].lower()}: {amount(rule, value)}" for rule, value in one.rules.items()]
        rows.append({"level": one.level, "name": name, "query": query, "said": said})
    return rows


def _owners(at: At, space_ids: Sequence[int]) -> dict[int, Owner]:
    return owners_of(at.scope, spaces_in(at.scope, space_ids)) if space_ids else {}


def _level(said: str, concerned: Concerned) -> tuple[Level, int, str]:
    """Raises PolicyRefused."""
    for level, target_id, name in concerned.levels:
        if level.value == said:
            return level, target_id, name
    raise PolicyRefused


def _rules(given: Mapping[str, str]) -> dict[str, int]:
    """Those that were filled in; of times the number in the unit beside it.  Raises PolicyRefused."""
    rules = {}
    for rule in RULES:
        text = given.get(rule, "").strip()
        if not text:
            continue
        if not (text.isascii() and text.isdecimal() and len(text) < 11):
            raise PolicyRefused(details=[{"field": rule, "reason": "is a whole number"}])
        rules[rule] = int(text) * UNITS.get(given.get(f"{rule}_unit", ""), 1)
    return rules


def _refusals(error: PolicyLoosened | PolicyRefused) -> list[str]:
    if not error.details:
        return ["Fill in at least one rule."]
    return [_refusal(one["field"], one) for one in error.details]


def _refusal(rule: str, one: Mapping[str, Any]) -> str:
    title = TITLES[rule][0]
    if "holds" in one:
        return f"{title}: {amount(rule, one['holds'])} holds already. It can be made shorter here, and not longer."
    if rule in BOUNDS and "to" in one["reason"]:
        least, most = (amount(rule, bound) for bound in BOUNDS[rule])
        return f"{title} is between {least} and {most}."
    return f"{title} {one['reason']}."


def _target(at: At, level: Level, target_id: int, rules: Mapping[str, int]) -> str:
    said = ",".join(f"{name}={value}" for name, value in sorted(rules.items()))
    return f"{at.scope.tenant.uid}/{level}:{target_id}?{said}"


def _whose(at: At, found: Sequence[Leaving]) -> dict[tuple[str, int], str]:
    """What to call the levels whose word takes something."""
    names = {(DEFAULT, 0): "this deployment", (PLATFORM, 0): "the memory itself", (Level.TENANT.value, 0): at.tenant}
    levels = {(one.level, one.target_id) for one in found}
    if any(level == Level.PROJECT for level, _ in levels):
        names |= {(Level.PROJECT.value, one.pk): one.name for one in list_projects(at.scope)}
    spaces = sorted(target_id for level, target_id in levels if level == Level.SPACE)
    return names | {(Level.SPACE.value, pk): one.label for pk, one in _owners(at, spaces).items()}


def _days(found: Sequence[Leaving], today: date, ahead: int) -> list[Day]:
    """Each day from today on; what is overdue goes today."""
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
