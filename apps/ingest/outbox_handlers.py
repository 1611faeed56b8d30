"""What adds and their like ask of the outbox, and the worker that does it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from apps.adapters.instances import get_embedder
from apps.audit.services import enqueue
from apps.core.scoping import tenant_transaction
from apps.history.state_writes import embed_items
from apps.memories.embedding import embed_memories
from apps.memories.models import Memory
from apps.memories.quarantine_retry import release
from apps.projects.outbox import OutboxKind, RoundRobin
from apps.projects.scope import Scope
from apps.summaries.services import tend_clusters, tend_summaries

REFRESHED: Final = 5_000  # memories asked for in one transaction


def process_due_events(*, now: datetime, seconds: float = float("inf")) -> int:
    """Due work of each tenant and kind in turn; how many pieces were taken.  seconds: see ``RoundRobin.drain``."""
    return turns.drain(now=now, seconds=seconds)


def _embed(scope: Scope, memory_ids: Sequence[int], now: datetime) -> None:
    embed_memories(scope, memory_ids, get_embedder(), now=now)


def _embed_state(scope: Scope, state_ids: Sequence[int], now: datetime) -> None:
    embed_items(scope, state_ids, get_embedder(), now=now)


def _refresh(scope: Scope, space_id: int, after_id: int, now: datetime) -> int | None:
    """Ask for some of the space's memories behind this one to be embedded again; the last of them."""
    with tenant_transaction(scope):
        live = Memory.objects.within_tenant(scope).live(now).filter(space_id=space_id, pk__gt=after_id)
        ids = list(live.order_by("pk").values_list("pk", flat=True)[:REFRESHED])
        enqueue(scope, "embed", ids, now=now)
    return ids[-1] if len(ids) == REFRESHED else None


def _look_again(scope: Scope, row_ids: Sequence[int], now: datetime) -> None:
    release(scope, row_ids, now=now)


def _summarize(scope: Scope, cluster_ids: Sequence[int], now: datetime) -> None:
    tend_clusters(scope, cluster_ids, now=now)


def _resummarize(scope: Scope, summary_ids: Sequence[int], now: datetime) -> None:
    tend_summaries(scope, summary_ids, now=now)


KINDS: Final[Mapping[str, OutboxKind]] = {
    "doctor": OutboxKind(),  # of no tenant; `memsync doctor` looks how soon it is gone
    "embed": OutboxKind(do=_embed),
    "embed_state": OutboxKind(do=_embed_state),
    "look_again": OutboxKind(do=_look_again),
    "refresh": OutboxKind(job=_refresh),
    "resummarize": OutboxKind(do=_resummarize),
    "summarize": OutboxKind(do=_summarize),
}
turns = RoundRobin(KINDS)
