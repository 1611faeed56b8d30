"""Targets of an erasure (memories, a topic, a space, an end user, a project, a tenant) and their lookup."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from apps.core.errors import Invalid, NotFound
from apps.core.scoping import tenant_transaction
from apps.erasure import hard_delete, shredding
from apps.erasure.models import TargetKind
from apps.erasure.shredding import AlreadyShredded
from apps.memories.models import Memory, MemoryClaim
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Scope, SpaceKind
from apps.projects.selectors import branch_ids, branches_of, get_project
from apps.tenants.models import Tenant

MOST_MEMORIES: Final = 10_000  # given by id


class ErasureTargetNotFound(NotFound):
    """The target of the erasure does not exist.

    memory_ids: of the given memories those that do not exist.
    """

    code = "ERASURE_TARGET_NOT_FOUND"

    def __init__(self, memory_ids: Sequence[int] = ()) -> None:
        super().__init__()
        self.memory_ids: Final = tuple(memory_ids)


class NothingToErase(Invalid):
    """Say what to erase: at least one memory, and ten thousand at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to erase.  Create it with one of the class methods."""

    kind: TargetKind
    memory_ids: tuple[int, ...] = ()
    turn_ids: tuple[int, ...] = ()
    space_uid: uuid.UUID | None = None
    end_user_id: int | None = None
    project: str = ""

    @classmethod
    def memories(cls, memory_ids: Iterable[int]) -> Self:
        """Single memories of the tenant, in any space."""
        return cls(kind=TargetKind.MEMORIES, memory_ids=tuple(sorted(set(memory_ids))))

    @classmethod
    def topic(cls, memory_id: int) -> Self:
        """Everything remembered about the same thing as this memory: all values of its slot and their replacements."""
        return cls(kind=TargetKind.TOPIC, memory_ids=(memory_id,))

    @classmethod
    def session(cls, memory_ids: Iterable[int], turn_ids: Iterable[int]) -> Self:
        """These memories and turns of a session; at least one of either."""
        return cls(
            kind=TargetKind.SESSION, memory_ids=tuple(sorted(set(memory_ids))), turn_ids=tuple(sorted(set(turn_ids)))
        )

    @classmethod
    def space(cls, space_uid: uuid.UUID) -> Self:
        """One space: an end user in one environment."""
        return cls(kind=TargetKind.SPACE, space_uid=space_uid)

    @classmethod
    def end_user(cls, end_user_id: int) -> Self:
        """An end user in every environment, by the id that the API calls ``user_id``."""
        return cls(kind=TargetKind.END_USER, end_user_id=end_user_id)

    @classmethod
    def of_project(cls, public_id: str) -> Self:
        """Every memory of a project, and its pending candidates.  The project itself stays."""
        return cls(kind=TargetKind.PROJECT, project=public_id)

    @classmethod
    def tenant(cls) -> Self:
        """The scope's tenant."""
        return cls(kind=TargetKind.TENANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTarget:
    """A target after its lookup, with its copies in branches.  named: its JSON form, to which receipts commit."""

    named: Mapping[str, Any]
    environment: str = ""
    memory_ids: Sequence[int] = ()
    turn_ids: Sequence[int] = ()
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
                chosen = sorted({*chosen, *hard_delete.copies_of(scope, chosen)})
                copies = _elsewhere(scope, chosen, ids)
            rest = [one for one in chosen if one not in copies]
            named: dict[str, Any] = {"kind": target.kind.value, "tenant": tenant, "memory_ids": rest}
            named |= {"copies": sorted(copies)} if copies else {}
            return FoundTarget(named=named, environment=environment, memory_ids=chosen)
        case TargetKind.SESSION:
            if not (target.memory_ids or target.turn_ids) or len(target.memory_ids) > MOST_MEMORIES:
                raise NothingToErase
            with tenant_transaction(scope):
                environment = _environment(scope, target.memory_ids)
            named = {"kind": target.kind.value, "tenant": tenant}
            named |= {"memory_ids": list(target.memory_ids), "turn_ids": list(target.turn_ids)}
            return FoundTarget(
                named=named, environment=environment, memory_ids=target.memory_ids, turn_ids=target.turn_ids
            )
        case TargetKind.SPACE:
            space = shredding.get_space(scope, target.space_uid or uuid.UUID(int=0))
            with tenant_transaction(scope):
                branches_ = branches_of(scope, [space.uid])
            named = {"kind": "space", "tenant": tenant, "space": str(space.uid)}
            named |= {"branches": [str(one.uid) for one in branches_]} if branches_ else {}
            return FoundTarget(named=named, environment=space.environment, spaces=[space, *branches_])
        case TargetKind.END_USER:
            spaces = _spaces(scope, NAMED_KINDS, target.end_user_id or 0)
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
            spaces = _spaces(scope, (SpaceKind.PROJECT,), project.pk)
            uids = [str(space.uid) for space in spaces]
            named = {"kind": "project", "tenant": tenant, "project": project.public_id, "spaces": uids}
            return FoundTarget(named=named, memory_ids=ids, spaces=spaces)
        case TargetKind.TENANT:
            if not shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id), most=1).rows:
                raise AlreadyShredded
            return FoundTarget(named={"kind": "tenant", "tenant": tenant})


def _environment(scope: Scope, memory_ids: Sequence[int]) -> str:
    """Return these memories' environment, or "" for several.  Raises ErasureTargetNotFound if a memory is missing."""
    found = dict(Memory.objects.within_tenant(scope).filter(pk__in=memory_ids).values_list("pk", "environment"))
    if missing := [one for one in memory_ids if one not in found]:
        raise ErasureTargetNotFound(missing)
    environments = set(found.values())
    return environments.pop() if len(environments) == 1 else ""


def _elsewhere(scope: Scope, memory_ids: Sequence[int], given: Sequence[int]) -> set[int]:
    """Return those of these memories that are in no space of the given ones: copies in branches."""
    mine = Memory.objects.within_tenant(scope)
    spaces = set(mine.filter(pk__in=given).values_list("space_id", flat=True))
    return set(mine.filter(pk__in=memory_ids).exclude(space_id__in=spaces).values_list("pk", flat=True))


def _topic(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """Return every memory of the same slots, their predecessors and successors, and memories with a claim on them.

    The same slots in branches of the space belong to the topic: their keyed hashes are equal.  So do all claims of a
    requested memory.  For a memory reached through one of its claims, its other claims do not extend the topic.
    """
    mine = Memory.objects.within_tenant(scope)
    slots = _slots_of_parts(scope, memory_ids)
    found, newest = set(memory_ids), set(memory_ids)
    reach = _Reach(scope)
    for space_id, claimed in slots:
        newest |= set(mine.filter(space_id__in=reach.of(space_id), slot=claimed).values_list("pk", flat=True))
    found |= newest
    while newest:
        rows = mine.filter(pk__in=newest).values_list("space_id", "slot", "superseded_by_id")
        reached = {after for _, _, after in rows if after is not None}
        reached |= set(mine.filter(superseded_by_id__in=newest).values_list("pk", flat=True))
        for space_id, slot, _ in rows:
            if slot is not None:
                slots.add((space_id, bytes(slot)))
                reached |= set(mine.filter(space_id__in=reach.of(space_id), slot=slot).values_list("pk", flat=True))
        newest = reached - found
        found |= newest
    for space_id, claimed in slots:
        claims = MemoryClaim.objects.within(scope).filter(space_id__in=reach.of(space_id), slot=claimed)
        found |= set(claims.values_list("memory_id", flat=True))
    return sorted(found)


class _Reach:
    """A space and its branches, looked up once for each space."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._known: dict[int, list[int]] = {}

    def of(self, space_id: int) -> list[int]:
        if space_id not in self._known:
            self._known[space_id] = [space_id, *branch_ids(self._scope, space_id)]
        return self._known[space_id]


def _slots_of_parts(scope: Scope, memory_ids: Collection[int]) -> set[tuple[int, bytes]]:
    """Return the space and slot of each claim of these memories; only memories with several claims have rows."""
    claims = MemoryClaim.objects.within(scope).filter(memory_id__in=memory_ids, slot__isnull=False)
    return {(space_id, bytes(slot)) for space_id, slot in claims.values_list("space_id", "slot") if slot is not None}


def _spaces(scope: Scope, kinds: Sequence[SpaceKind], owner_id: int) -> list[Space]:
    with tenant_transaction(scope):
        return list(Space.objects.within(scope).filter(kind__in=kinds, owner_id=owner_id).order_by("pk"))
