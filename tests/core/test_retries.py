"""A transaction that PostgreSQL gave up in favour of another is done again, and nothing is done twice."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction
from numpy.typing import NDArray
from psycopg.errors import DeadlockDetected, SerializationFailure

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.models import ApiKey
from apps.apikeys.onboarding import OpenedTenant
from apps.core import retries
from apps.core.plaintext import Plaintext
from apps.core.retries import TRIES, retried
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Proposal
from apps.ingest.snapshot import SpaceSnapshot
from apps.memories import tasks
from apps.memories.models import Memory
from apps.outbox.models import OutboxEvent
from apps.projects.models import Space
from apps.projects.scope import Scope
from tests.given_up import commits_fail, given_up
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSE_SECONDS", 0.0)


class Failing:
    """Fails so many times before it answers."""

    def __init__(self, times: int, error: Callable[[], Exception] = given_up) -> None:
        self.left, self.error, self.calls = times, error, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error()
        return "done"


@pytest.mark.parametrize("kind", [DeadlockDetected, SerializationFailure])
def test_it_is_tried_three_times_more(kind: type[Exception]) -> None:
    thrice, always = Failing(3, lambda: given_up(kind)), Failing(99, lambda: given_up(kind))

    assert retried(thrice)() == "done"
    with pytest.raises(OperationalError):
        retried(always)()
    assert (thrice.calls, always.calls) == (4, TRIES)


def test_other_errors_are_not_tried_again() -> None:
    for error in (OperationalError("away"), RuntimeError("wrong")):
        failing = Failing(1, lambda error=error: error)  # type: ignore[misc]
        with pytest.raises(type(error)):
            retried(failing)()
        assert failing.calls == 1


def test_inside_of_a_transaction_only_who_began_it_tries_again() -> None:
    inner = Failing(2)

    def outer() -> str:
        with transaction.atomic():
            return retried(inner)()

    assert retried(outer)() == "done"
    assert inner.calls == 3
    with pytest.raises(OperationalError), transaction.atomic():
        retried(Failing(1))()


def test_who_is_further_out_does_not_multiply_the_tries() -> None:
    failing = Failing(99)

    with pytest.raises(OperationalError):
        retried(lambda: retried(failing)())()

    assert failing.calls == TRIES


def test_what_was_committed_before_is_not_done_twice(acme: OpenedTenant) -> None:
    written: list[int] = []

    def two_transactions() -> None:
        written.append(1)
        OutboxEvent.objects.create(
            tenant_id=acme.tenant.pk, kind="one", subject_id=len(written), run_after=NOW, created_at=NOW
        )
        raise given_up()

    with pytest.raises(OperationalError):
        retried(two_transactions)()

    assert OutboxEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("sql", "writes"),
    [
        ("select 1", False),
        ("  SELECT a FROM b FOR UPDATE", False),
        ('SELECT "a" FROM "b" FOR NO KEY UPDATE OF "c"', False),
        ("select a from b for update skip locked", False),
        ("SET LOCAL x = 1", False),
        ("select audit_record(%s)", True),
        ("with a as (insert into b select 1 returning id) select * from a", True),
        ("with a as (select 1) update b set c = 1", True),
        ("insert into a values (1)", True),
        ("INSERT INTO a (b) VALUES (1) ON CONFLICT DO NOTHING", False),
        ("insert into a values (1) on conflict (b) do update set c = 1", True),
        ("UPDATE a SET b = 1", True),
        ("DELETE FROM a", True),
    ],
)
def test_statements_that_write_are_known(sql: str, writes: bool) -> None:
    assert retries._is_write(sql) is writes


# -- a real deadlock ---------------------------------------------------------------------------------------------------


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select from pg_locks where not granted)")
        row = cursor.fetchone()
    return bool(row and row[0])


@contextmanager
def in_a_circle(scope: Scope, memory_id: int) -> Iterator[None]:
    """A transaction locks the memory, and wants its space as soon as the holder of the space waits for the memory.  The
    latter began to wait first, and so is the first to look for a circle and the one that is given up."""
    held = threading.Event()

    def other() -> None:
        try:
            with tenant_transaction(scope):
                Memory.objects.within(scope).select_for_update().get(pk=memory_id)
                held.set()
                deadline = time.monotonic() + 20
                while not somebody_waits() and time.monotonic() < deadline:
                    time.sleep(0.01)
                Space.objects.within(scope).select_for_update().get(pk=scope.space.id)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(other)
        assert held.wait(20)
        yield
        running.result(timeout=20)


def test_an_add_that_is_given_up_goes_through_and_embeds_once(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_scope(acme)
    said = Proposal(text=Plaintext("The parcel went to the harbour office."), importance=0.6)
    ((memory_id,),) = [outcome.memory_ids for outcome in services.remember(scope, [said], now=NOW)]
    embedded: list[str] = []
    locked: list[int] = []

    class Counting(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            embedded.extend(texts)
            return super().embed(texts)

    def locking(*args: Any) -> Any:
        locked.append(1)
        return usual(*args)

    usual = SpaceSnapshot.locked
    monkeypatch.setattr(SpaceSnapshot, "locked", locking)
    monkeypatch.setattr(pipeline_context, "get_embedder", Counting)
    with in_a_circle(scope, memory_id):
        (outcome,) = services.remember(scope, [said], now=NOW)

    assert outcome.memory_ids == [memory_id]
    assert len(locked) == 2, "it was not given up"
    assert len(embedded) == 1
    with tenant_transaction(scope):
        assert Memory.objects.within(scope).get().repetition_count == 2


# -- every way in ------------------------------------------------------------------------------------------------------


def test_a_command_that_is_given_up_goes_through_once(acme: OpenedTenant) -> None:
    with commits_fail(1) as seen:
        call_command("key", "issue", "--tenant", "acme", "--name", "once", stdout=StringIO())

    assert len(seen) == 2
    with tenant_transaction(acme.scope):
        assert ApiKey.objects.within(acme.scope).filter(name="once").count() == 1


def test_a_task_that_is_given_up_goes_through(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no tenant is left out, however many there are."""
    failing = [Failing(1), Failing(1)]
    answers = {acme.scope.tenant_id: failing[0], globex.scope.tenant_id: failing[1]}
    monkeypatch.setattr(tasks, "expire", lambda scope, now: answers[scope.tenant_id]())

    tasks.expire_due.apply().get()

    assert [one.calls for one in failing] == [2, 2]
