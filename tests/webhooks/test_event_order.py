"""Events of transactions that commit in any order: no listener misses one, and none gets one twice."""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope
from apps.webhooks import event_log
from apps.webhooks.models import WebhookEvent
from tests.makers import NOW
from tests.webhooks.conftest import remember

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

WRITERS, EACH, READERS = 4, 25, 3


def in_thread(task: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        try:
            return task(*args)
        finally:
            connections.close_all()

    return run


def write(scope: Scope, number: int) -> None:
    event = WebhookEvent(
        type="memory.created", environment="production", memory_ids=[], data={"number": number}, created_at=NOW
    )
    with tenant_transaction(scope):
        WebhookEvent.objects.bulk_create(scope, [event])


class Reader:
    """Reads the log as a listener does, and connects again from its position each time."""

    def __init__(self, scope: Scope, position: int) -> None:
        self.scope, self.position = scope, position
        self.numbers: list[Any] = []
        self.positions: list[int] = []

    def look(self) -> None:
        state = event_log.read_state(self.scope)
        after = event_log.find_position(self.scope, state, self.position)
        for event in event_log.read_page(self.scope, state, after=after, limit=7).events:
            self.numbers.append(event.body["data"].get("number"))
            self.positions.append(event.position)
            self.position = event.position


def test_an_event_that_is_committed_after_a_later_one_is_read_after_it(admin: Scope) -> None:
    reader = Reader(admin, event_log.keep_recording(admin, now=NOW).position)
    is_written, may_commit = threading.Event(), threading.Event()

    @in_thread
    def write_and_wait() -> None:
        with tenant_transaction(admin):
            write(admin, 1)
            is_written.set()
            assert may_commit.wait(20)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(write_and_wait)
        assert is_written.wait(20)
        write(admin, 2)
        reader.look()
        between = list(reader.numbers)
        may_commit.set()
        first.result(20)
    reader.look()

    with tenant_transaction(admin):
        ids = dict(WebhookEvent.objects.within(admin).values_list("position", "pk"))
    assert between == [2]
    assert reader.numbers == [2, 1]
    assert reader.positions == [1, 2]
    assert ids[1] > ids[2]  # by their ids, the first would have been skipped


def test_readers_beside_writers_get_every_event_once_and_in_the_same_order(admin: Scope, scope: Scope) -> None:
    start = event_log.keep_recording(admin, now=NOW).position
    readers = [Reader(admin, start) for _ in range(READERS)]
    is_over = threading.Event()

    @in_thread
    def write_many(writer: int) -> None:
        drawn = random.Random(writer)
        for number in range(EACH):
            with tenant_transaction(admin):
                write(admin, writer * EACH + number)
                time.sleep(drawn.random() * 0.01)  # so that transactions overlap, and commit in another order

    @in_thread
    def read_many(reader: Reader) -> None:
        while not is_over.is_set():
            reader.look()
        while len(reader.numbers) < WRITERS * EACH and reader.position < event_log.read_state(admin).position:
            reader.look()

    with ThreadPoolExecutor(WRITERS + READERS) as pool:
        reading = [pool.submit(read_many, reader) for reader in readers]
        for writing in [pool.submit(write_many, writer) for writer in range(WRITERS)]:
            writing.result(60)
        is_over.set()
        for one in reading:
            one.result(60)

    for reader in readers:
        assert sorted(reader.numbers) == list(range(WRITERS * EACH))
        assert reader.positions == list(range(start + 1, start + 1 + WRITERS * EACH))
    assert len({tuple(reader.numbers) for reader in readers}) == 1


def test_a_change_that_is_rolled_back_is_never_read(admin: Scope, scope: Scope) -> None:
    reader = Reader(admin, event_log.keep_recording(admin, now=NOW).position)

    def fail() -> None:
        with tenant_transaction(scope):
            remember(scope, "The heron nests by the lock.")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    remember(scope, "Bees fly to the orchard.")

    reader.look()
    assert len(reader.positions) == 1
