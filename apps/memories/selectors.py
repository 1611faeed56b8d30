"""Reading memories: the one door for each question."""

from datetime import datetime

from apps.core.errors import NotFound
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space
from apps.memories import integrity
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.projects.scope import Scope


class MemoryNotFound(NotFound):
    """Memory not found."""

    code = "MEMORY_NOT_FOUND"


def get_memory(scope: Scope, memory_id: int, *, now: datetime) -> OpenedMemory:
    """The memory with this id, if it is this scope's to read.  Raises MemoryNotFound for absent and foreign alike."""
    if not scope.spaces or not 0 < memory_id < 2**63:
        raise MemoryNotFound
    with tenant_transaction(scope):
        row = Memory.objects.within(scope).existing(now).filter(pk=memory_id).to_open().first()
    space = next((space for space in scope.spaces if row is not None and space.id == row.space_id), None)
    if row is None or space is None:
        raise MemoryNotFound
    try:
        return open_memory(row, open_space(scope.tenant, space), space)
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=space.id, now=now)
        raise
