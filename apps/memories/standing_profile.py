"""The standing profile of a person: what every answer has to respect, whatever the question."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from apps.core.scoping import tenant_transaction
from apps.memories.claims import facts
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import readable_memories
from apps.memories.validity import AsOf
from apps.projects.scope import Scope

# Attributes of the person in the order of the profile; those that an answer can do harm without come first.
ATTRIBUTES: Final = ("allergy", "medication", "diet", "name", "pronouns", "language")
INSTRUCTION: Final = "instruction"
MOST_FACTS: Final = 200  # read before they are put in order, so that many new ones hide no allergy


def standing_profile(scope: Scope, *, limit: int, now: datetime) -> list[OpenedMemory]:
    """The person's current allergies, medication, diet, name and wishes about answers; at most ``limit``.

    In the order of ATTRIBUTES, then instructions, the newest first.  Nothing that may be outdated.  Empty without
    a space.
    """
    moment = AsOf(at=now, known_at=now)
    stated = facts(scope, about="user", attributes=ATTRIBUTES, moment=moment, limit=MOST_FACTS, now=now)
    stated.sort(key=lambda fact: ATTRIBUTES.index(fact.claim.attribute))
    memories = {fact.memory.id: fact.memory for fact in stated}
    wished = [
        memory
        for part in scope.parts()
        for memory in readable_memories(part, _instructions(part, limit=limit, now=now), now=now)
    ]
    for memory in sorted(wished, key=lambda one: (one.created_at, one.id), reverse=True):
        memories.setdefault(memory.id, memory)
    return [memory for memory in memories.values() if memory.outdated_by is None][:limit]


def _instructions(scope: Scope, *, limit: int, now: datetime) -> Sequence[int]:
    """Ids of the instructions in effect, newest first."""
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).live(now).filter(type=INSTRUCTION)
        return list(rows.order_by("-created_at", "-pk").values_list("pk", flat=True)[:limit])
