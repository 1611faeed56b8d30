"""Preview of the retention: which memories it will archive or delete, when, and by which rule.  Changes nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.db import transaction

from apps.core.queries import fetch_all, fetch_one
from apps.core.scoping import tenant_transaction
from apps.memories.lifetimes import (
    ARCHIVE_DAYS,
    ARCHIVED,
    DELETED,
    GRACE_DAYS,
    PURGED,
    Rule,
    archive_days,
    grace_days,
    rules_of,
)
from apps.policies.retention import InForce, Level, all_policies, in_force, set_policy
from apps.projects.scope import Environment, Scope

SAMPLE = 100
AHEAD: Final = (0, 30)  # days ahead for which a policy change is previewed


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Memories for which one rule is due on one day (UTC).  step: archived, soft_deleted or purged.

    ids: the first ones.  is_held: they are under a legal hold, and stay until it is lifted.
    """

    day: date
    step: str
    rule: str
    level: str
    target_id: int
    value: int | None
    is_held: bool
    count: int
    ids: list[int]


def preview(
    scope: Scope,
    *,
    until: datetime,
    environment: Environment | None = None,
    project_id: int | None = None,
    sample: int = SAMPLE,
    now: datetime,
) -> list[Leaving]:
    """Return the next step of every memory of the tenant that is due before ``until``, grouped by day.

    An overdue memory counts on the day it was due.  If several rules apply to a memory, the earliest counts.

    project_id: only memories of this project and of no project.  sample: number of ids per group; 0 is much faster.
    """
    with tenant_transaction(scope, snapshot=True):
        policies = all_policies(scope)
        rules, archive = list(rules_of(policies)), archive_days(policies)
        steps, parameters = next_steps(scope, rules, archive, until=until, now=now)
        some = {"most": sample, "environment": environment.value if environment else None, "within": project_id}
        found = fetch_all(
            "select (due at time zone 'UTC')::date, rule, archives, legal_hold, count(*), "  # noqa: S608  (fixed texts of ours)
            f"{'(array_agg(id order by id))[:%(most)s]' if sample else 'null'} from ({steps}) first "
            "group by 1, 2, 3, 4 order by 1, 2, 3, 4",
            parameters | some,
        )
    return [
        _leaving(rules[number], day, archives, is_held, count, ids)
        for day, number, archives, is_held, count, ids in found
    ]


def next_steps(
    scope: Scope, rules: Sequence[Rule], archive: int, *, until: datetime, now: datetime
) -> tuple[str, dict[str, Any]]:
    """Return SQL for the next step of each memory due before ``until``, and its parameters.

    Columns: id, environment, project_id, due, rule (its number), legal_hold, archives (whether the step archives it).
    The caller adds the parameters ``environment`` and ``within``.
    """
    parts: list[str] = []
    parameters: dict[str, Any] = {"archive": archive, "tenant": scope.tenant_id}
    for number, rule in enumerate(rules):
        sql, values = _numbered(scope, rule, number, until=until, archives=archive > 0, now=now)
        parts.append(sql)
        parameters |= values
    every = " union all ".join(parts)
    return f"select distinct on (id) * from ({every}) every order by id, due, rule", parameters  # noqa: S608  (ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """Number of memories by step, due within ``days`` (0: at the next run): under the current and the new policy.

    A memory that takes several steps within these days counts at each.
    """

    days: int
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """Effect of a policy change.  before, after: effective rules at that level.  going: by days ahead, ascending.

    more: for each of ``going``, how many more memories take a step because of the change; negative if fewer do.
    is_earlier: on some day more memories have taken a step than would have without the change.
    """

    before: Mapping[str, InForce]
    after: Mapping[str, InForce]
    going: Sequence[Going]
    more: Sequence[int]
    is_earlier: bool


def preview_change(
    scope: Scope, level: Level, target_id: int, rules: Mapping[str, int], *, loosens: bool = False, now: datetime
) -> PolicyChange:
    """Return the effect of setting these rules.

    Sets the rules, runs the preview and rolls back, so the preview matches the real change.  Raises as ``set_policy``.
    """
    target: dict[str, Any] = {
        "project_id": target_id if level == Level.PROJECT else None,
        "space_ids": [target_id] if level == Level.SPACE else [],
    }

    def look() -> tuple[dict[str, InForce], list[dict[str, int]], Counter[date]]:
        steps = [_steps(scope, until=now + timedelta(days=days), now=now) for days in AHEAD]
        return in_force(scope, **target), steps, _first_steps(scope, now=now)

    with tenant_transaction(scope):
        before, going_before, days_before = look()
        with transaction.atomic():
            set_policy(scope, level, target_id, rules, loosens=loosens, now=now)
            after, going_after, days_after = look()
            transaction.set_rollback(True)
    until = [(now + timedelta(days=days)).date() for days in AHEAD]
    return PolicyChange(
        before=before,
        after=after,
        going=[
            Going(days=days, before=was, after=would)
            for days, was, would in zip(AHEAD, going_before, going_after, strict=True)
        ],
        more=[_by(days_after, day) - _by(days_before, day) for day in until],
        is_earlier=any(_by(days_after, day) > _by(days_before, day) for day in days_after),
    )


def _first_steps(scope: Scope, *, now: datetime) -> Counter[date]:
    """Count memories by the day of their next step; overdue ones today."""
    days: Counter[date] = Counter()
    for one in preview(scope, until=now + timedelta(days=AHEAD[-1]), sample=0, now=now):
        if not one.is_held:
            days[max(one.day, now.date())] += one.count
    return days


def _by(counts: Counter[date], day: date) -> int:
    return sum(count for at, count in counts.items() if at <= day)


def _steps(scope: Scope, *, until: datetime, now: datetime) -> dict[str, int]:
    """Count the steps that memories of the tenant take before ``until``: the next one, and those that follow it."""
    policies = all_policies(scope)
    rules, archive = list(rules_of(policies)), archive_days(policies)
    steps, parameters = next_steps(scope, rules, archive, until=until, now=now)
    some = {
        "environment": None, "within": None, "now": now, "until": until, "grace": grace_days(policies),
        # These rules delete or purge even where the policy archives.
        "ends": [number for number, rule in enumerate(rules) if rule.outcome],
        "purges": [number for number, rule in enumerate(rules) if rule.outcome == PURGED],
    }  # fmt: skip
    row = fetch_one(
        f"with first as ({steps}), going as ("  # noqa: S608  (fixed texts of ours)
        "select greatest(first.due, %(now)s) as due, first.rule = any(%(purges)s) as is_purged, "
        "first.archives and not first.rule = any(%(ends)s) as is_archived, "
        f"{ARCHIVE_DAYS} * interval '1 day' as kept, {GRACE_DAYS} * interval '1 day' as grace "
        "from first join memories_memory memory on memory.tenant_id = %(tenant)s and memory.id = first.id "
        "where not first.legal_hold) "
        "select count(*) filter (where is_archived), "
        "count(*) filter (where not is_purged and (not is_archived or due + kept <= %(until)s)), "
        "count(*) filter (where is_purged or "
        "due + grace + case when is_archived then kept else interval '0' end <= %(until)s) from going",
        parameters | some,
    )
    return dict(zip((ARCHIVED, DELETED, PURGED), row or (), strict=True))


def _numbered(
    scope: Scope, rule: Rule, number: int, *, until: datetime, archives: bool, now: datetime
) -> tuple[str, dict[str, Any]]:
    """Return the SQL of one rule, with parameter names made unique by its number.

    archives: whether the tenant's policy archives.  If not, no project or space can archive either, and the SQL
    skips that check per memory.
    """
    may_archive = f"{ARCHIVE_DAYS} > 0 and memory.retention_status = 'active'" if archives else "false"
    names = rule.parameters(scope.tenant_id, now=now, until=until - rule.lasts)
    own = [name for name in names if name != "tenant"]
    sql = (
        f"select memory.id, memory.environment, memory.project_id, {rule.due} as due, {number} as rule, "  # noqa: S608  (fixed texts of ours)
        f"memory.legal_hold, {may_archive} as archives from memories_memory memory "
        f"where {rule.where()} and (%(environment)s::text is null or memory.environment = %(environment)s) "
        "and (%(within)s::bigint is null or coalesce(memory.project_id, %(within)s) = %(within)s)"
    )
    for name in own:
        sql = sql.replace(f"%({name})s", f"%({name}_{number})s")
    return sql, {f"{name}_{number}": names[name] for name in own}


def _leaving(rule: Rule, day: date, archives: bool, is_held: bool, count: int, ids: list[int] | None) -> Leaving:
    return Leaving(
        day=day,
        step=rule.outcome or (ARCHIVED if archives else DELETED),
        rule=rule.name,
        level=rule.level,
        target_id=rule.target_id,
        value=rule.value,
        is_held=is_held,
        count=count,
        ids=list(ids or ()),
    )
