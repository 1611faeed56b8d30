"""Notifies listeners that questions were asked and answered.  Who asks need not know who listens."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One question, and which memories answered it.  scope: of who asked."""

    query_id: uuid.UUID
    scope: Scope
    memory_ids: Sequence[int]


Listener = Callable[[Scope, Sequence[Read], datetime], None]
_listeners: Final[list[Listener]] = []


def subscribe(listener: Listener) -> None:
    """For an app that passes it on: once, when it is ready."""
    _listeners.append(listener)


def publish(scope: Scope, reads: Sequence[Read], *, now: datetime) -> None:
    """Of one tenant, some together, after they were answered."""
    for listener in _listeners:
        listener(scope, reads, now)
