"""Work that fails, is refused or conflicts with other work: it blocks no other, and nothing asked for is lost."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection, connections
from numpy.typing import NDArray

from apps.adapters.embedders.fake import FailingEmbedder, FakeEmbedder
from apps.adapters.errors import AdapterError
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Proposal
from apps.memories import embedding, outbox_handlers, tasks
from apps.memories.models import Memory, MemoryVector
from apps.memories.services import count_accesses, request_refresh
from apps.outbox import handlers
from apps.outbox.models import OutboxEvent
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.recall import read_log
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

POISON = "poison"


class Picky(FakeEmbedder):
    """Refuses one kind of text for good, as a model with a limit or a filter does."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(POISON in text for text in texts):
            raise AdapterError("refused", permanent=True)
        return super().embed(texts)


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


def remember(scope: Scope, *texts: str, now: datetime = NOW, **fields: Any) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6, **fields) for text in texts]
    return [outcome.memory_ids[0] for outcome in services.remember(scope, proposals, now=now)]


def put_aside(scope: Scope, monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[int]:
    """Stored while the embedder was down: their vectors are work in the outbox."""
    with monkeypatch.context() as down:
        down.setattr(pipeline_context, "get_embedder", FailingEmbedder)
        down.setattr(services, "notify", lambda task: None)
        return remember(scope, *texts, now=datetime.now(UTC))


def embedded(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        return set(MemoryVector.objects.within(scope).values_list("memory_id", flat=True))


def in_thread(pool: ThreadPoolExecutor, task: Callable[[], Any]) -> Any:
    def run() -> Any:
        try:
            return task()
        finally:
            connections.close_all()

    return pool.submit(run)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.02)


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select 1 from pg_locks where not granted)")
        row = cursor.fetchone()
    return bool(row and row[0])


# -- one bad piece -----------------------------------------------------------------------------------------------------


def test_a_text_that_the_embedder_refuses_keeps_no_vector_from_the_others(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [f"Parcel {number} went to the harbour office." for number in range(12)]
    ids = put_aside(scope, monkeypatch, *good[:6], f"A bottle of {POISON} stands in the shed.", *good[6:])
    monkeypatch.setattr(outbox_handlers, "get_embedder", Picky)

    handlers.process_due_events(now=datetime.now(UTC))

    assert embedded(scope) == {*ids[:6], *ids[7:]}
    assert list(OutboxEvent.objects.values_list("subject_id", "attempts", "error")) == [(ids[6], 1, "permanent")]


def test_a_piece_that_breaks_its_statement_is_put_back_alone(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = put_aside(scope, monkeypatch, *(f"Parcel {number} went to the harbour office." for number in range(3)))
    usual = outbox_handlers.embed_memories

    def broken(scope: Scope, memory_ids: list[int], *args: Any, **options: Any) -> int:
        if ids[1] in memory_ids:
            with connection.cursor() as cursor:
                cursor.execute("select 1 / 0")
        return usual(scope, memory_ids, *args, **options)

    monkeypatch.setattr(outbox_handlers, "embed_memories", broken)
    now = datetime.now(UTC)
    handlers.process_due_events(now=now)

    assert embedded(scope) == {ids[0], ids[2]}
    (left,) = OutboxEvent.objects.all()
    assert (left.subject_id, left.attempts, left.error) == (ids[1], 1, "DataError")
    assert left.run_after > now


def test_work_of_an_unknown_kind_waits_and_holds_up_nothing(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    with tenant_transaction(scope):
        enqueue(scope, "of a later version", [1], now=datetime.now(UTC))
    ids = put_aside(scope, monkeypatch, "The parcel went to the harbour office.")

    handlers.process_due_events(now=datetime.now(UTC))

    assert embedded(scope) == set(ids)
    assert list(OutboxEvent.objects.values_list("kind", "error")) == [("of a later version", "")]


# -- asked again -------------------------------------------------------------------------------------------------------


def test_work_asked_for_while_the_same_is_being_done_is_done_again(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory_id,) = put_aside(scope, monkeypatch, "The parcel went to the harbour office.")
    usual = outbox_handlers.embed_memories
    again: list[Any] = []

    def ask() -> None:
        with tenant_transaction(scope):
            enqueue(scope, "embed", [memory_id], now=datetime.now(UTC))

    with ThreadPoolExecutor(1) as pool:

        def slow(*args: Any, **options: Any) -> int:
            done = usual(*args, **options)
            again.append(in_thread(pool, ask))
            until(lambda: again[0].done() or somebody_waits())
            return done

        with monkeypatch.context() as slower:
            slower.setattr(outbox_handlers, "embed_memories", slow)
            handlers.process_due_events(now=datetime.now(UTC))
        again[0].result(timeout=20)

    assert list(OutboxEvent.objects.values_list("kind", "subject_id")) == [("embed", memory_id)]


def test_asking_again_brings_forward_what_was_put_off(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    put_aside(scope, monkeypatch, "The parcel went to the harbour office.")
    now = datetime.now(UTC)
    with monkeypatch.context() as down:
        down.setattr(outbox_handlers, "get_embedder", FailingEmbedder)
        handlers.process_due_events(now=now)
    request_refresh(scope, now=now)

    assert handlers.process_due_events(now=now) == 1  # the refresh, which asks for the vector
    assert handlers.process_due_events(now=now) == 1
    assert OutboxEvent.objects.count() == 0
    assert len(embedded(scope)) == 1


# -- beside an add -----------------------------------------------------------------------------------------------------


def test_an_add_and_a_worker_on_the_same_memory_do_not_wait_for_each_other_in_a_circle(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The parcel went to the harbour office."
    (memory_id,) = put_aside(scope, monkeypatch, text)
    usual = embedding.vector_row
    adding: list[Any] = []
    with ThreadPoolExecutor(1) as pool:

        def while_somebody_adds(*args: Any) -> MemoryVector:
            # The worker holds the memory; now the add holds the space and wants the memory; then the worker commits.
            if not adding:
                adding.append(in_thread(pool, lambda: remember(scope, text)))
                until(somebody_waits)
            return usual(*args)

        monkeypatch.setattr(embedding, "vector_row", while_somebody_adds)
        handlers.process_due_events(now=datetime.now(UTC))
        assert adding[0].result(timeout=20) == [memory_id]

    assert OutboxEvent.objects.count() == 0
    assert embedded(scope) == {memory_id}
    with tenant_transaction(scope):
        assert Memory.objects.within(scope).get().repetition_count == 2


def test_an_add_does_not_wait_for_a_worker_whose_embedder_is_slow(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the vector represents the memory as it is when it is written."""
    (memory_id,) = put_aside(scope, monkeypatch, "I live in Lisbon.")
    later = datetime.now(UTC)

    class Slow(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            with ThreadPoolExecutor(1) as pool:
                in_thread(pool, lambda: remember(scope, "I live in Porto.", now=later)).result(timeout=10)
            return super().embed(texts)

    monkeypatch.setattr(outbox_handlers, "get_embedder", Slow)
    handlers.process_due_events(now=datetime.now(UTC))

    with tenant_transaction(scope):
        assert MemoryVector.objects.within(scope).get(memory_id=memory_id).live is False


def test_a_memory_erased_while_it_is_embedded_gets_no_vector(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    (memory_id,) = put_aside(scope, monkeypatch, "The parcel went to the harbour office.")

    class Late(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            with tenant_transaction(scope):
                Memory.objects.within(scope).filter(pk=memory_id).delete()
            return super().embed(texts)

    monkeypatch.setattr(outbox_handlers, "get_embedder", Late)
    handlers.process_due_events(now=datetime.now(UTC))

    assert embedded(scope) == set()
    assert OutboxEvent.objects.count() == 0


# -- one tenant and the others -----------------------------------------------------------------------------------------


def test_a_tenant_that_cannot_be_swept_holds_up_no_other(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    swept: list[int] = []

    def sweep(scope: Scope, *, now: datetime) -> int:
        if scope.tenant_id == acme.scope.tenant_id:
            raise RuntimeError("broken")
        swept.append(scope.tenant_id)
        return 0

    monkeypatch.setattr(tasks, "expire", sweep)
    with caplog.at_level(logging.WARNING):
        tasks.expire_due()

    assert globex.scope.tenant_id in swept
    assert "a tenant was not swept" in caplog.messages


def test_counts_of_one_tenant_that_cannot_be_written_take_no_other_along(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def write(scope: Scope, counts: dict[int, int], *, now: datetime) -> None:
        if scope.tenant_id == acme.scope.tenant_id:
            raise RuntimeError("broken")
        written.append(scope.tenant_id)

    monkeypatch.setattr(read_log, "count_accesses", write)
    for tenant in (acme, globex):
        read_log.record_recall(tenant.scope, [1])
    read_log.flush()

    assert written == [globex.scope.tenant_id]


def test_accesses_are_counted_in_the_order_of_ids_and_for_this_tenant_only(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    mine, theirs = make_scope(acme), make_scope(globex)
    ids = remember(mine, "The parcel went to the harbour office.", "My dog Biscuit sleeps on the blue sofa.")
    (foreign,) = remember(theirs, "The parcel went to the harbour office.")
    later = NOW + timedelta(minutes=1)

    count_accesses(mine, {ids[1]: 3, ids[0]: 1, foreign: 7}, now=later)

    with tenant_transaction(mine):
        rows = Memory.objects.within(mine).order_by("pk").values_list("access_count", "last_accessed_at")
        assert list(rows) == [(1, later), (3, later)]
    with tenant_transaction(theirs):
        assert Memory.objects.within(theirs).get().access_count == 0


def test_two_who_count_the_same_memories_at_once_both_count(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    ids = remember(scope, *(f"Parcel {number} went to the harbour office." for number in range(20)))
    barrier = threading.Barrier(4)

    def count(turn: int) -> None:
        barrier.wait(timeout=20)
        for _again in range(10):
            order = ids if turn % 2 else ids[::-1]
            count_accesses(scope, dict.fromkeys(order, 1), now=NOW)

    with ThreadPoolExecutor(4) as pool:
        for running in [in_thread(pool, lambda turn=turn: count(turn)) for turn in range(4)]:
            running.result(timeout=30)

    with tenant_transaction(scope):
        assert set(Memory.objects.within(scope).values_list("access_count", flat=True)) == {40}
