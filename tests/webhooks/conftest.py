"""An endpoint's two ends: a sender that sends nothing, and what the worker does when it is rung."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from apps.adapters.senders.fake import FakeSender, Sent
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest import services as ingest
from apps.ingest.candidates import Proposal
from apps.projects.scope import Scope
from apps.webhooks import dispatcher, services
from apps.webhooks.events import TYPES
from tests.makers import NOW, make_scope

ADDRESS = "https://hooks.example/in?token=xyz"


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sender() -> FakeSender:
    return FakeSender()


@pytest.fixture
def work(clock: Clock, sender: FakeSender) -> Callable[[], int]:
    """The worker, until nothing is due; how many attempts it made."""

    def run() -> int:
        attempts = 0
        while made := dispatcher.work(seconds=0.1, clock=clock, sender=sender):
            attempts += made
            clock.advance(seconds=dispatcher.BUSY_SECONDS)
        return attempts

    return run


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


@pytest.fixture
def admin(acme: OpenedTenant) -> Scope:
    return replace(acme.scope, project_id=None)


def make_endpoint(
    scope: Scope, *, wanted: Sequence[str] = TYPES, now: datetime = NOW, **more: Any
) -> services.OpenedEndpoint:
    return services.create(scope, **{"name": "a hook", "url": ADDRESS, "wanted": wanted, "now": NOW} | more)


def remember(scope: Scope, *texts: str, now: datetime = NOW) -> list[int]:
    outcomes = ingest.remember(
        scope, [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in texts], now=now
    )
    return [memory_id for outcome in outcomes for memory_id in outcome.memory_ids]


def told(sender: FakeSender) -> list[tuple[str, dict[str, Any]]]:
    """Type and data of what was sent, in order of the events."""
    bodies = [orjson.loads(one.body) for one in sender.sent]
    return [(body["type"], body["data"]) for body in bodies]


def types(sent: Sequence[Sent]) -> list[str]:
    return [one.headers["X-MemorySync-Event"] for one in sent]
