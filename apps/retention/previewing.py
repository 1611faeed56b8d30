"""What the retention is going to do: which memories, when, and by whose word.  Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection, transaction

from apps.core.scoping import tenant_transaction
from apps.projects.policies import Level, all_policies, set_policy
from apps.projects.scope import Environment, Scope
from apps.retention.rules import ARCHIVE_DAYS, ARCHIVED, DELETED, PURGED, Rule, archive_days, rules_of

SAMPLE = 100


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
        rules = list(rules_of(policies))
        archive = archive_days(policies)
        parts: list[str] = []
        parameters: dict[str, Any] = {
            "archive": archive, "most": sample, "tenant": scope.tenant_id,
            "environment": environment.value if environment else None, "project": project_id,
        }  # fmt: skip
        for number, rule in enumerate(rules):
            sql, values = _numbered(scope, rule, number, until=until, archives=archive > 0, now=now)
            parts.append(sql)
            parameters |= values
        with connection.cursor() as cursor:
            cursor.execute(
                "select (due at time zone 'UTC')::date, rule, archives, legal_hold, count(*), "  # noqa: S608  (fixed texts of ours)
                f"{'(array_agg(id order by id))[:%(most)s]' if sample else 'null'} from ("
                f"select distinct on (id) * from ({' union all '.join(parts)}) every order by id, due, rule) first "
                "group by 1, 2, 3, 4 order by 1, 2, 3, 4",
                parameters,
            )
            found = cursor.fetchall()
    return [
        _leaving(rules[number], day, archives, is_held, count, ids)
        for day, number, archives, is_held, count, ids in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How many memories the next run takes, by step: as policies are, and as they would be."""

    before: Mapping[str, int]
    after: Mapping[str, int]


def preview_change(scope: Scope, level: Level, target_id: int, rules: Mapping[str, int], *, now: datetime) -> Change:
    """What saying these rules would do at once.  They are said, looked at and taken back, so that what is shown is
    what would be done.  Raises as ``set_policy`` does."""
    with tenant_transaction(scope):
        before = _steps(preview(scope, until=now, sample=0, now=now))
        with transaction.atomic():
            set_policy(scope, level, target_id, rules, now=now)
            after = _steps(preview(scope, until=now, sample=0, now=now))
            transaction.set_rollback(True)
    return Change(before=before, after=after)


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
    sql = (
        f"select memory.id, {rule.due} as due, {number} as rule, memory.legal_hold, "  # noqa: S608  (fixed texts of ours)
        f"{may_archive} as archives from memories_memory memory "
        f"where {rule.where()} and (%(environment)s::text is null or memory.environment = %(environment)s) "
        "and (%(project)s::bigint is null or coalesce(memory.project_id, %(project)s) = %(project)s)"
    )
    for name in ("target", "count", "lasts", "now", "until"):
        sql = sql.replace(f"%({name})s", f"%({name}_{number})s")
    return sql, {f"{name}_{number}": names[name] for name in ("target", "count", "lasts", "now", "until")}


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
