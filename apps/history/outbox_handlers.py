"""Outbox handlers of state items."""

from collections.abc import Sequence
from datetime import datetime

from apps.adapters.instances import get_embedder
from apps.history.state_writes import embed_items
from apps.projects.scope import Scope


def embed_state(scope: Scope, state_ids: Sequence[int], now: datetime) -> None:
    embed_items(scope, state_ids, get_embedder(), now=now)
