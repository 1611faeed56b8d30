"""What a memory replaced, whom it mentions and which turns or documents say it: read for one memory, not for lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.scoping import tenant_transaction
from apps.entities.opened import OpenedEntity
from apps.entities.selectors import entities_in
from apps.ingest.source_links import sources_of
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import get_memory, part_with, replaced_by
from apps.projects.scope import Scope
from apps.sources.sealing import OpenedObject
from apps.sources.selectors import object_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMemory:
    """supersedes: ids of the memories that it replaced, newest first.  participants: the entities that it mentions.

    source_ids: of turns and state items with the same content, in order.  source_object: the document that states it.
    """

    memory: OpenedMemory
    supersedes: Sequence[int]
    participants: Sequence[OpenedEntity]
    source_ids: Sequence[int]
    source_object: OpenedObject | None


def describe_memory(scope: Scope, memory_id: int, *, now: datetime) -> DescribedMemory:
    """As ``get_memory``, with its details.  Raises MemoryNotFound."""
    scope = part_with(scope, memory_id, now=now)
    with tenant_transaction(scope):
        return DescribedMemory(
            memory=get_memory(scope, memory_id, now=now),
            supersedes=replaced_by(scope, memory_id, now=now),
            participants=entities_in(scope, memory_id, now=now),
            source_ids=sources_of(scope, memory_id),
            source_object=object_of(scope, memory_id, now=now),
        )
