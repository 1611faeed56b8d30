"""Registry of the outbox handlers that `outbox.drain` runs: apps register one for each kind of event."""

from datetime import datetime
from functools import cache
from typing import Final

from apps.outbox.relay import OutboxKind, RoundRobin

OF_THE_DOCTOR: Final = "doctor"  # kind of a row without a tenant: `memsync doctor` measures how soon a worker takes it
HANDLERS: Final[dict[str, OutboxKind]] = {OF_THE_DOCTOR: OutboxKind()}


def register(kind: str, handler: OutboxKind) -> None:
    """Register the handler of a kind.  An app calls this once per kind, from ``AppConfig.ready``."""
    HANDLERS[kind] = handler


@cache
def relay() -> RoundRobin:
    """Return this process's relay for all registered kinds."""
    return RoundRobin(HANDLERS)


def process_due_events(*, now: datetime, seconds: float = float("inf")) -> int:
    """Process due events of each tenant and kind in turn; return their number.  seconds: see ``RoundRobin.drain``."""
    return relay().drain(now=now, seconds=seconds)
