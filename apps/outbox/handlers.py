"""Which work `outbox.drain` does: an app registers a handler for each kind when it is ready."""

from datetime import datetime
from functools import cache
from typing import Final

from apps.outbox.relay import OutboxKind, RoundRobin

# The first is of no tenant; `memsync doctor` looks how soon it is gone.
HANDLERS: Final[dict[str, OutboxKind]] = {"doctor": OutboxKind()}


def register(kind: str, handler: OutboxKind) -> None:
    """For an app with work of its own: once, when it is ready."""
    HANDLERS[kind] = handler


@cache
def relay() -> RoundRobin:
    """This process's, over all registered kinds."""
    return RoundRobin(HANDLERS)


def process_due_events(*, now: datetime, seconds: float = float("inf")) -> int:
    """Due work of each tenant and kind in turn; how many pieces were taken.  seconds: see ``RoundRobin.drain``."""
    return relay().drain(now=now, seconds=seconds)
