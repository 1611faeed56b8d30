"""Work that a commit asked for is done once, whatever happens to workers and broker."""

import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.adapters.embedders.fake import FailingEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core import broker
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Proposal
from apps.memories import outbox_handlers
from apps.memories.models import Memory, MemoryVector
from apps.memories.selectors import get_memory
from apps.outbox import handlers, relay
from apps.outbox.models import OutboxEvent
from apps.outbox.tasks import drain
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.recall.services import recall
from tests.architecture import canaries
from tests.makers import NOW, make_scope
from tests.workers import kill, worker

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

JOBS = 1_000
SECONDS = 60.0


def proposals(numbers: range) -> list[Proposal]:
    return [
        Proposal(text=Plaintext(f"Parcel {number} went to harbour office {number % 7}."), importance=0.6,
                 deduplicate=False)
        for number in numbers
    ]  # fmt: skip


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


def waiting() -> int:
    return OutboxEvent.objects.count()


def vectors(scope: Scope) -> dict[int, Any]:
    """Vector id by memory."""
    with tenant_transaction(scope):
        return dict(MemoryVector.objects.within(scope).values_list("memory_id", "vector_id"))


def until(is_so: Callable[[], bool], *, deadline: float) -> None:
    while not is_so():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.02)


# -- a worker that dies ------------------------------------------------------------------------------------------------


@pytest.mark.e2e
def test_a_worker_killed_in_the_middle_loses_nothing_and_does_nothing_twice(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, pgmq_url: str
) -> None:
    begun = time.monotonic()
    deadline = begun + SECONDS
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "drain", _Bell([]))
        for start in range(0, JOBS, 250):
            services.remember(scope, proposals(range(start, start + 250)), now=datetime.now(UTC))
    assert waiting() == JOBS
    assert vectors(scope) == {}

    with canaries.broker(pgmq_url):
        for _bell in range(3):
            drain.apply_async()
        with worker(pgmq_url) as first:
            until(lambda: waiting() <= JOBS * 0.8, deadline=deadline)
            kill(first)
        left, done = waiting(), vectors(scope)
        assert 0 < left < JOBS, "killed before or after the work, not in the middle"
        assert len(done) == JOBS - left  # every piece is crossed off with its vector, or neither is there

        drain.apply_async()  # as the schedule does every two seconds
        with worker(pgmq_url):
            until(lambda: waiting() == 0, deadline=deadline)

    after = vectors(scope)
    with tenant_transaction(scope):
        memories = set(Memory.objects.within(scope).values_list("pk", flat=True))
    assert len(memories) == JOBS
    assert after.keys() == memories
    # A vector made again would have a new id: what was done before the kill was not done a second time.
    assert {memory_id: after[memory_id] for memory_id in done} == done
    assert time.monotonic() < deadline
    assert get_memory(scope, max(memories), now=NOW).is_embedded


class _Bell:
    """Stands for the task; counts how often it was published.  error: what the broker's client raises, if anything."""

    def __init__(self, rung: list[int], error: Exception | None = None) -> None:
        self.rung, self.error = rung, error

    def apply_async(self, **_: Any) -> None:
        self.rung.append(1)
        if self.error:
            raise self.error


# -- work taken twice, or failing --------------------------------------------------------------------------------------


def put_aside(scope: Scope, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "drain", _Bell([]))
        services.remember(scope, proposals(range(count)), now=datetime.now(UTC))


def test_two_workers_at_once_never_do_the_same_piece(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.memories.test_concurrency import at_once

    put_aside(scope, 100, monkeypatch)
    embedded: list[int] = []
    usual = outbox_handlers.embed_memories

    def counting(scope: Scope, ids: list[int], *args: Any, **options: Any) -> int:
        embedded.extend(ids)
        return usual(scope, ids, *args, **options)

    monkeypatch.setattr(outbox_handlers, "embed_memories", counting)

    def drain_all() -> int:
        return sum(iter(lambda: handlers.process_due_events(now=datetime.now(UTC)), 0))

    taken = at_once([drain_all] * 4)

    assert sum(taken) == 100
    assert Counter(embedded).most_common(1)[0][1] == 1
    assert len(vectors(scope)) == 100


def test_a_message_delivered_again_changes_nothing(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    put_aside(scope, 30, monkeypatch)
    drain.apply().get()
    before = vectors(scope)

    for _again in range(3):
        drain.apply().get()

    assert len(before) == 30
    assert vectors(scope) == before


def test_a_worker_that_fails_between_two_writes_leaves_the_work_as_it_was(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_aside(scope, 30, monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(relay, "_do_in_one", lambda *args, **options: (_ for _ in ()).throw(SystemExit(1)))
        with pytest.raises(SystemExit):
            handlers.process_due_events(now=datetime.now(UTC))

    assert waiting() == 30
    assert vectors(scope) == {}
    while handlers.process_due_events(now=datetime.now(UTC)):
        pass
    assert (waiting(), len(vectors(scope))) == (0, 30)


def test_with_the_embedder_down_work_waits_longer_each_time(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    put_aside(scope, 3, monkeypatch)
    monkeypatch.setattr(outbox_handlers, "get_embedder", FailingEmbedder)
    now, waits = datetime.now(UTC), []
    for _attempt in range(4):
        assert handlers.process_due_events(now=now) == 3
        assert handlers.process_due_events(now=now) == 0
        (due,) = set(OutboxEvent.objects.values_list("run_after", flat=True))
        waits.append(due - now)
        now = due

    assert waits == sorted(set(waits))
    assert set(OutboxEvent.objects.values_list("attempts", "error")) == {(4, "temporary")}


# -- a broker that is not there ----------------------------------------------------------------------------------------


def test_with_the_broker_unreachable_an_add_answers_and_is_found_by_its_words(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port where no process listens; the real client tries it once, and further adds do not try again so soon."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    attempts: list[int] = []
    usual = drain.apply_async

    def counting(**options: Any) -> Any:
        attempts.append(1)
        return usual(**options)

    monkeypatch.setattr(broker, "_quiet_until", 0.0)
    monkeypatch.setattr(pipeline_context, "get_embedder", FailingEmbedder)
    monkeypatch.setattr(drain, "apply_async", counting)
    with canaries.broker(f"pgmq://nobody:nothing@127.0.0.1:{port}/none"), canaries.logged() as lines:
        outcomes = [services.remember(scope, [proposal], now=NOW)[0] for proposal in proposals(range(10))]
    assert all(outcome.is_stored for outcome in outcomes)
    assert len(attempts) == 1
    assert lines.getvalue().count("broker not reached") == 1
    hits = recall(scope, Plaintext("parcel harbour office"), limit=20, now=NOW).hits
    assert len(hits) == 10
    assert {hit.explanation.matched_by for hit in hits} == {"words"}
    assert waiting() == 10


def test_with_the_broker_unreachable_the_api_answers_201_and_finds_it_at_once(
    acme: OpenedTenant, client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.STATIC_ROOT = str(tmp_path)  # the web application warns about one that is not there
    monkeypatch.setattr(broker, "_quiet_until", 0.0)
    monkeypatch.setattr(pipeline_context, "get_embedder", FailingEmbedder)
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}

    def post(path: str, body: object) -> Any:
        return client.post(path, body, content_type="application/json", headers=headers)

    with canaries.broker("pgmq://nobody:nothing@127.0.0.1:1/none"):
        added = post("/memory/add", {"text": "My parcel waits at the harbour office."})
        found = post("/memory/query", {"query": "harbour parcel"})

    assert added.status_code == 201
    assert [memory["id"] for memory in found.json()["memories"]] == [added.json()["id"]]


def test_the_one_add_that_meets_a_broken_broker_waits_a_moment_only(settings: Any) -> None:
    """For each try the client waits this long for a connection; by itself it would wait 30 s."""
    tries = 1 + settings.CELERY_TASK_PUBLISH_RETRY_POLICY["max_retries"]

    assert tries * settings.PGMQ_OPTIONS["pool_timeout"] <= 2


def test_after_the_quiet_the_broker_is_tried_again(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[int] = []
    clock = [1_000.0]
    monkeypatch.setattr(broker, "_quiet_until", 0.0)
    monkeypatch.setattr(broker.time, "monotonic", lambda: clock[0])
    refusing, bell = _Bell(rung, OSError("connection refused")), _Bell(rung)

    for _again in range(5):
        broker.notify(refusing)
    assert len(rung) == 1
    clock[0] += broker.QUIET_SECONDS
    broker.notify(refusing)
    assert len(rung) == 2
    clock[0] += broker.QUIET_SECONDS
    for _again in range(3):
        broker.notify(bell)
    assert len(rung) == 5
