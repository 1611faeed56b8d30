"""How long memories are kept: what each level says, and which of it holds.

The strictest of what the tenant, the project and the space say holds, rule by rule; where the tenant says nothing, the
deployment's defaults stand in its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import Q

from apps.audit.services import record
from apps.core.errors import Conflict, Invalid
from apps.core.locks import lock
from apps.core.scoping import tenant_transaction
from apps.projects.models import RULES as RULES
from apps.projects.models import Level as Level
from apps.projects.models import RetentionPolicy
from apps.projects.scope import Scope

MEANINGS: Final[Mapping[str, str]] = {
    "active_days": "days a memory is in recall; pinned ones and constraints are exempt",
    "archive_days": "days after that in which it can still be read by its id; 0: none",
    "grace_days": "days from its deletion until it is gone for good",
    "task_ttl_seconds": "what a task may last at most",
    "event_max_age_seconds": "how old an event may grow",
    "superseded_max_age_seconds": "how long a replaced value is kept after it was replaced",
    "superseded_max_count": "how many replaced values of one thing are kept",
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
GRACE_DAYS: Final = 7
DEFAULT: Final = "default"  # the level of what the deployment says


class PolicyLoosened(Conflict):
    """A policy can be made stricter, and not looser than what holds already."""

    code = "RETENTION_LOOSENED"


class PolicyRefused(Invalid):
    """Name rules of retention, each with a whole number in its bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What one level says.  target_id: of the project or the space; 0 otherwise.  rules: those that it says."""

    level: str
    target_id: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """value: None where no level limits this.  level, target_id: whose word it is."""

    rule: str
    value: int | None = None
    level: str = DEFAULT
    target_id: int = 0


def default_policy() -> Policy:
    """What holds where a tenant says nothing."""
    rules = {"archive_days": int(settings.RETENTION_ARCHIVE_DAYS), "grace_days": GRACE_DAYS}
    if settings.RETENTION_DAYS:
        rules["active_days"] = int(settings.RETENTION_DAYS)
    return Policy(level=DEFAULT, rules=rules)


def all_policies(scope: Scope) -> list[Policy]:
    """Of every level of the tenant; the first is the tenant's own, or the default in its place, rule by rule.

    Inside the tenant's transaction.
    """
    return _read(RetentionPolicy.objects.within(scope).order_by("pk"))


def policies_of(scope: Scope, *, project_id: int | None, space_ids: Iterable[int] = ()) -> list[Policy]:
    """As ``all_policies``, of those that concern this project and these spaces."""
    concerned = Q(level=Level.TENANT) | Q(project_id=project_id, project_id__isnull=False)
    rows = RetentionPolicy.objects.within(scope).filter(concerned | Q(space_id__in=list(space_ids)))
    return _read(rows.order_by("pk"))


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


def task_ttl_cap(scope: Scope) -> int | None:
    """Seconds that a task of the scope's project and spaces may last.  Inside the tenant's transaction."""
    spaces = [space.id for space in scope.spaces]
    return strictest(policies_of(scope, project_id=scope.project_id, space_ids=spaces))["task_ttl_seconds"].value


def set_policy(
    scope: Scope, level: Level, target_id: int, rules: Mapping[str, int], *, loosens: bool = False, now: datetime
) -> Policy:
    """Say these rules at this level; what is not named stays as it is said.

    target_id: of the project or the space, which the caller has found in the scope.  loosens: whoever runs the
    deployment may also say more than held; nobody else.  Raises PolicyRefused; PolicyLoosened naming each field.
    """
    _check(rules)
    with tenant_transaction(scope):
        lock("retention policy", scope.tenant_id)
        target: dict[str, Any] = {level.value: target_id} if level != Level.TENANT else {}
        named = {f"{name}_id": value for name, value in target.items()}
        holds = strictest(
            policies_of(scope, project_id=named.get("project_id"), space_ids=_some(named.get("space_id")))
        )
        looser = [name for name, value in rules.items() if _is_looser(value, holds[name].value)]
        if looser and not loosens:
            raise PolicyLoosened(details=[{"field": name, "holds": holds[name].value} for name in looser])
        row = RetentionPolicy.objects.within(scope).filter(level=level, **named).first()
        if row is None:
            row = RetentionPolicy(tenant_id=scope.tenant_id, level=level, created_at=now, revision=0, **named)
        for name, value in rules.items():
            setattr(row, name, value)
        row.revision += 1
        row.updated_at, row.updated_by = now, scope.principal.label
        row.save()
        record(
            scope,
            actor=scope.principal.label,
            action="retention.loosen" if looser else "retention.tighten",
            target=f"{level}:{target_id or scope.tenant_id}",
            reason=" ".join(f"{name}={value}" for name, value in sorted(rules.items()))[:64],
            now=now,
        )
        return _policy(row)


def _check(rules: Mapping[str, int]) -> None:
    details = [{"field": name, "reason": "is no rule"} for name in rules if name not in BOUNDS]
    for name, value in rules.items():
        least, most = BOUNDS.get(name, (value, value))
        if not least <= value <= most:
            details.append({"field": name, "reason": f"is {least} to {most}"})
    if details or not rules:
        raise PolicyRefused(details=details)


def _is_looser(value: int, holds: int | None) -> bool:
    return holds is not None and value > holds


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
