"""Outbox handlers of memories: embedding, and retries of quarantined rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from apps.adapters.instances import get_embedder
from apps.core.scoping import tenant_transaction
from apps.memories.embedding import embed_memories
from apps.memories.models import Memory
from apps.memories.quarantine_retry import release
from apps.outbox.services import enqueue
from apps.projects.scope import Scope

REFRESHED: Final = 5_000  # memories requested in one transaction


def embed(scope: Scope, memory_ids: Sequence[int], now: datetime) -> None:
    embed_memories(scope, memory_ids, get_embedder(), now=now)


def refresh(scope: Scope, space_id: int, after_id: int, now: datetime) -> int | None:
    """Request new vectors for the space's next memories after ``after_id``; returns the last id, None at the end."""
    with tenant_transaction(scope):
        live = Memory.objects.within_tenant(scope).live(now).filter(space_id=space_id, pk__gt=after_id)
        ids = list(live.order_by("pk").values_list("pk", flat=True)[:REFRESHED])
        enqueue(scope, "embed", ids, now=now)
    return ids[-1] if len(ids) == REFRESHED else None


def retry_quarantined(scope: Scope, row_ids: Sequence[int], now: datetime) -> None:
    release(scope, row_ids, now=now)
