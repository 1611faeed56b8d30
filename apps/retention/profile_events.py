"""The audit trail of profiles: what was done to them, by whom and when."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import BigIntegerField, Case, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Cast, Substr

from apps.apikeys.models import ApiKey
from apps.audit.models import AuditEvent
from apps.audit.selectors import LOOKED_THROUGH, AuditFilter
from apps.core.scoping import tenant_transaction
from apps.erasure.receipt_log import erasure_id
from apps.memories.models import MemoryTransition
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import branches_of
from apps.retention.models import ForgetRequest

MEMORY: Final = "memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEvent:
    """One audit row.  space_id: of the profile; None of an event of the namespace itself."""

    seq: int
    at: datetime
    actor: str
    action: str
    target: str
    outcome: str
    reason: str
    count: int
    space_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEventPage:
    """events: oldest first.  next_after: where the next page begins; None at the end of the trail."""

    events: Sequence[ProfileEvent] = ()
    next_after: int | None = None


def list_profile_events(
    scope: Scope,
    space_ids: Collection[int],
    wanted: AuditFilter,
    *,
    others: Collection[str] = (),
    after: int = 0,
    limit: int,
) -> ProfileEventPage:
    """Audit rows about these spaces, their branches and memories, and those with one of the other targets.

    after: a seq; only later rows.  Reads at most LOOKED_THROUGH rows of the tenant per page, as ``browse`` does.
    """
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, seq__isnull=False)
        newest = rows.order_by("-seq").values_list("seq", flat=True).first() or 0
        end = min(after + LOOKED_THROUGH, newest)
        of_branches = _origins(scope, space_ids)
        every = [*space_ids, *of_branches]
        spaces = _targets(scope, every)
        among = _about(scope, every, [*spaces, *others], rows.filter(seq__gt=after, seq__lte=end))
        found = [_event(row, spaces, of_branches) for row in wanted.among(among).order_by("seq")[: limit + 1]]
    page = found[:limit]
    if len(found) > limit:
        return ProfileEventPage(events=page, next_after=page[-1].seq)
    return ProfileEventPage(events=page, next_after=end if end < newest else None)


def _origins(scope: Scope, space_ids: Collection[int]) -> dict[int, int]:
    """The branches of these spaces, each with the space that it is of."""
    uids = dict(Space.objects.within(scope).filter(pk__in=space_ids).values_list("uid", "pk"))
    return {one.pk: uids[one.origin_uid] for one in branches_of(scope, list(uids)) if one.origin_uid}


def _targets(scope: Scope, space_ids: Collection[int]) -> dict[str, int]:
    """Targets of audit rows that mean a space, with the space: itself, its requests, erasures and tokens."""
    found = {f"space:{space_id}": space_id for space_id in space_ids}
    asked = ForgetRequest.objects.within(scope).filter(space_id__in=space_ids)
    for pk, space_id, uid in asked.values_list("pk", "space_id", "erasure_uid"):
        found[f"forget_request:{pk}"] = space_id
        if uid is not None:
            found[erasure_id(uid)] = space_id
    own = Space.objects.within(scope).filter(pk__in=space_ids, branch="")
    owners = dict(own.values_list("owner_id", "pk"))
    tokens = ApiKey.objects.within(scope).filter(profile_id__in=owners)
    of_tokens = {f"api_key:{pk}": owners[owner] for pk, owner in tokens.values_list("pk", "profile_id") if owner}
    return found | of_tokens


def _about(
    scope: Scope, space_ids: Collection[int], targets: Collection[str], rows: QuerySet[AuditEvent]
) -> QuerySet[AuditEvent]:
    """Those with one of these targets, and those of a memory that is or was in one of these spaces."""
    number = Cast(Substr("target", len(MEMORY) + 1), BigIntegerField())
    steps = MemoryTransition.objects.within(scope).filter(space_id__in=space_ids, memory_id=OuterRef("memory_id"))
    # Only digits are cast, whatever the planner evaluates first.
    memory = Case(When(target__regex=r"^memory:[0-9]{1,18}$", then=number), output_field=BigIntegerField())
    rows = rows.annotate(memory_id=memory).annotate(of_space=Subquery(steps.values("space_id")[:1]))
    return rows.filter(Q(target__in=targets) | Q(of_space__isnull=False))


def _event(row: Any, spaces: Mapping[str, int], of_branches: Mapping[int, int]) -> ProfileEvent:
    space_id = spaces.get(row.target, row.of_space)
    return ProfileEvent(
        seq=row.seq,
        at=row.created_at,
        actor=row.actor,
        action=row.action,
        target=row.target,
        outcome=row.outcome,
        reason=row.reason,
        count=row.count,
        space_id=of_branches.get(space_id, space_id),
    )
