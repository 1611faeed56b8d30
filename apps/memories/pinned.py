"""Pinned memories, for prompts: returned whatever the question."""

from datetime import datetime
from typing import Final

from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import readable_memories
from apps.projects.scope import Scope

MOST: Final = 5  # in a prompt or an answer


def pinned_memories(scope: Scope, *, now: datetime) -> list[OpenedMemory]:
    """The scope's pinned memories, at most MOST: the most important first, then those changed last.

    Nothing that was replaced, has expired or may be outdated.  Empty without a space.
    """
    found: list[OpenedMemory] = []
    for part in scope.parts():
        with tenant_transaction(part):
            rows = Memory.objects.within(part).live(now).filter(pinned=True, outdated_by_id=None)
            ids = list(rows.order_by("-importance", "-updated_at", "-pk").values_list("pk", flat=True)[:MOST])
        found += readable_memories(part, ids, now=now)
    return sorted(found, key=lambda one: (one.importance, one.updated_at, one.id), reverse=True)[:MOST]
