"""Lifetimes of memories: what each retention rule counts from, for how long, and which memories it covers.

This arithmetic is only here.  The sweep and the preview use it as SQL; what a response shows of a memory is computed
here from its row.  Each level's rule is evaluated alone, and a memory is due when any rule says so, so the strictest
rule wins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.memories.models import Memory
from apps.policies.retention import DEFAULT, KEEP, AgeFrom, Level, Policy, policies_for
from apps.projects.scope import Scope

ARCHIVED, DELETED, PURGED = "archived", "soft_deleted", "purged"
PLATFORM: Final = "platform"  # the level of rules whose time the memory itself stores

_AGES: Final = "not memory.pinned and memory.type <> 'constraint'"
_THERE: Final = "memory.retention_status in ('active', 'archived')"
_GONE: Final = "memory.retention_status in ('soft_deleted', 'hard_delete_pending')"


@dataclass(frozen=True, slots=True)
class LifetimeKind:
    """One kind of lifetime.

    since: columns; it counts from the latest that is not null.  when: the memories covered, as SQL.  applies: the same
    for a row.  outcome: "" means archived if the policy archives, and deleted otherwise.
    """

    since: Sequence[str]
    when: str
    applies: Callable[[Memory], bool]
    outcome: str

    @property
    def start(self) -> str:
        """SQL: the moment from which it counts."""
        columns = ", ".join(f"memory.{name}" for name in self.since)
        return f"greatest({columns})" if len(self.since) > 1 else columns

    def start_of(self, row: Memory) -> datetime | None:
        return max((at for name in self.since if (at := getattr(row, name)) is not None), default=None)


def _ages(row: Memory) -> bool:
    return not row.pinned and row.type != "constraint"


def _is_there(row: Memory) -> bool:
    return row.retention_status in ("active", "archived")


def _is_gone(row: Memory) -> bool:
    return row.retention_status in ("soft_deleted", "hard_delete_pending")


def _is_in_recall(row: Memory) -> bool:
    """Whether the recall period still runs.

    Memories imported as archived have no ``archive_at``: their archive period begins when their recall period would
    end.
    """
    return row.retention_status == "active" or (row.retention_status == "archived" and row.archive_at is None)


_IN_RECALL: Final = f"{_THERE} and (memory.retention_status = 'active' or memory.archive_at is null) and {_AGES}"

KINDS: Final[Mapping[str, LifetimeKind]] = {
    "ttl": LifetimeKind(("expires_at",), _THERE, _is_there, DELETED),
    "active_days": LifetimeKind(
        ("created_at", "last_used_at"), _IN_RECALL, lambda row: _is_in_recall(row) and _ages(row), ""
    ),
    "archive_days": LifetimeKind(
        ("archive_at",),
        "memory.retention_status = 'archived'",
        lambda row: row.retention_status == "archived",
        DELETED,
    ),
    "event_max_age_seconds": LifetimeKind(
        ("created_at",),
        f"memory.type = 'event' and {_THERE} and {_AGES}",
        lambda row: row.type == "event" and _is_there(row) and _ages(row),
        DELETED,
    ),
    "superseded_max_age_seconds": LifetimeKind(
        ("superseded_at",),
        f"memory.validity = 'superseded' and {_THERE} and {_AGES}",
        lambda row: row.validity == "superseded" and _is_there(row) and _ages(row),
        DELETED,
    ),
    "grace": LifetimeKind(("hard_delete_at",), _GONE, _is_gone, PURGED),
    "grace_days": LifetimeKind(("deleted_at",), _GONE, _is_gone, PURGED),
}
# For policies that count the age from when a memory was stored, regardless of its use.
_FROM_STORED: Final = LifetimeKind(("created_at",), _IN_RECALL, KINDS["active_days"].applies, "")
# In each slot, all superseded values but the newest ``count``.
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

_IN_NAMESPACE: Final = """memory.space_id in (
    select space.id from projects_space space
    where space.tenant_id = %(tenant)s and space.namespace_id = %(namespace)s)"""
# Days in the archive: the minimum of all levels.  Parameters: tenant, archive.
ARCHIVE_DAYS: Final = """least(%(archive)s, (
    select said.archive_days from policies_retentionpolicy said
    where said.tenant_id = %(tenant)s and said.project_id = memory.project_id), (
    select said.archive_days from policies_retentionpolicy said
    where said.tenant_id = %(tenant)s and said.space_id = memory.space_id))"""
# The same for days from deletion to the purge.  Parameters: tenant, grace.
GRACE_DAYS: Final = ARCHIVE_DAYS.replace("archive_days", "grace_days").replace("(archive)", "(grace)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of one level.  value: its days, seconds or count; None if the memory stores the time.

    is_from_stored: for ``active_days``: counted from when the memory was stored, because this level or the level
    ``also`` says so.  also: (level, target_id); the rule covers only memories of both levels.  spaces: of a namespace,
    those in question that are in it, for ``due_of``.
    """

    name: str
    level: str
    target_id: int = 0
    value: int | None = None
    is_from_stored: bool = False
    also: tuple[str, int] = (DEFAULT, 0)
    spaces: frozenset[int] = frozenset()

    @property
    def kind(self) -> LifetimeKind:
        return _FROM_STORED if self.is_from_stored else KINDS[self.name]

    @property
    def outcome(self) -> str:
        return DELETED if self.name == COUNTED else self.kind.outcome

    @property
    def lasts(self) -> timedelta:
        """The time between the moment from which the rule counts and the moment at which a memory is due."""
        if self.value is None:
            return timedelta(0)
        return timedelta(seconds=self.value) if self.name.endswith("_seconds") else timedelta(days=self.value)

    @property
    def due(self) -> str:
        """SQL: when a memory is due.  Parameters: now, lasts."""
        return "%(now)s::timestamptz" if self.name == COUNTED else f"{self.kind.start} + %(lasts)s"

    @property
    def order(self) -> str:
        """SQL sort key: the longest due first, if the rule counts from a time."""
        return "memory.id" if self.name == COUNTED else self.kind.start

    @property
    def targets(self) -> Mapping[str, int]:
        """By level, the project, the namespace and the space that the rule is limited to."""
        both = ((self.level, self.target_id), self.also)
        limited = (Level.PROJECT, Level.NAMESPACE, Level.SPACE)
        return {level: target_id for level, target_id in both if level in limited}

    def due_of(self, row: Memory) -> datetime | None:
        """When this rule is due for the memory; None if it does not cover the memory, or works by count."""
        if self.name == COUNTED:
            return None
        kind = self.kind
        if not kind.applies(row) or not (_covers(self.level, self.target_id, row) and _covers(*self.also, row)):
            return None
        if self.level == Level.NAMESPACE and row.space_id not in self.spaces:
            return None
        start = kind.start_of(row)
        return None if start is None else start + self.lasts

    def where(self) -> str:
        """SQL: the memories due by ``until``.  Parameters: tenant, project, namespace, space, count, until."""
        conditions = ["memory.tenant_id = %(tenant)s"]
        if self.name == COUNTED:
            conditions.append(_BEYOND)
        else:
            conditions += [self.kind.when, f"{self.kind.start} <= %(until)s"]
        if Level.PROJECT in self.targets:
            conditions.append("memory.project_id = %(project)s")
        if Level.NAMESPACE in self.targets:
            conditions.append(_IN_NAMESPACE)
        if Level.SPACE in self.targets:
            conditions.append("memory.space_id = %(space)s")
        return " and ".join(conditions)

    def parameters(self, tenant_id: int, **more: Any) -> dict[str, Any]:
        of = {level.value: self.targets.get(level) for level in (Level.PROJECT, Level.NAMESPACE, Level.SPACE)}
        return {"tenant": tenant_id, "count": self.value, "lasts": self.lasts} | of | more

    def __str__(self) -> str:
        return f"{self.level}{f' {self.target_id}' if self.target_id else ''}: {self.name}" + (
            "" if self.value is None else f"={self.value}"
        )


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long memories are kept under the rules of some policies."""

    rules: Sequence[Rule]

    def until(self, row: Memory) -> datetime | None:
        """When the next automatic step of the memory is due: to archived, from there to deleted, from there to purged.

        None if no rule limits it or a legal hold applies.  Steps by the number of newer values cannot be predicted.
        """
        step = self.next_step(row)
        return None if step is None else step[0]

    def next_step(self, row: Memory) -> tuple[datetime, Rule] | None:
        """As ``until``, with the rule that is due; of several due at the same time, the first."""
        if row.legal_hold:
            return None
        due = [(at, rule) for rule in self.rules if (at := rule.due_of(row)) is not None]
        return min(due, key=lambda one: one[0], default=None)


def _covers(level: str, target_id: int, row: Memory) -> bool:
    if level == Level.PROJECT:
        return row.project_id == target_id
    return level != Level.SPACE or row.space_id == target_id


def lifetimes_of(scope: Scope, space_ids: Iterable[int]) -> Lifetimes:
    """The lifetimes of the memories of these spaces.  Inside the tenant's transaction."""
    return Lifetimes(list(rules_of(policies_for(scope, space_ids))))


def rules_of(policies: Sequence[Policy]) -> Iterator[Rule]:
    """The rules of these policies, in the order in which they are applied."""
    yield Rule(name="ttl", level=PLATFORM)
    yield from _active_days(policies)
    for name in ("archive_days", "event_max_age_seconds", "superseded_max_age_seconds", COUNTED):
        yield from _said(policies, name)
    yield Rule(name="grace", level=PLATFORM)
    # Each deleted memory already stores the deployment's grace period.
    yield from (rule for rule in _said(policies, "grace_days") if rule.level != DEFAULT)


def archive_days(policies: Sequence[Policy]) -> int:
    """Days in the archive for a memory whose project and space set no rule."""
    return _days(policies, "archive_days")


def grace_days(policies: Sequence[Policy]) -> int:
    """Days from deletion to the purge for a memory whose project and space set no rule."""
    return _days(policies, "grace_days")


def _days(policies: Sequence[Policy], rule: str) -> int:
    said = (one.rules.get(rule) for one in policies if one.level in (Level.TENANT, DEFAULT))
    return min((days for days in said if days is not None), default=0)


def _said(policies: Sequence[Policy], name: str) -> Iterator[Rule]:
    for one in policies:
        if one.rules.get(name, KEEP) != KEEP:
            yield Rule(
                name=name, level=one.level, target_id=one.target_id, value=one.rules[name], spaces=one.spaces
            )  # fmt: skip


def _active_days(policies: Sequence[Policy]) -> Iterator[Rule]:
    """Each level's ``active_days``, counted from the last use, or from storing wherever a level says so."""
    stored = [(one.level, one.target_id) for one in policies if one.rules.get("active_from") == AgeFrom.STORED]
    for rule in _said(policies, "active_days"):
        mine = (rule.level, rule.target_id)
        everywhere = [also for also in stored if also[0] in (Level.TENANT, DEFAULT) or also == mine]
        if not everywhere:
            yield rule
        for level, target_id in everywhere[:1] or stored:
            if level != rule.level or (level, target_id) == mine:
                yield Rule(
                    name=rule.name, level=rule.level, target_id=rule.target_id, value=rule.value, is_from_stored=True,
                    also=(level, target_id),
                )  # fmt: skip
