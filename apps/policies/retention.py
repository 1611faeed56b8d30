"""Retention policies: the rules set at each level, and the effective rules.

For each rule, the strictest value of the tenant, the project, the namespace and the space applies.  The deployment's
defaults replace rules that the tenant does not set.  A rule's value is an integer.  KEEP means no limit and is larger
than any other value; the value of ``active_from`` is an ``AgeFrom``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden, Invalid
from apps.core.locks import lock
from apps.core.prepared_sql import Columns
from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.policies.models import KEEP as KEEP
from apps.policies.models import RULES as RULES
from apps.policies.models import AgeFrom as AgeFrom
from apps.policies.models import Level as Level
from apps.policies.models import RetentionPolicy
from apps.projects.scope import Scope
from apps.projects.selectors import branch_ids

MEANINGS: Final[Mapping[str, str]] = {
    "active_days": "days a memory is in recall; pinned memories and constraints are exempt",
    "active_from": "start of these days: used (last stated or recalled) or stored",
    "archive_days": "days after that in which it can still be read by ID; 0: none",
    "grace_days": "days from deletion until permanent removal",
    "task_ttl_seconds": "maximum lifetime of a task",
    "event_max_age_seconds": "maximum age of an event",
    "superseded_max_age_seconds": "how long a replaced value is kept after it was replaced",
    "superseded_max_count": "how many replaced values of one fact are kept",
}
# Rule name: smallest and largest value allowed.
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "active_days": (1, 36_500),
    "archive_days": (0, 36_500),
    "grace_days": (0, 7),
    "task_ttl_seconds": (60, 3_153_600_000),
    "event_max_age_seconds": (60, 3_153_600_000),
    "superseded_max_age_seconds": (60, 3_153_600_000),
    "superseded_max_count": (1, 1_000_000),
}
# Rules that may also be set to ``keep``, which means no limit.
LIMITS: Final = tuple(rule for rule in BOUNDS if rule not in ("archive_days", "grace_days"))
WORDS: Final[Mapping[str, int]] = {"stored": AgeFrom.STORED, "used": AgeFrom.USED}  # of active_from
GRACE_DAYS: Final = 7
# Smallest values that an API key may set: its deletions can be undone for a week, and nothing is deleted within a day.
LEAST_OF_KEYS: Final[Mapping[str, int]] = {
    "grace_days": GRACE_DAYS,
    "task_ttl_seconds": 86_400,
    "event_max_age_seconds": 86_400,
    "superseded_max_age_seconds": 86_400,
}
DEFAULT: Final = "default"  # the level of the deployment's defaults
# Rules that a namespace may have: those that do not depend on the memory's use or archive.
OF_NAMESPACE: Final = (
    "grace_days", "task_ttl_seconds", "event_max_age_seconds", "superseded_max_age_seconds", "superseded_max_count",
)  # fmt: skip

_ROW: Final = Columns(RetentionPolicy, "said")
# Each part of the union uses its own index, however many spaces have a policy.
_CONCERNED: Final = f"""
select {_ROW.sql}, null::bigint[] from policies_retentionpolicy said
where said.tenant_id = %(tenant)s and said.level = 'tenant'
union all
select {_ROW.sql}, null::bigint[] from policies_retentionpolicy said
where said.tenant_id = %(tenant)s and said.project_id is not null
union all
select {_ROW.sql}, covered.spaces from (
    select space.namespace_id, array_agg(space.id) as spaces from projects_space space
    where space.tenant_id = %(tenant)s and space.id = any(%(spaces)s) and space.namespace_id is not null group by 1
) covered join policies_retentionpolicy said
  on said.tenant_id = %(tenant)s and said.namespace_id = covered.namespace_id
union all
select {_ROW.sql}, null::bigint[] from policies_retentionpolicy said
where said.tenant_id = %(tenant)s and said.space_id = any(%(spaces)s)
"""  # noqa: S608  (names of our own columns)


class PolicyLoosened(Conflict):
    """This would keep more than the policy in force. Only an owner may loosen it, in person."""

    code = "RETENTION_LOOSENED"


class StricterAbove(Conflict):
    """A wider level is stricter, so this would have no effect: loosen that level first."""

    code = "RETENTION_STRICTER_ABOVE"


class PolicyRefused(Invalid):
    """Name rules of retention, each with a value in its bounds."""


class StricterThanKeysMay(Forbidden):
    """An API key can neither shorten the grace period nor set an age below a day; a person can, in the console."""

    code = "POLICY_BEYOND_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules set at one level.  target_id: id of the project, the namespace or the space; 0 otherwise.

    spaces: of a namespace, those of the spaces in question that are in it.
    """

    level: str
    target_id: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    revision: int = 0
    spaces: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """An effective rule.  value: None if no level sets it.  level, target_id: where the value comes from."""

    rule: str
    value: int | None = None
    level: str = DEFAULT
    target_id: int = 0

    @property
    def limit(self) -> int | None:
        """The limit as a number; None for no limit."""
        return None if self.rule == "active_from" or self.value == KEEP else self.value

    @property
    def word(self) -> int | str | None:
        return word_of(self.rule, self.value)


def word_of(rule: str, value: int | None) -> int | str | None:
    """Return a rule's value in its external form: a number, ``keep``, ``used`` or ``stored``."""
    if value is None:
        return None
    if rule == "active_from":
        return next(word for word, known in WORDS.items() if known == value)
    return "keep" if value == KEEP else value


def value_of(rule: str, word: str) -> int:
    """Parse a value of ``word_of``.  Raises PolicyRefused."""
    if rule == "active_from" and word in WORDS:
        return WORDS[word]
    if rule in LIMITS and word == "keep":
        return KEEP
    if rule not in BOUNDS or not (word.isascii() and word.isdecimal() and len(word) < 11):
        raise PolicyRefused(details=[{"field": rule, "reason": f"is {wanted(rule)}"}])
    return int(word)


def wanted(rule: str) -> str:
    """Return the allowed values of a rule in words."""
    if rule == "active_from":
        return "used or stored"
    least, most = BOUNDS[rule]
    return f"{least} to {most}{' or keep' if rule in LIMITS else ''}"


def in_words(holds: Mapping[str, InForce]) -> str:
    """Describe these rules in one sentence for end users."""
    days, archived = holds["active_days"].limit, holds["archive_days"].limit or 0
    if days is None:
        return "Memories are kept for good: none is deleted because of its age."
    since = "stored" if holds["active_from"].value == AgeFrom.STORED else "last said or recalled"
    if archived:
        return f"Memories are archived {_days(days)} after they were {since}, and deleted {_days(archived)} later."
    return f"Memories are deleted {_days(days)} after they were {since}."


def _days(number: int) -> str:
    return f"{number:,} day{'' if number == 1 else 's'}"


def default_policy() -> Policy:
    """Return the deployment's policy, for rules that a tenant does not set."""
    rules = {
        "active_days": int(settings.RETENTION_DAYS) or KEEP,
        "active_from": int(AgeFrom.USED),
        "archive_days": int(settings.RETENTION_ARCHIVE_DAYS),
        "grace_days": GRACE_DAYS,
    }
    return Policy(level=DEFAULT, rules=rules)


def all_policies(scope: Scope) -> list[Policy]:
    """Return the policies of all levels of the tenant: first its own, then the defaults for rules it does not set.

    Call it inside the tenant's transaction.
    """
    return _read(list(RetentionPolicy.objects.within(scope).order_by("pk")))


def policies_of(scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()) -> list[Policy]:
    """As ``all_policies``, but only policies that apply to this project and these spaces."""
    return of_project(policies_for(scope, space_ids), project_id)


def policies_for(scope: Scope, space_ids: Iterable[int]) -> list[Policy]:
    """As ``all_policies``, but only policies that can apply to memories of these spaces, in any project."""
    found = fetch_all(_CONCERNED, {"tenant": scope.tenant_id, "spaces": list(space_ids)}, prepared=True)
    return _read([_ROW.row(one[: _ROW.count]) for one in found], [frozenset(one[_ROW.count] or ()) for one in found])


def of_project(policies: Iterable[Policy], project_id: int | None) -> list[Policy]:
    """Return the policies without those of other projects."""
    return [one for one in policies if one.level != Level.PROJECT or one.target_id == project_id]


def strictest(policies: Iterable[Policy]) -> dict[str, InForce]:
    """Return the effective value of each rule: the smallest one.  If two are equal, the first policy counts."""
    found = {rule: InForce(rule=rule) for rule in RULES}
    for one in policies:
        for rule, value in one.rules.items():
            holds = found[rule].value
            if holds is None or value < holds:
                found[rule] = InForce(rule=rule, value=value, level=one.level, target_id=one.target_id)
    return found


def in_force(scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()) -> dict[str, InForce]:
    """Return the effective rules for memories of this project and these spaces, with their origin."""
    with tenant_transaction(scope):
        return strictest(policies_of(scope, project_id=project_id, space_ids=space_ids))


def explain(
    scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()
) -> tuple[list[Policy], dict[str, InForce]]:
    """Return the policies that apply to this project and these spaces, defaults included, and the effective rules."""
    with tenant_transaction(scope):
        said = policies_of(scope, project_id=project_id, space_ids=space_ids)
    return said, strictest(said)


def list_said(scope: Scope, *, most: int) -> list[Policy]:
    """Return up to ``most`` policies of the tenant's projects, namespaces and spaces, last changed first."""
    with tenant_transaction(scope):
        rows = RetentionPolicy.objects.within(scope).exclude(level=Level.TENANT)
        return [_policy(row) for row in rows.order_by("-updated_at", "-pk")[:most]]


def set_policy(
    scope: Scope, level: Level, target_id: int, rules: Mapping[str, int | None], *, loosens: bool = False, now: datetime
) -> Policy:
    """Set these rules at this level; None: the level no longer sets the rule.  Other rules do not change.

    target_id: id of the project, namespace or space, which the caller has looked up in the scope.  loosens: allow
    values that keep more than the effective ones; only the operator of the deployment and an owner in person may pass
    it.  An audit event for each rule records whether it was loosened or tightened, and the previous effective value.

    Raises PolicyRefused; StricterThanKeysMay, PolicyLoosened or StricterAbove, with each field in the details.
    """
    _check(level, rules)
    said = {name: value for name, value in rules.items() if value is not None}
    if scope.principal.kind == "api_key":
        _check_key_may(said)
    with tenant_transaction(scope):
        lock("retention policy", scope.tenant_id)
        named = {f"{level.value}_id": target_id} if level != Level.TENANT else {}
        concerned = concerned_by(scope, level, target_id)
        holds = strictest(concerned)
        others = strictest(one for one in concerned if one.level != level)
        after = {name: others[name].value if value is None else value for name, value in rules.items()}
        looser = [name for name, value in after.items() if _is_looser(value, holds[name].value)]
        if looser and not loosens:
            raise PolicyLoosened(details=[_holder(holds[name]) for name in looser])
        if level != Level.TENANT:
            wider = (Level.TENANT, DEFAULT, *([Level.NAMESPACE] if level == Level.SPACE else []))
            _check_effect(said, strictest(one for one in concerned if one.level in wider))
        row = RetentionPolicy.objects.within(scope).filter(level=level, **named).first()
        if row is None:
            row = RetentionPolicy(tenant_id=scope.tenant_id, level=level, created_at=now, revision=0, **named)
        for name, value in rules.items():
            setattr(row, name, value)
        row.revision += 1
        row.updated_at, row.updated_by = now, scope.principal.label
        row.save()
        if level == Level.SPACE:
            for branch_id in branch_ids(scope, target_id):
                _copy(scope, row, branch_id, now=now)
        for name, value in sorted(rules.items()):
            record(
                scope,
                actor=scope.principal.label,
                action=AuditAction.RETENTION_LOOSEN if name in looser else AuditAction.RETENTION_TIGHTEN,
                target=f"{level}:{target_id or scope.tenant_id}",
                reason=f"{name}={word_of(name, value)}, was {_or_nothing(holds[name].word)}",
                now=now,
            )
        return _policy(row)


def concerned_by(scope: Scope, level: Level, target_id: int) -> list[Policy]:
    """The policies that apply to what this level covers, defaults included: its own and those of wider levels.

    Inside the tenant's transaction.
    """
    if level == Level.NAMESPACE:
        mine = (Level.TENANT, DEFAULT)
        return [
            one for one in all_policies(scope) if one.level in mine or (one.level, one.target_id) == (level, target_id)
        ]
    return policies_of(
        scope,
        project_id=target_id if level == Level.PROJECT else None,
        space_ids=[target_id] if level == Level.SPACE else [],
    )


def copy_policy(scope: Scope, space_id: int, branch_id: int, *, now: datetime) -> None:
    """Keep the memories of a branch by the rules of the space that it is made of.  Inside the tenant's transaction."""
    lock("retention policy", scope.tenant_id)
    row = RetentionPolicy.objects.within(scope).filter(space_id=space_id).first()
    if row is not None:
        _copy(scope, row, branch_id, now=now)


def _copy(scope: Scope, row: RetentionPolicy, branch_id: int, *, now: datetime) -> None:
    there = RetentionPolicy.objects.within(scope).filter(space_id=branch_id).first()
    there = there or RetentionPolicy(tenant_id=scope.tenant_id, level=Level.SPACE, space_id=branch_id, created_at=now)
    for name in (*RULES, "revision", "updated_at", "updated_by"):
        setattr(there, name, getattr(row, name))
    there.save()


def _check(level: Level, rules: Mapping[str, int | None]) -> None:
    known = OF_NAMESPACE if level == Level.NAMESPACE else RULES
    details = [{"field": name, "reason": "is no rule"} for name in rules if name not in known]
    for name, value in rules.items():
        if name in known and value is not None and not _is_sayable(name, value):
            details.append({"field": name, "reason": f"is {wanted(name)}"})
    if details or not rules:
        raise PolicyRefused(details=details)


def _check_key_may(rules: Mapping[str, int]) -> None:
    stricter = [name for name, value in rules.items() if value < LEAST_OF_KEYS.get(name, value)]
    if stricter:
        raise StricterThanKeysMay(details=[{"field": name, "least": LEAST_OF_KEYS[name]} for name in stricter])


def _is_sayable(rule: str, value: int) -> bool:
    if rule == "active_from":
        return value in AgeFrom
    least, most = BOUNDS[rule]
    return least <= value <= most or (rule in LIMITS and value == KEEP)


def _check_effect(rules: Mapping[str, int], wider: Mapping[str, InForce]) -> None:
    stricter = [wider[name] for name, value in rules.items() if _is_looser(value, wider[name].value)]
    if stricter:
        raise StricterAbove(details=[_holder(one) for one in stricter])


def _holder(one: InForce) -> dict[str, Any]:
    return {"field": one.rule, "holds": one.word, "level": one.level}


def _is_looser(value: int | None, holds: int | None) -> bool:
    return holds is not None and (value is None or value > holds)


def _or_nothing(word: int | str | None) -> int | str:
    return "no limit" if word is None else word


def _read(rows: Sequence[RetentionPolicy], covered: Sequence[frozenset[int]] = ()) -> list[Policy]:
    """covered: of each row, ``Policy.spaces``."""
    said = [
        replace(_policy(row), spaces=spaces)
        for row, spaces in zip(rows, covered or [frozenset[int]()] * len(rows), strict=True)
    ]
    own = next((one for one in said if one.level == Level.TENANT), Policy(level=Level.TENANT))
    # The defaults apply only to rules that the tenant does not set, so a tenant may also set a larger value.
    default = default_policy()
    rest = {name: value for name, value in default.rules.items() if name not in own.rules}
    return [own, Policy(level=DEFAULT, rules=rest), *(one for one in said if one.level != Level.TENANT)]


def _policy(row: RetentionPolicy) -> Policy:
    said = {name: getattr(row, name) for name in RULES}
    return Policy(
        level=row.level,
        target_id=row.project_id or row.namespace_id or row.space_id or 0,
        rules={name: value for name, value in said.items() if value is not None},
        revision=row.revision,
    )
