"""Replace the vectors of another embedder, after the setting changed.

The work itself is in outbox events, one for each memory: it survives a restart, is retried, and can be requested again.
Until its turn, a memory is found by its words, entities and times; vectors of different embedders are never compared.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Q

from apps.core.scoping import tenant_transaction
from apps.memories.models import MemoryVector
from apps.memories.typed import OF_CALLER
from apps.outbox.services import enqueue
from apps.projects.scope import Scope

BATCH: Final = 5_000  # events requested in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCounts:
    """Vectors of a tenant: all of them, and those of another embedder than ``embedder``."""

    embedder: str
    total: int
    outdated: int


def count_vectors(scope: Scope, *, embedder: str) -> VectorCounts:
    """scope: of the tenant.  embedder: id of the configured one."""
    with tenant_transaction(scope):
        counts = MemoryVector.objects.within(scope).aggregate(
            total=Count("pk"), outdated=Count("pk", filter=_outdated(embedder))
        )
    return VectorCounts(embedder=embedder, **counts)


def request_reembedding(scope: Scope, *, embedder: str, now: datetime) -> int:
    """Request a new vector for every memory of the tenant that has one of another embedder; returns how many.

    Waiting requests are not duplicated, so an interrupted run is continued by calling this again.
    """
    requested, after_id = 0, 0
    while True:
        with tenant_transaction(scope):
            outdated = MemoryVector.objects.within(scope).filter(_outdated(embedder), memory_id__gt=after_id)
            ids = list(outdated.order_by("memory_id").values_list("memory_id", flat=True)[:BATCH])
            if ids:
                enqueue(scope, "embed", ids, now=now)
        requested += len(ids)
        if len(ids) < BATCH:
            return requested
        after_id = ids[-1]


def _outdated(embedder: str) -> Q:
    """Of another embedder of ours: vectors that came with their memories stay."""
    return ~Q(embedder=embedder) & ~Q(embedder__startswith=OF_CALLER)
