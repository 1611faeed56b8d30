"""Preview of the retention: which memories it will archive or delete, when, and by which rule.  Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.db import transaction

from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.memories.lifetimes import ARCHIVE_DAYS, ARCHIVED, DELETED, PURGED, Rule, archive_days, rules_of
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
    """Number of memories by step, due within ``days`` (0: at the next run): under the current and the new policy."""

    days: int
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def more(self) -> int:
        """Number of additional memories due because of the change; negative if fewer are due."""
        return sum(self.after.values()) - sum(self.before.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """Effect of a policy change.  before, after: effective rules at that level.  going: by days ahead, ascending."""

    before: Mapping[str, InForce]
    after: Mapping[str, InForce]
    going: Sequence[Going]


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

    def look() -> tuple[dict[str, InForce], list[dict[str, int]]]:
        ahead = (now + timedelta(days=days) for days in AHEAD)
        steps = [_steps(preview(scope, until=until, sample=0, now=now)) for until in ahead]
        return in_force(scope, **target), steps

    with tenant_transaction(scope):
        before, going_before = look()
        with transaction.atomic():
            set_policy(scope, level, target_id, rules, loosens=loosens, now=now)
            after, going_after = look()
            transaction.set_rollback(True)
    going = [
        Going(days=days, before=was, after=would)
        for days, was, would in zip(AHEAD, going_before, going_after, strict=True)
    ]
    return PolicyChange(before=before, after=after, going=going)


def _steps(found: Sequence[Leaving]) -> dict[str, int]:
    counts = dict.fromkeys((ARCHIVED, DELETED, PURGED), 0)
    for one in found:
        if not one.is_held:
            counts[one.step] += one.count
    return counts


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
