"""Notices of upcoming deletions: a week before a period of deletions begins, and again if its first day changes.

A period is a series of days with deletions; it ends when no memory is due for a whole week.  It is announced once,
whatever its length, separately for each environment and project, because webhooks are separate too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.memories.lifetimes import COUNTED, PLATFORM, PURGED, archive_days, rules_of
from apps.policies.retention import Policy
from apps.projects.scope import Scope
from apps.retention.models import RetentionNotice
from apps.retention.previewing import SAMPLE, next_steps
from apps.webhooks.fanout import announce_events
from apps.webhooks.models import WebhookEvent

EXPIRING: Final = "memory.expiring"
DAYS: Final = 7  # notice time before the first deletion

Group = tuple[str, int | None]  # environment and project id; None for no project


@dataclass(slots=True)
class _Going:
    """Memories of one group due within DAYS.  counts: by day; overdue ones count for today.  ids: a sample."""

    counts: dict[date, int] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)

    @property
    def first_on(self) -> date:
        return min(self.counts)

    @property
    def count(self) -> int:
        return sum(self.counts.values())


def announce(scope: Scope, policies: Sequence[Policy], *, now: datetime) -> int:
    """Announce each period that begins within DAYS and is new or has a new first day; return the number announced.

    Only the holder of the tenant's run lease may call it, so that nothing is announced twice.  It does not announce
    memories with their own expiry, soft-deleted ones, or those deleted because of newer values: their deletion is
    expected or cannot be foreseen.
    """
    with tenant_transaction(scope):
        going = _going(scope, policies, now=now)
        known = {(one.environment, one.project_id): one for one in RetentionNotice.objects.within(scope)}
        over = [one.pk for group, one in known.items() if group not in going]
        if over:
            RetentionNotice.objects.within(scope).filter(pk__in=over).delete()
        told = 0
        for group, found in sorted(going.items(), key=lambda one: (one[0][0], one[0][1] or 0)):
            told += _notice(scope, group, found, known.get(group), now=now)
        return told


def list_notices(scope: Scope) -> list[RetentionNotice]:
    """Return the periods of deletions that have begun or begin within DAYS, the earliest first."""
    with tenant_transaction(scope):
        return list(RetentionNotice.objects.within(scope).order_by("first_on", "pk"))


def _going(scope: Scope, policies: Sequence[Policy], *, now: datetime) -> dict[Group, _Going]:
    rules = [
        rule
        for rule in rules_of(policies)
        if rule.level != PLATFORM and rule.name != COUNTED and rule.outcome != PURGED
    ]
    if not rules:
        return {}
    steps, parameters = next_steps(scope, rules, archive_days(policies), until=now + timedelta(days=DAYS), now=now)
    rows = fetch_all(
        "select environment, project_id, greatest((due at time zone 'UTC')::date, %(today)s), count(*), "  # noqa: S608  (fixed texts of ours)
        f"(array_agg(id order by id))[:%(most)s] from ({steps}) first where not legal_hold "
        "group by 1, 2, 3 order by 1, 2, 3",
        parameters | {"environment": None, "within": None, "today": now.date(), "most": SAMPLE},
    )
    found: dict[Group, _Going] = {}
    for environment, project_id, day, count, ids in rows:
        group = found.setdefault((environment, project_id), _Going())
        group.counts[day] = count
        group.ids += ids[: SAMPLE - len(group.ids)]
    return found


def _notice(scope: Scope, group: Group, found: _Going, known: RetentionNotice | None, *, now: datetime) -> bool:
    """Save the group's notice and announce it if it is new.  Return whether it was announced."""
    environment, project_id = group
    row = known or RetentionNotice(
        tenant_id=scope.tenant_id, environment=environment, project_id=project_id, created_at=now
    )
    before = known.first_on if known else None
    has_begun = before is not None and before <= now.date()
    is_news = before is None or (not has_begun and before != found.first_on)
    row.count = found.count
    if is_news:
        row.first_on, row.told_at = found.first_on, now
    row.save()
    if is_news:
        _tell(scope, group, found, before, now=now)
    return is_news


def _tell(scope: Scope, group: Group, found: _Going, before: date | None, *, now: datetime) -> None:
    environment, project_id = group
    data: Mapping[str, Any] = {
        "first_on": found.first_on.isoformat(),
        "days": DAYS,
        "count": found.count,
        "by_day": [{"day": day.isoformat(), "count": count} for day, count in sorted(found.counts.items())],
        "memory_ids": found.ids,
        "moved_from": before.isoformat() if before else None,
        "actor": scope.principal.label,
    }
    event = WebhookEvent(
        type=EXPIRING,
        created_at=now,
        data=data,
        environment=environment,
        project_id=project_id,
        memory_ids=found.ids,
    )
    announce_events(scope, [event])
    record(
        scope,
        actor=scope.principal.label,
        action=AuditAction.RETENTION_NOTICE,
        target=f"project:{project_id}" if project_id else "",
        reason=f"{environment} first_on={found.first_on.isoformat()}",
        count=found.count,
        now=now,
    )
