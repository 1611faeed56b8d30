"""Retention pages: how long memories are kept, which level sets it, and changing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from apps.accounts import stepup
from apps.console.cached_counts import get_or_count
from apps.console.space_list import Owner, find_space, owner_of
from apps.memories.lifetimes import PURGED
from apps.memories.spaces import find_end_user
from apps.memories.typed_selectors import namespace_names
from apps.policies.retention import (
    BOUNDS,
    DEFAULT,
    LIMITS,
    RULES,
    WORDS,
    InForce,
    Level,
    Policy,
    PolicyLoosened,
    PolicyRefused,
    StricterAbove,
    explain,
    in_words,
    list_said,
    set_policy,
    value_of,
)
from apps.projects.scope import Scope
from apps.projects.selectors import get_project, list_projects
from apps.retention.previewing import PolicyChange, preview, preview_change
from apps.web.environments import FIRST, environment_of, inside
from apps.web.memory_filters import id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show
from apps.web.retention_words import FROM, SET_BY, STEPS, TITLES, UNITS, amount, called
from apps.web.upcoming_deletions import READ, notice_of, owners_in

WRITE, LOOSEN = "retention:write", "retention:loosen"
ACTION: Final = "retention.change"
WHOLE: Final = 1  # count of an assertion: its target already names the rules
SAID: Final = 50  # policies of projects and spaces that are listed
SOON: Final = timedelta(days=30)
TIMES: Final = tuple(rule for rule, (_, unit, _) in TITLES.items() if unit == "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """The policy levels a page shows: the tenant's and, where given, those of a project and a space."""

    scope: Scope
    project: Any = None
    space_id: int | None = None
    owner: Owner | None = None

    @property
    def levels(self) -> list[tuple[Level, int, str]]:
        """Levels whose policy can be set here: level, target id, display name."""
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


@in_tenant(AccessLevel.GRANTED, grant=READ, methods="GET POST")
def retention(request: HttpRequest, at: PageContext) -> HttpResponse:
    """POST searches for one end user, because their id must not be in a URL."""
    concerned = _concerned(request, at)
    environment, asked = environment_of(request, at), request.POST.get("end_user", "").strip()
    if asked:
        space = find_end_user(inside(at, environment), asked)
        if space is not None:
            fields = concerned.fields | {"space": str(space.id)}
            return HttpResponseRedirect(f"{reverse('web_retention', args=[at.tenant])}?{urlencode(fields)}")
        messages.warning(request, f"No end user in {environment.value} has this ID.")
    said, rules = explain(
        at.scope, project_id=concerned.project.pk if concerned.project else None, space_ids=concerned.spaces
    )
    projects = list_projects(at.scope)
    soon = get_or_count(
        f"going:{at.reach.tenant.pk}", lambda: preview(at.scope, until=at.now + SOON, sample=0, now=at.now), now=at.now
    )
    going = [one for one in soon.value if not one.is_held and one.step != PURGED]
    return show(
        request,
        "retention",
        at=at,
        place="retention",
        part="policies",
        concerned=concerned,
        projects=projects,
        notice=notice_of(at),
        sentence=in_words(rules),
        grace=rules["grace_days"].limit,
        going=sum(one.count for one in going),
        first=max(min((one.day for one in going), default=at.now.date()), at.now.date()),
        soon=SOON.days,
        columns=[_column(concerned, one) for one in _in_order(said)],
        rules=[_row(rules[name], _in_order(said), request.GET) for name in RULES],
        others=_others(at, projects) if not concerned.fields else [],
        levels=concerned.levels if WRITE in at.reach.permissions else [],
        may_loosen=LOOSEN in at.reach.permissions,
        units=list(UNITS),
        starts=[(word, FROM[value]) for word, value in WORDS.items()],
        asked=asked,
        searched=concerned.owner.space.environment if concerned.owner else environment,
        environments=FIRST,
    )


@in_tenant(AccessLevel.ASSERTION, grant=WRITE, methods="GET POST")
def change_retention(request: HttpRequest, at: PageContext) -> HttpResponse:
    """GET shows the effect of these rules and asks for confirmation; POST applies them."""
    concerned = _concerned(request, at)
    level, target_id, name = _level(request.GET.get("level", ""), concerned)
    back = f"{reverse('web_retention', args=[at.tenant])}?{concerned.query}"
    may: dict[str, Any] = {"loosens": LOOSEN in at.reach.permissions, "now": at.now}
    try:
        rules = _rules(request.GET)
        asked: dict[str, Any] = {"action": ACTION, "target": _target(at, level, target_id, rules), "count": WHOLE}
        if request.method == "POST":
            stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
            set_policy(at.scope, level, target_id, rules, **may)
            messages.success(request, "Retention changed. The next run applies it within 15 minutes.")
            return HttpResponseRedirect(back)
        change = preview_change(at.scope, level, target_id, rules, **may)
    except (PolicyLoosened, PolicyRefused, StricterAbove) as error:
        for sentence in _refusals(error):
            messages.error(request, sentence)
        typed = {name: request.GET[name] for name in request.GET if name not in ("project", "space")}
        return HttpResponseRedirect(f"{back}&{urlencode(typed)}#change")
    (soonest, soon), until = change.more, change.going[-1]
    return show(
        request,
        "change_retention",
        at=at,
        place="retention",
        level=level,
        name=name,
        rules=[_changed(rule, change) for rule in rules],
        sentence=in_words(change.after),
        going=change.going,
        steps=[
            {"name": STEPS[step][0], "counts": [(one.before[step], one.after[step]) for one in change.going]}
            for step in STEPS
        ],
        more=soonest,
        more_soon=soon,
        fewer_soon=-soon,
        is_earlier=change.is_earlier,
        soon=until.days,
        grace=change.after["grace_days"].limit,
        query=request.GET.urlencode(),
        assertion=stepup.issue_assertion(request, **asked),
        back=back,
    )


def _concerned(request: HttpRequest, at: PageContext) -> Concerned:
    """Raises ProjectNotFound, SpaceNotFound."""
    named, space_id = request.GET.get("project", ""), id_of(request.GET.get("space"))
    return Concerned(
        scope=at.scope,
        project=get_project(at.scope, named) if named else None,
        space_id=space_id,
        owner=owner_of(find_space(at.scope, space_id)) if space_id else None,
    )


def _in_order(said: Sequence[Policy]) -> list[Policy]:
    """From the widest level to the narrowest."""
    order = [DEFAULT, Level.TENANT, Level.PROJECT, Level.NAMESPACE, Level.SPACE]
    return sorted(said, key=lambda one: order.index(one.level))


def _column(concerned: Concerned, one: Policy) -> dict[str, str]:
    names = {(level.value, target_id): name for level, target_id, name in concerned.levels}
    if one.level == Level.NAMESPACE:
        names |= {(one.level, one.target_id): namespace_names(concerned.scope, [one.target_id])[one.target_id]}
    return {"level": called(one.level), "name": names.get((one.level, one.target_id), "this deployment")}


def _row(holds: InForce, said: Sequence[Policy], typed: Mapping[str, str]) -> dict[str, Any]:
    title, unit, meaning = TITLES[holds.rule]
    least, most = BOUNDS.get(holds.rule, (0, 0))
    return {
        "rule": holds.rule,
        "title": title,
        "unit": unit,
        "meaning": meaning,
        "holds": amount(holds.rule, holds.value),
        "set_by": SET_BY[holds.level] if holds.value is not None else "not set",
        "cells": [
            {
                "said": amount(holds.rule, one.rules[holds.rule]) if holds.rule in one.rules else "",
                "wins": (one.level, one.target_id) == (holds.level, holds.target_id) and holds.rule in one.rules,
            }
            for one in said
        ],
        "least": least,
        "most": most,
        "is_limit": holds.rule in LIMITS,
        "typed": typed.get(holds.rule, ""),
        "typed_unit": typed.get(f"{holds.rule}_unit", ""),
    }


def _changed(rule: str, change: PolicyChange) -> dict[str, Any]:
    """A rule before and after the change, and whether it becomes stricter or looser."""
    before, after = change.before[rule].value, change.after[rule].value
    is_longer = before is not None and (after is None or after > before)
    return {
        "title": TITLES[rule][0],
        "before": amount(rule, before),
        "after": amount(rule, after),
        "way": "the same" if before == after else "looser" if is_longer else "stricter",
    }


def _others(at: PageContext, projects: Sequence[Any]) -> list[dict[str, Any]]:
    """Projects and spaces with a policy of their own."""
    found = list_said(at.scope, most=SAID)
    names = {one.pk: one for one in projects}
    owners = owners_in(at, [one.target_id for one in found if one.level == Level.SPACE])
    namespaces = namespace_names(at.scope, [one.target_id for one in found if one.level == Level.NAMESPACE])
    rows = []
    for one in found:
        if one.level == Level.PROJECT:
            name, query = names[one.target_id].name, urlencode({"project": names[one.target_id].public_id})
        elif one.level == Level.NAMESPACE:
            name, query = namespaces[one.target_id], ""
        else:
            name, query = owners[one.target_id].label, urlencode({"space": one.target_id})
        said = [f"{TITLES[rule][0].lower()}: {amount(rule, value)}" for rule, value in one.rules.items()]
        rows.append({"level": called(one.level), "name": name, "query": query, "said": said})
    return rows


def _level(said: str, concerned: Concerned) -> tuple[Level, int, str]:
    """Raises PolicyRefused."""
    for level, target_id, name in concerned.levels:
        if level.value == said:
            return level, target_id, name
    raise PolicyRefused


def _rules(given: Mapping[str, str]) -> dict[str, int]:
    """The rules that were filled in; times are converted from the unit given beside them.  Raises PolicyRefused."""
    rules = {}
    for rule in RULES:
        text, unit = given.get(rule, "").strip(), given.get(f"{rule}_unit", "")
        if unit == "keep" and rule in LIMITS:
            text = unit
        if text:
            rules[rule] = value_of(rule, text) * (UNITS.get(unit, 1) if text.isdecimal() and rule in TIMES else 1)
    return rules


def _refusals(error: PolicyLoosened | PolicyRefused | StricterAbove) -> list[str]:
    if not error.details:
        return ["Fill in at least one rule."]
    return [_refusal(error, one["field"], one) for one in error.details]


def _refusal(error: PolicyLoosened | PolicyRefused | StricterAbove, rule: str, one: Mapping[str, Any]) -> str:
    title = TITLES[rule][0]
    if "holds" in one:
        holds = amount(rule, value_of(rule, str(one["holds"])))
        if isinstance(error, StricterAbove):
            return f"{title}: {holds}, {SET_BY[one['level']]}, applies anyway. Change it there first."
        return f"{title}: {holds} in force. You can shorten it; only an owner can keep memories for longer."
    if rule in BOUNDS:
        least, most = (amount(rule, bound) for bound in BOUNDS[rule])
        return f"{title} is a whole number between {least} and {most}."
    return f"{title} is not a valid choice."


def _target(at: PageContext, level: Level, target_id: int, rules: Mapping[str, int]) -> str:
    said = ",".join(f"{name}={value}" for name, value in sorted(rules.items()))
    return f"{at.scope.tenant.uid}/{level}:{target_id}?{said}"
