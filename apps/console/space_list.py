"""Lists the spaces of a tenant, their owners, and the number of memories in each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_tenant
from apps.memories.lineage import NOT_STALE
from apps.memories.spaces import shown_name
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Environment, Scope, SpaceKind, SpaceRef
from apps.projects.selectors import SpaceNotFound
from apps.tenants.models import EXTERNAL_ID, EndUser

COUNTED: Final = 1_000  # most memories counted per space; beyond it the page shows "more than"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A space and its owner.  name: the tenant's own id for the end user or agent; None if the space has neither."""

    space: SpaceRef
    name: Plaintext | None

    @property
    def label(self) -> str:
        """Display name."""
        if self.name is None:
            return f"{self.space.kind.value} {self.space.owner_id}"
        name = shown_name(self.name.reveal())
        branch = f" (branch {self.space.branch})" if self.space.branch else ""
        return f"{name}{branch}" if self.space.kind == SpaceKind.END_USER else f"{self.space.kind.value} {name}{branch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSummary:
    """A space in a list.  count: of current memories, at most COUNTED.  last_at: time of the newest memory."""

    owner: Owner
    count: int
    has_more: bool
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePage:
    """summaries: of this page, newest space first.  next_before: cursor of the next page, if there is one."""

    summaries: Sequence[SpaceSummary]
    next_before: int | None


def list_space_summaries(
    scope: Scope, environment: Environment, *, limit: int, before: int | None = None, now: datetime
) -> SpacePage:
    """The spaces of an environment, newest first.  before: id of a space; only older ones."""
    with tenant_transaction(scope):
        rows = Space.objects.within(scope).filter(environment=environment)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found = [space.ref for space in rows.order_by("-pk")[: limit + 1]]
        page = found[:limit]
        owners, counts = _owners(scope, page), _counts(scope, page, now=now)
    return SpacePage(
        summaries=[
            SpaceSummary(
                owner=owners[space.id],
                count=min(counts[space.id][0], COUNTED),
                has_more=counts[space.id][0] > COUNTED,
                last_at=counts[space.id][1],
            )
            for space in page
        ],
        next_before=page[-1].id if len(found) > limit else None,
    )


def environments_in_use(scope: Scope) -> set[Environment]:
    """Environments in which the tenant has memories."""
    with tenant_transaction(scope):
        rows = fetch_all(
            "select name from unnest(%s::text[]) asked(name) where exists (select from memories_memory memory "
            "where memory.tenant_id = %s and memory.environment = asked.name)",
            [[one.value for one in Environment], scope.tenant_id],
        )
        return {Environment(name) for (name,) in rows}


def find_space(scope: Scope, space_id: int) -> Scope:
    """The scope narrowed to this space of the tenant and its environment.  Raises SpaceNotFound."""
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(pk=space_id).first() if 0 < space_id < 2**63 else None
    if space is None:
        raise SpaceNotFound
    return inside(scope, space.ref)


def spaces_in(scope: Scope, space_ids: Sequence[int]) -> list[SpaceRef]:
    """The ones of these spaces that belong to the tenant."""
    with tenant_transaction(scope):
        return [space.ref for space in Space.objects.within(scope).filter(pk__in=space_ids)]


def inside(scope: Scope, space: SpaceRef) -> Scope:
    """The scope narrowed to this space and its environment."""
    return type(scope)(
        tenant=scope.tenant,
        environment=space.environment,
        principal=scope.principal,
        project_id=scope.project_id,
        permissions=scope.permissions,
        spaces=(space,),
    )


def owner_of(scope: Scope) -> Owner:
    """Owner of the scope's one space."""
    with tenant_transaction(scope):
        return _owners(scope, [scope.space])[scope.space.id]


def owners_of(scope: Scope, spaces: Iterable[SpaceRef]) -> dict[int, Owner]:
    """Owners of these spaces of the tenant, by space id."""
    with tenant_transaction(scope):
        return _owners(scope, {space.id: space for space in spaces}.values())


def names_of(scope: Scope, end_user_ids: Iterable[int]) -> dict[int, str]:
    """Display names of these end users and agents of the tenant, by id; without those that were erased."""
    with tenant_transaction(scope):
        return {pk: shown_name(name.reveal()) for pk, name in _names(scope, end_user_ids).items()}


def _owners(scope: Scope, spaces: Iterable[SpaceRef]) -> dict[int, Owner]:
    """Like ``owners_of``, inside the tenant's transaction."""
    spaces = list(spaces)
    names = _names(scope, [space.owner_id for space in spaces if space.kind in NAMED_KINDS])
    return {
        space.id: Owner(space=space, name=names.get(space.owner_id) if space.kind in NAMED_KINDS else None)
        for space in spaces
    }


def _names(scope: Scope, ids: Iterable[int]) -> dict[int, Plaintext]:
    """Like ``names_of``, inside the tenant's transaction."""
    people = list(EndUser.objects.within(scope).filter(pk__in=list(ids)))
    cipher = open_tenant(scope.tenant) if people else None
    return {row.pk: cipher.open(EXTERNAL_ID, row.pk, bytes(row.external_ct)) for row in people if cipher}


# Reads each space's rows through the index that begins with tenant and space, and no more than are counted.
_COUNTS: Final = f"""
select asked.id,
    (select count(*) from (
        select from memories_memory memory
        where memory.tenant_id = %(tenant)s and memory.space_id = asked.id and memory.retention_status = 'active'
          and memory.validity <> 'superseded' and (memory.expires_at is null or memory.expires_at > %(now)s)
          and {NOT_STALE.replace("%s", "%(now)s")}
        limit %(most)s) counted),
    (select newest.created_at from memories_memory newest
     where newest.tenant_id = %(tenant)s and newest.space_id = asked.id order by newest.id desc limit 1)
from unnest(%(spaces)s::bigint[]) asked(id)
"""  # noqa: S608  (ours)


def _counts(scope: Scope, spaces: Sequence[SpaceRef], *, now: datetime) -> dict[int, tuple[int, datetime | None]]:
    """Number of current memories per space (at most COUNTED + 1), and the time of the newest.  Inside the tenant's
    transaction."""
    ids = [space.id for space in spaces]
    asked: dict[str, Any] = {"tenant": scope.tenant_id, "spaces": ids, "most": COUNTED + 1, "now": now}
    return {space_id: (count, last_at) for space_id, count, last_at in fetch_all(_COUNTS, asked)}
