"""Reads memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import NotFound
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space
from apps.memories import integrity
from apps.memories.lifetimes import lifetimes_of
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.rows import existing_rows
from apps.memories.sealing import open_memory
from apps.projects.scope import Scope


class MemoryNotFound(NotFound):
    """Memory not found."""

    code = "MEMORY_NOT_FOUND"


def part_with(scope: Scope, memory_id: int, *, now: datetime) -> Scope:
    """The part of the scope that has this memory.  Raises MemoryNotFound if none has one that can be read."""
    parts = scope.parts() if 0 < memory_id < 2**63 else []
    if len(parts) == 1:
        return parts[0]  # without a query: the caller's own finds whether it has the memory
    for part in parts:
        with tenant_transaction(part):
            if existing_rows(part, [memory_id], now=now):
                return part
    raise MemoryNotFound


def get_memory(scope: Scope, memory_id: int, *, now: datetime) -> OpenedMemory:
    """The memory with this id, if the scope may read it.  Raises MemoryNotFound for absent and foreign alike."""
    scope = part_with(scope, memory_id, now=now)
    space = scope.space
    with tenant_transaction(scope):
        row = next(iter(existing_rows(scope, [memory_id], now=now)), None)
        if row is None:
            raise MemoryNotFound
        cipher, lifetimes = open_space(scope.tenant, space), lifetimes_of(scope, [space.id])
    try:
        return open_memory(row, cipher, space, lifetimes)
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=space.id, now=now)
        raise


def get_memories(scope: Scope, memory_ids: Sequence[int], *, now: datetime) -> list[OpenedMemory]:
    """These memories, each once, in the order given.  Raises MemoryNotFound if the scope may not read one of them."""
    wanted = list(dict.fromkeys(memory_ids))
    if not scope.spaces or not all(0 < memory_id < 2**63 for memory_id in wanted):
        raise MemoryNotFound
    with tenant_transaction(scope):
        rows = {row.pk: row for part in scope.parts() for row in existing_rows(part, wanted, now=now)}
        if len(rows) < len(wanted):
            raise MemoryNotFound
        spaces = {space.id: (space, open_space(scope.tenant, space)) for space in scope.spaces}
        lifetimes = lifetimes_of(scope, spaces)
    opened = []
    for memory_id in wanted:
        space, cipher = spaces[rows[memory_id].space_id]
        try:
            opened.append(open_memory(rows[memory_id], cipher, space, lifetimes))
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=space.id, now=now)
            raise
    return opened


def any_exists(scope: Scope, memory_ids: Sequence[int], *, now: datetime) -> bool:
    """Whether one of these memories of the scope's spaces can be read by id."""
    ids = [memory_id for memory_id in memory_ids if 0 < memory_id < 2**63]
    if not scope.spaces or not ids:
        return False
    with tenant_transaction(scope):
        return bool(existing_rows(scope, ids, now=now))


def readable_memories(scope: Scope, memory_ids: Sequence[int], *, now: datetime) -> list[OpenedMemory]:
    """Those of these memories of the scope's one space that can be read and decrypted, in the order given."""
    if not scope.spaces or not memory_ids:
        return []
    with tenant_transaction(scope):
        by_id = {row.pk: row for row in existing_rows(scope, memory_ids, now=now)}
        cipher, lifetimes = open_space(scope.tenant, scope.space), lifetimes_of(scope, [scope.space.id])
    opened = []
    for row in (by_id[memory_id] for memory_id in memory_ids if memory_id in by_id):
        try:
            opened.append(open_memory(row, cipher, scope.space, lifetimes))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return opened


def replaced_by(scope: Scope, memory_id: int, *, now: datetime) -> list[int]:
    """The ids of the memories that this one replaced and that can still be read, newest first.

    Inside the tenant's transaction.
    """
    replaced = Memory.objects.within(scope).existing(now).filter(superseded_by_id=memory_id)
    return list(replaced.order_by("-pk").values_list("pk", flat=True))


def replacements_among(scope: Scope, memory_ids: Sequence[int]) -> list[tuple[int, int]]:
    """(newer, older) of these memories of the scope's spaces where one replaced the other.

    Inside the tenant's transaction.
    """
    here = Memory.objects.within(scope).filter(pk__in=memory_ids, superseded_by_id__in=memory_ids)
    return list(here.order_by("pk").values_list("superseded_by_id", "pk"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """memories: of this page, newest first, without those that fail decryption.  total: of all pages."""

    memories: Sequence[OpenedMemory] = ()
    total: int = 0


def list_memories(scope: Scope, *, limit: int | None, offset: int = 0, now: datetime) -> MemoryPage:
    """Recallable memories of the scope's spaces, newest first; limit None: all.  Empty without a space."""
    parts = scope.parts()
    if not parts:
        return MemoryPage()
    end = None if limit is None else offset + limit
    begin = offset if len(parts) == 1 else 0  # where the page begins in each part is not known before they are merged
    with tenant_transaction(scope):
        live = [Memory.objects.within(part).live(now) for part in parts]
        total = sum(one.count() for one in live)
        rows = [row for one in live for row in one.order_by("-created_at", "-pk").to_open()[begin:end]]
        spaces = {space.id: (space, open_space(scope.tenant, space)) for space in scope.spaces}
        lifetimes = lifetimes_of(scope, spaces)
    rows.sort(key=lambda row: (row.created_at, row.pk), reverse=True)
    opened = []
    for row in rows[offset - begin : None if end is None else end - begin]:
        space, cipher = spaces[row.space_id]
        try:
            opened.append(open_memory(row, cipher, space, lifetimes))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return MemoryPage(memories=opened, total=total)
