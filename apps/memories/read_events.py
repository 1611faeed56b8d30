"""Notifies listeners of answered queries, so that recall need not know its listeners."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One query and the memories that answered it.  scope: of the caller."""

    query_id: uuid.UUID
    scope: Scope
    memory_ids: Sequence[int]


Listener = Callable[[Scope, Sequence[Read], datetime], None]
_listeners: Final[list[Listener]] = []


def subscribe(listener: Listener) -> None:
    """Register a listener.  Called by its app, once, when it is ready."""
    _listeners.append(listener)


def publish(scope: Scope, reads: Sequence[Read], *, now: datetime) -> None:
    """Notify the listeners of some answered queries of one tenant."""
    for listener in _listeners:
        listener(scope, reads, now)
