"""How long memories are kept: what each level says, and which of it holds.

The strictest of what the tenant, the project and the space say holds, rule by rule; where the tenant says nothing, the
deployment's defaults apply.  A rule's value is a whole number.  KEEP limits nothing and is larger than any
other; of ``active_from`` it is an ``AgeFrom``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden, Invalid
from apps.core.locks import lock
from apps.core.prepared_sql import Columns, prepared_cursor
from apps.core.scoping import tenant_transaction
from apps.policies.models import KEEP as KEEP
from apps.policies.models import RULES as RULES
from apps.policies.models import AgeFrom as AgeFrom
from apps.policies.models import Level as Level
from apps.policies.models import RetentionPolicy
from apps.projects.scope import Scope

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
# name: the least and the most that may be said.
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "active_days": (1, 36_500),
    "archive_days": (0, 36_500),
    "grace_days": (0, 7),
    "task_ttl_seconds": (60, 3_153_600_000),
    "event_max_age_seconds": (60, 3_153_600_000),
    "superseded_max_age_seconds": (60, 3_153_600_000),
    "superseded_max_count": (1, 1_000_000),
}
# Those that may also say ``keep``: no limit.
LIMITS: Final = tuple(rule for rule in BOUNDS if rule not in ("archive_days", "grace_days"))
WORDS: Final[Mapping[str, int]] = {"stored": AgeFrom.STORED, "used": AgeFrom.USED}  # of active_from
GRACE_DAYS: Final = 7
# The least that an API key may say: what it makes go can be brought back for a week, and nothing goes within the day.
LEAST_OF_KEYS: Final[Mapping[str, int]] = {
    "grace_days": GRACE_DAYS,
    "task_ttl_seconds": 86_400,
    "event_max_age_seconds": 86_400,
    "superseded_max_age_seconds": 86_400,
}
DEFAULT: Final = "default"  # the level of what the deployment says

_ROW: Final = Columns(RetentionPolicy, "said")
# Each by an index of its own, however many spaces have a policy.
_CONCERNED: Final = f"""
select {_ROW.sql} from policies_retentionpolicy said where said.tenant_id = %s and said.level = 'tenant'
union all
select {_ROW.sql} from policies_retentionpolicy said where said.tenant_id = %s and said.project_id is not null
union all
select {_ROW.sql} from policies_retentionpolicy said where said.tenant_id = %s and said.space_id = any(%s)
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
    """What one level says.  target_id: of the project or the space; 0 otherwise.  rules: those that it says."""

    level: str
    target_id: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """value: None where no level says anything.  level, target_id: whose word it is."""

    rule: str
    value: int | None = None
    level: str = DEFAULT
    target_id: int = 0

    @property
    def limit(self) -> int | None:
        """The number that limits; None where there is no limit."""
        return None if self.rule == "active_from" or self.value == KEEP else self.value

    @property
    def word(self) -> int | str | None:
        return word_of(self.rule, self.value)


def word_of(rule: str, value: int | None) -> int | str | None:
    """A rule's value as people and programs write it: a number, ``keep``, ``used`` or ``stored``."""
    if value is None:
        return None
    if rule == "active_from":
        return next(word for word, known in WORDS.items() if known == value)
    return "keep" if value == KEEP else value


def value_of(rule: str, word: str) -> int:
    """What ``word_of`` gives, read back.  Raises PolicyRefused."""
    if rule == "active_from" and word in WORDS:
        return WORDS[word]
    if rule in LIMITS and word == "keep":
        return KEEP
    if rule not in BOUNDS or not (word.isascii() and word.isdecimal() and len(word) < 11):
        raise PolicyRefused(details=[{"field": rule, "reason": f"is {wanted(rule)}"}])
    return int(word)


def wanted(rule: str) -> str:
    """What may be said of a rule, in words."""
    if rule == "active_from":
        return "used or stored"
    least, most = BOUNDS[rule]
    return f"{least} to {most}{' or keep' if rule in LIMITS else ''}"


def in_words(holds: Mapping[str, InForce]) -> str:
    """What these rules do, in one sentence for anybody."""
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
    """What holds where a tenant says nothing."""
    rules = {
        "active_days": int(settings.RETENTION_DAYS) or KEEP,
        "active_from": int(AgeFrom.USED),
        "archive_days": int(settings.RETENTION_ARCHIVE_DAYS),
        "grace_days": GRACE_DAYS,
    }
    return Policy(level=DEFAULT, rules=rules)


def all_policies(scope: Scope) -> list[Policy]:
    """Of every level of the tenant; the first is the tenant's own, or the default in its place, rule by rule.

    Inside the tenant's transaction.
    """
    return _read(RetentionPolicy.objects.within(scope).order_by("pk"))


def policies_of(scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()) -> list[Policy]:
    """As ``all_policies``, of those that concern this project and these spaces."""
    return of_project(policies_for(scope, space_ids), project_id)


def policies_for(scope: Scope, space_ids: Iterable[int]) -> list[Policy]:
    """As ``all_policies``, of those that concern a memory of these spaces, whichever project it is of."""
    mine = scope.tenant_id
    with prepared_cursor() as cursor:
        cursor.execute(_CONCERNED, [mine, mine, mine, list(space_ids)])
        return _read(_ROW.row(found) for found in cursor.fetchall())


def of_project(policies: Iterable[Policy], project_id: int | None) -> list[Policy]:
    """Without those of other projects."""
    return [one for one in policies if one.level != Level.PROJECT or one.target_id == project_id]


def strictest(policies: Iterable[Policy]) -> dict[str, InForce]:
    """Rule by rule, the least that anybody says.  Of two that say the same, the first."""
    found = {rule: InForce(rule=rule) for rule in RULES}
    for one in policies:
        for rule, value in one.rules.items():
            holds = found[rule].value
            if holds is None or value < holds:
                found[rule] = InForce(rule=rule, value=value, level=one.level, target_id=one.target_id)
    return found


def in_force(scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()) -> dict[str, InForce]:
    """What holds for memories of this project and these spaces, and whose word each rule is."""
    with tenant_transaction(scope):
        return strictest(policies_of(scope, project_id=project_id, space_ids=space_ids))


def explain(
    scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()
) -> tuple[list[Policy], dict[str, InForce]]:
    """What each level says that concerns this project and these spaces, the default's included; and what holds."""
    with tenant_transaction(scope):
        said = policies_of(scope, project_id=project_id, space_ids=space_ids)
    return said, strictest(said)


def list_said(scope: Scope, *, most: int) -> list[Policy]:
    """What projects and spaces of the tenant say, last changed first.  most: of them."""
    with tenant_transaction(scope):
        rows = RetentionPolicy.objects.within(scope).exclude(level=Level.TENANT)
        return [_policy(row) for row in rows.order_by("-updated_at", "-pk")[:most]]


def set_policy(
    scope: Scope, level: Level, target_id: int, rules: Mapping[str, int], *, loosens: bool = False, now: datetime
) -> Policy:
    """Say these rules at this level; what is not named stays as it is said.

    target_id: of the project or the space, which the caller has found in the scope.  loosens: whether more may be kept
    than held before: the person who runs the deployment may say so, and an owner in person.  The audit trail says of
    each rule whether it was loosened or tightened, and what held before.

    Raises PolicyRefused; StricterThanKeysMay, PolicyLoosened or StricterAbove naming each field.
    """
    _check(rules)
    if scope.principal.kind == "api_key":
        _check_key_may(rules)
    with tenant_transaction(scope):
        lock("retention policy", scope.tenant_id)
        target: dict[str, Any] = {level.value: target_id} if level != Level.TENANT else {}
        named = {f"{name}_id": value for name, value in target.items()}
        concerned = policies_of(scope, project_id=named.get("project_id"), space_ids=_some(named.get("space_id")))
        holds = strictest(concerned)
        looser = [name for name, value in rules.items() if _is_looser(value, holds[name].value)]
        if looser and not loosens:
            raise PolicyLoosened(details=[_holder(holds[name]) for name in looser])
        if level != Level.TENANT:
            _check_effect(rules, strictest(one for one in concerned if one.level in (Level.TENANT, DEFAULT)))
        row = RetentionPolicy.objects.within(scope).filter(level=level, **named).first()
        if row is None:
            row = RetentionPolicy(tenant_id=scope.tenant_id, level=level, created_at=now, revision=0, **named)
        for name, value in rules.items():
            setattr(row, name, value)
        row.revision += 1
        row.updated_at, row.updated_by = now, scope.principal.label
        row.save()
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


def _check(rules: Mapping[str, int]) -> None:
    details = [{"field": name, "reason": "is no rule"} for name in rules if name not in RULES]
    for name, value in rules.items():
        if name in RULES and not _is_sayable(name, value):
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


def _is_looser(value: int, holds: int | None) -> bool:
    return holds is not None and value > holds


def _or_nothing(word: int | str | None) -> int | str:
    return "no limit" if word is None else word


def _some(target_id: int | None) -> list[int]:
    return [] if target_id is None else [target_id]


def _read(rows: Iterable[RetentionPolicy]) -> list[Policy]:
    said = [_policy(row) for row in rows]
    own = next((one for one in said if one.level == Level.TENANT), Policy(level=Level.TENANT))
    # The default holds for what the tenant does not say, so that its operator may also say more.
    default = default_policy()
    rest = {name: value for name, value in default.rules.items() if name not in own.rules}
    return [own, Policy(level=DEFAULT, rules=rest), *(one for one in said if one.level != Level.TENANT)]


def _policy(row: RetentionPolicy) -> Policy:
    said = {name: getattr(row, name) for name in RULES}
    return Policy(
        level=row.level,
        target_id=row.project_id or row.space_id or 0,
        rules={name: value for name, value in said.items() if value is not None},
        revision=row.revision,
    )
