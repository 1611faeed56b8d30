"""What falls due, by which rule and when: the one place that the sweep and the preview read it from.

The strictest rule wins by itself: each level's rule is looked at alone, and a memory is due when any of them says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from apps.ingest.steps.encrypt import ACTIVE_DAYS
from apps.projects.policies import DEFAULT, Level, Policy

ARCHIVED, DELETED, PURGED = "archived", "soft_deleted", "purged"
PLATFORM: Final = "platform"  # the level of what the memory itself says

_AGES: Final = "not memory.pinned and memory.type <> 'constraint'"
_THERE: Final = "memory.retention_status in ('active', 'archived')"


@dataclass(frozen=True, slots=True)
class Kind:
    """since: the column that it counts from.  when: which memories.  outcome: "" for what is archived, if the policy
    archives, and deleted otherwise."""

    since: str
    when: str
    outcome: str


KINDS: Final[Mapping[str, Kind]] = {
    "ttl": Kind("memory.expires_at", _THERE, DELETED),
    # Pushed on where a summary is made anew: what it says is as old as that.
    "active_days": Kind(
        "memory.retention_expires_at",
        f"{_THERE} and (memory.retention_status = 'active' or memory.archive_at is null) and {_AGES}",
        "",
    ),
    "archive_days": Kind("memory.archive_at", "memory.retention_status = 'archived'", DELETED),
    "event_max_age_seconds": Kind("memory.created_at", f"memory.type = 'event' and {_THERE} and {_AGES}", DELETED),
    "superseded_max_age_seconds": Kind(
        "memory.superseded_at", f"memory.validity = 'superseded' and {_THERE} and {_AGES}", DELETED
    ),
    "grace": Kind(
        "memory.hard_delete_at", "memory.retention_status in ('soft_deleted', 'hard_delete_pending')", PURGED
    ),
    "grace_days": Kind(
        "memory.deleted_at", "memory.retention_status in ('soft_deleted', 'hard_delete_pending')", PURGED
    ),
}
# Of each thing, the newest replaced values that are kept do not count.
_RANKED: Final = """memory.id in (
    select ranked.id from (
        select replaced.id, row_number() over (
            partition by replaced.space_id, replaced.slot order by replaced.superseded_at desc, replaced.id desc
        ) as place
        from memories_memory replaced
        where replaced.tenant_id = %(tenant)s and replaced.validity = 'superseded' and replaced.slot is not null
          and replaced.retention_status in ('active', 'archived')
    ) ranked where ranked.place > %(count)s)"""
_BEYOND: Final = f"{_RANKED} and {_THERE} and not memory.pinned"
COUNTED: Final = "superseded_max_count"

# Days in the archive: the least that any level says.  Parameters: tenant, archive.
ARCHIVE_DAYS: Final = """least(%(archive)s, (
    select said.archive_days from projects_retentionpolicy said
    where said.tenant_id = %(tenant)s and said.project_id = memory.project_id), (
    select said.archive_days from projects_retentionpolicy said
    where said.tenant_id = %(tenant)s and said.space_id = memory.space_id))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of one level.  value: of the days, seconds or count it says; None where the memory says when."""

    name: str
    level: str
    target_id: int = 0
    value: int | None = None

    @property
    def outcome(self) -> str:
        return DELETED if self.name == COUNTED else KINDS[self.name].outcome

    @property
    def lasts(self) -> timedelta:
        """From the moment that the rule counts from, to when it is due."""
        if self.value is None:
            return timedelta(0)
        if self.name == "active_days":
            return timedelta(days=self.value - ACTIVE_DAYS)
        return timedelta(seconds=self.value) if self.name.endswith("_seconds") else timedelta(days=self.value)

    @property
    def due(self) -> str:
        """SQL: when a memory is due.  Parameters: now, lasts."""
        return "%(now)s::timestamptz" if self.name == COUNTED else f"{KINDS[self.name].since} + %(lasts)s"

    @property
    def order(self) -> str:
        """SQL: what has been due longest comes first, where the rule counts from a time."""
        return "memory.id" if self.name == COUNTED else KINDS[self.name].since

    def where(self) -> str:
        """SQL: which memories are due until then.  Parameters: tenant, target, count, until."""
        conditions = ["memory.tenant_id = %(tenant)s"]
        if self.name == COUNTED:
            conditions.append(_BEYOND)
        else:
            conditions += [KINDS[self.name].when, f"{KINDS[self.name].since} <= %(until)s"]
        if self.level == Level.PROJECT:
            conditions.append("memory.project_id = %(target)s")
        if self.level == Level.SPACE:
            conditions.append("memory.space_id = %(target)s")
        return " and ".join(conditions)

    def parameters(self, tenant_id: int, **more: Any) -> dict[str, Any]:
        return {"tenant": tenant_id, "target": self.target_id, "count": self.value, "lasts": self.lasts} | more

    def __str__(self) -> str:
        return f"{self.level}{f' {self.target_id}' if self.target_id else ''}: {self.name}" + (
            "" if self.value is None else f"={self.value}"
        )


def rules_of(policies: Sequence[Policy]) -> Iterator[Rule]:
    """In the order in which they are done."""
    yield Rule(name="ttl", level=PLATFORM)
    for name in (*(one for one in KINDS if one not in ("ttl", "grace", "grace_days")), COUNTED):
        yield from _said(policies, name)
    yield Rule(name="grace", level=PLATFORM)
    # What the deployment says of the grace stands in each deleted memory already.
    yield from (rule for rule in _said(policies, "grace_days") if rule.level != DEFAULT)


def archive_days(policies: Sequence[Policy]) -> int:
    """What holds for a memory of no project or space that says anything."""
    said = (one.rules.get("archive_days") for one in policies if one.level in (Level.TENANT, DEFAULT))
    return min((days for days in said if days is not None), default=0)


def _said(policies: Sequence[Policy], name: str) -> Iterator[Rule]:
    for one in policies:
        if name in one.rules:
            yield Rule(name=name, level=one.level, target_id=one.target_id, value=one.rules[name])
