"""What the retention is going to do: which memories, when, and by whose word.  Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from apps.core.scoping import tenant_transaction
from apps.memories.lifetimes import ARCHIVE_DAYS, ARCHIVED, DELETED, PURGED, Rule, archive_days, rules_of
from apps.policies.retention import InForce, Level, all_policies, in_force, set_policy
from apps.projects.scope import Environment, Scope

SAMPLE = 100
AHEAD: Final = (0, 30)  # days that a change of policy is looked at for


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Memories that one rule takes on one day (UTC).  step: archived, soft_deleted or purged.

    ids: the first of them.  is_held: a legal hold keeps them; they go when it is lifted, if that is later.
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
    """The next step of every memory of the tenant that takes one until then, by day; what is overdue counts as of its
    own day.  A memory that several rules take stands with the earliest.

    project_id: only of it and of no project.  sample: how many ids of each, 0 for none, which is much less work.
    """
    with tenant_transaction(scope, snapshot=True):
        policies = all_policies(scope)
        rules, archive = list(rules_of(policies)), archive_days(policies)
        steps, parameters = next_steps(scope, rules, archive, until=until, now=now)
        some = {"most": sample, "environment": environment.value if environment else None, "within": project_id}
        with connection.cursor() as cursor:
            cursor.execute(
                "select (due at time zone 'UTC')::date, rule, archives, legal_hold, count(*), "  # noqa: S608  (fixed texts of ours)
                f"{'(array_agg(id order by id))[:%(most)s]' if sample else 'null'} from ({steps}) first "
                "group by 1, 2, 3, 4 order by 1, 2, 3, 4",
                parameters | some,
            )
            found = cursor.fetchall()
    return [
        _leaving(rules[number], day, archives, is_held, count, ids)
        for day, number, archives, is_held, count, ids in found
    ]


def next_steps(
    scope: Scope, rules: Sequence[Rule], archive: int, *, until: datetime, now: datetime
) -> tuple[str, dict[str, Any]]:
    """SQL, and its parameters but for ``environment`` and ``within``, of the next step of each memory that takes one
    until then: id, environment, project_id, due, the rule's number, legal_hold, and whether it is archived by it."""
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
    """How many memories take a step within so many days (0: with the next run), by step: as policies are, and as they
    would be."""

    days: int
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def more(self) -> int:
        """How many more go than would without the change; below 0: how many fewer."""
        return sum(self.after.values()) - sum(self.before.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """What rules would change.  before, after: what holds at that level, rule by rule.  going: the sooner first."""

    before: Mapping[str, InForce]
    after: Mapping[str, InForce]
    going: Sequence[Going]


def preview_change(
    scope: Scope, level: Level, target_id: int, rules: Mapping[str, int], *, loosens: bool = False, now: datetime
) -> PolicyChange:
    """What saying these rules would do.  They are said, looked at and taken back, so that what is shown is what would
    be done.  Raises as ``set_policy`` does."""
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
    """The rule's part of the question; its parameters have names of their own.  archives: the tenant's policy does, so
    that a project or a space may; where it does not, none of them can, and no memory need be asked."""
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
