"""This module names what can be erased (memories, a topic, a person, a project, a tenant) and looks it up."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from apps.core.errors import Invalid, NotFound
from apps.core.scoping import tenant_transaction
from apps.erasure import shredding
from apps.erasure.models import TargetKind
from apps.erasure.shredding import AlreadyShredded
from apps.memories.models import Memory, MemoryClaim
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind
from apps.projects.selectors import get_project
from apps.tenants.models import Tenant

MOST_MEMORIES: Final = 10_000  # named one by one


class ErasureTargetNotFound(NotFound):
    """The target of the erasure does not exist."""

    code = "ERASURE_TARGET_NOT_FOUND"


class NothingToErase(Invalid):
    """Say what to erase: at least one memory, and ten thousand at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to erase; made by one of the functions below."""

    kind: TargetKind
    memory_ids: tuple[int, ...] = ()
    space_uid: uuid.UUID | None = None
    end_user_id: int | None = None
    project: str = ""

    @classmethod
    def memories(cls, memory_ids: Iterable[int]) -> Self:
        """Single memories of the tenant, whatever space they are in."""
        return cls(kind=TargetKind.MEMORIES, memory_ids=tuple(sorted(set(memory_ids))))

    @classmethod
    def topic(cls, memory_id: int) -> Self:
        """What was ever remembered of the same thing as this: all values of its slot, and what replaced them."""
        return cls(kind=TargetKind.TOPIC, memory_ids=(memory_id,))

    @classmethod
    def space(cls, space_uid: uuid.UUID) -> Self:
        """A person in one environment."""
        return cls(kind=TargetKind.SPACE, space_uid=space_uid)

    @classmethod
    def end_user(cls, end_user_id: int) -> Self:
        """A person in every environment, by the id that the wire calls ``user_id``."""
        return cls(kind=TargetKind.END_USER, end_user_id=end_user_id)

    @classmethod
    def of_project(cls, public_id: str) -> Self:
        """Every memory of a project, and what waits for it.  The project itself stays."""
        return cls(kind=TargetKind.PROJECT, project=public_id)

    @classmethod
    def tenant(cls) -> Self:
        """The scope's own."""
        return cls(kind=TargetKind.TENANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTarget:
    """What a target is, once it was looked up.  named: as receipts commit to it."""

    named: Mapping[str, Any]
    environment: str = ""
    memory_ids: Sequence[int] = ()
    spaces: Sequence[Space] = ()


def find_target(scope: Scope, target: Target) -> FoundTarget:
    """Look a target up.

    Raises NothingToErase, ErasureTargetNotFound, SpaceNotFound, ProjectNotFound, AlreadyShredded.
    """
    tenant = str(scope.tenant.uid)
    match target.kind:
        case TargetKind.MEMORIES | TargetKind.TOPIC:
            ids = target.memory_ids
            if not 1 <= len(ids) <= MOST_MEMORIES:
                raise NothingToErase
            with tenant_transaction(scope):
                environment = _environment(scope, ids)
                chosen = _topic(scope, ids) if target.kind == TargetKind.TOPIC else list(ids)
            named: dict[str, Any] = {"kind": target.kind.value, "tenant": tenant, "memory_ids": chosen}
            return FoundTarget(named=named, environment=environment, memory_ids=chosen)
        case TargetKind.SPACE:
            space = shredding.get_space(scope, target.space_uid or uuid.UUID(int=0))
            named = {"kind": "space", "tenant": tenant, "space": str(space.uid)}
            return FoundTarget(named=named, environment=space.environment, spaces=[space])
        case TargetKind.END_USER:
            spaces = _spaces(scope, SpaceKind.END_USER, target.end_user_id or 0)
            if not spaces:
                raise ErasureTargetNotFound
            uids = [str(space.uid) for space in spaces]
            named = {"kind": "end_user", "tenant": tenant, "end_user": target.end_user_id, "spaces": uids}
            return FoundTarget(named=named, spaces=spaces)
        case TargetKind.PROJECT:
            project = get_project(scope, target.project)
            with tenant_transaction(scope):
                mine = Memory.objects.within_tenant(scope).filter(project_id=project.pk)
                ids = tuple(mine.order_by("pk").values_list("pk", flat=True))
            spaces = _spaces(scope, SpaceKind.PROJECT, project.pk)
            uids = [str(space.uid) for space in spaces]
            named = {"kind": "project", "tenant": tenant, "project": project.public_id, "spaces": uids}
            return FoundTarget(named=named, memory_ids=ids, spaces=spaces)
        case TargetKind.TENANT:
            if not shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id), most=1).rows:
                raise AlreadyShredded
            return FoundTarget(named={"kind": "tenant", "tenant": tenant})


def _environment(scope: Scope, memory_ids: Sequence[int]) -> str:
    """Of these memories; none where they are of several.  Raises ErasureTargetNotFound where one is not there."""
    there = Memory.objects.within_tenant(scope).filter(pk__in=memory_ids).values_list("environment", flat=True)
    found = list(there)
    if len(found) < len(memory_ids):
        raise ErasureTargetNotFound
    return found[0] if len(set(found)) == 1 else ""


def _topic(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """Every memory of the same slot, what replaced or was replaced by any of them, and what says it among other things.

    Of a memory that says several things, each is the topic where it is named itself, and none but the one asked for
    where that led to it.
    """
    mine = Memory.objects.within_tenant(scope)
    slots = _slots_of_parts(scope, memory_ids)
    found, newest = set(memory_ids), set(memory_ids)
    for space_id, claimed in slots:
        newest |= set(mine.filter(space_id=space_id, slot=claimed).values_list("pk", flat=True))
    found |= newest
    while newest:
        rows = mine.filter(pk__in=newest).values_list("space_id", "slot", "superseded_by_id")
        reached = {after for _, _, after in rows if after is not None}
        reached |= set(mine.filter(superseded_by_id__in=newest).values_list("pk", flat=True))
        for space_id, slot, _ in rows:
            if slot is not None:
                slots.add((space_id, bytes(slot)))
                reached |= set(mine.filter(space_id=space_id, slot=slot).values_list("pk", flat=True))
        newest = reached - found
        found |= newest
    for space_id, claimed in slots:
        claims = MemoryClaim.objects.within(scope).filter(space_id=space_id, slot=claimed)
        found |= set(claims.values_list("memory_id", flat=True))
    return sorted(found)


def _slots_of_parts(scope: Scope, memory_ids: Collection[int]) -> set[tuple[int, bytes]]:
    """Space and slot of each claim of these memories, where they say several things."""
    claims = MemoryClaim.objects.within(scope).filter(memory_id__in=memory_ids, slot__isnull=False)
    return {(space_id, bytes(slot)) for space_id, slot in claims.values_list("space_id", "slot") if slot is not None}


def _spaces(scope: Scope, kind: SpaceKind, owner_id: int) -> list[Space]:
    with tenant_transaction(scope):
        return list(Space.objects.within(scope).filter(kind=kind, owner_id=owner_id).order_by("pk"))
