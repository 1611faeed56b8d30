"""Memories whose text a caller rewrites.  The text of a memory never changes: a newer memory takes its place.

A caller's number of a memory is the id of the first one.  Every later one is in a slot of that number, so that the
number still finds it when the first one is gone.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from django.db.models import Q

from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.memories.lookup_keys import slot_in_group
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import MemoryNotFound, get_memory, readable_memories
from apps.memories.types import TYPES
from apps.projects.scope import Scope

TYPE: Final = "fact"  # of every memory that takes the place of another
_CONTEXT: Final = "first:"  # begins the context of their slot


def context_of(number: int) -> str:
    return f"{_CONTEXT}{number}"


def number_of(memory: OpenedMemory) -> int:
    """The caller's number of a memory: the same for all that take each other's place."""
    is_later = memory.context.startswith(_CONTEXT)
    return int(memory.context.removeprefix(_CONTEXT)) if is_later else memory.id


def get_numbered(scope: Scope, number: int, *, now: datetime) -> OpenedMemory:
    """The current memory with this number in the scope's one space.  Raises MemoryNotFound."""
    while True:
        with tenant_transaction(scope):
            live = Memory.objects.within(scope).live(now)
            named = live.filter(_named(scope, [number])).order_by("-pk") if 0 < number < 2**63 else live.none()
            memory_id = named.values_list("pk", flat=True).first()
        if memory_id is None:
            raise MemoryNotFound
        memory = get_memory(scope, memory_id, now=now)
        if memory.validity != "superseded":  # else it was replaced while it was opened
            return memory


def versions_of(scope: Scope, number: int, *, now: datetime) -> list[OpenedMemory]:
    """Every memory that has or had this number, oldest first; those that fail decryption are left out."""
    return readable_memories(scope, version_ids(scope, [number], now=now), now=now)


def version_ids(scope: Scope, numbers: Collection[int], *, now: datetime) -> list[int]:
    """The ids of every memory of the scope's one space that has or had one of these numbers, oldest first."""
    known = [number for number in numbers if 0 < number < 2**63]
    if not known:
        return []
    with tenant_transaction(scope):
        found = Memory.objects.within(scope).existing(now).filter(_named(scope, known))
        return list(found.order_by("pk").values_list("pk", flat=True))


def _named(scope: Scope, numbers: Collection[int]) -> Q:
    """Memories with one of these numbers.  Their slots are of the first memory's project: the scope's or none."""
    cipher, projects = open_space(scope.tenant, scope.space), {scope.project_id, None}
    if scope.project_id is None:
        first = Memory.objects.within(scope).filter(pk__in=numbers)
        projects |= set(first.values_list("project_id", flat=True))
    group = TYPES[TYPE].group or ""
    slots = [
        slot_in_group(cipher, group, "", project_id=one, context=context_of(number))
        for number in numbers
        for one in projects
    ]
    return Q(pk__in=numbers) | Q(slot__in=slots)
