"""Imports a batch at a time: an item that ends workers is found and left out, and cancelling does not wait."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline
from apps.memories.models import Memory
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.transfers.imports import import_worker
from apps.transfers.imports.services import Import, cancel_import, get_import, start_import
from apps.transfers.imports.tasks import work
from apps.transfers.models.imports import ImportChunk, ImportStatus
from tests.makers import make_scope
from tests.outbox.test_leases import closing
from tests.poison.apps import HANGS

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

POISONED = 30  # the line, in the second batch of three


def sentences(count: int, *, line: int = 0, poison: str = "") -> list[str]:
    """One for each line of a file, from line 1."""
    said = [f"Parcel {number} went to harbour office {number % 7}." for number in range(1, count + 1)]
    return [f"{text} {poison}" if number == line else text for number, text in enumerate(said, 1)]


def begin(scope: Scope, texts: list[str], **options: Any) -> str:
    records = [{"text": text, "importance": 0.6} for text in texts]
    content = "\n".join(map(json.dumps, records)).encode()
    started = start_import(
        scope, name="a.jsonl", content=content, end_user="alice", now=datetime.now(UTC), **options
    )  # fmt: skip
    return started.job.public_id


def stored(scope: Scope) -> int:
    with tenant_transaction(scope):
        return Memory.objects.within_tenant(scope).count()


def chunks(scope: Scope) -> list[tuple[int, int]]:
    """First line and number of records."""
    with tenant_transaction(scope):
        return list(ImportChunk.objects.within(scope).order_by("first_line").values_list("first_line", "records"))


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is notified of a job; the test works at it, a batch at a time."""
    monkeypatch.setattr(work, "apply_async", lambda *_, **__: None)
    monkeypatch.setattr(import_worker, "TURN_SECONDS", 0.0)


class Reading:
    """Reads texts as ever, but for one, at which the time is over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.usual, self.met = pipeline.extract, 0
        monkeypatch.setattr(pipeline, "extract", self)

    def __call__(self, proposal: Any, **options: Any) -> Any:
        if HANGS in proposal.text.reveal():
            self.met += 1
            raise SoftTimeLimitExceeded
        return self.usual(proposal, **options)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


def turn() -> None:
    with contextlib.suppress(SoftTimeLimitExceeded):
        import_worker.turns.drain(now=datetime.now(UTC))


def seen(scope: Scope, job: str) -> Import:
    return get_import(scope, job)


def test_a_batch_is_taken_apart_after_a_worker_and_its_record_left_out_after_two_more(
    acme: OpenedTenant, quiet: None, reading: Reading
) -> None:
    scope = make_scope(acme)
    job = begin(scope, sentences(60, line=POISONED, poison=HANGS))
    last = (51, 10)

    turn()
    turn()
    assert (chunks(scope), reading.met) == ([(26, 25), last], 1)
    turn()
    assert chunks(scope) == [*((line, 1) for line in range(26, 51)), last]
    while reading.met < 3:
        turn()
        assert chunks(scope)[-1] == last
    assert chunks(scope) == [*((line, 1) for line in range(POISONED, 51)), last]
    assert seen(scope, job).errors == []
    turn()
    assert chunks(scope)[0] == (POISONED + 1, 1)
    while chunks(scope):
        turn()
    turn()

    done = seen(scope, job)
    assert (done.job.status, done.job.created, stored(scope)) == (ImportStatus.COMPLETED, 59, 59)
    assert [error["line"] for error in done.errors] == [POISONED]


def test_a_record_whose_worker_was_lost_once_among_others_and_once_alone_comes_in(
    acme: OpenedTenant, quiet: None, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines are switched off, too."""
    scope = make_scope(acme)
    job = begin(scope, sentences(25, line=3, poison=HANGS))
    while reading.met < 2:
        turn()
    monkeypatch.setattr(pipeline, "extract", reading.usual)
    while seen(scope, job).job.is_open:
        turn()

    assert (seen(scope, job).job.created, seen(scope, job).errors) == (25, [])


def test_losses_never_set_a_job_aside(acme: OpenedTenant, quiet: None, reading: Reading) -> None:
    """Not for a day, as other work is: its parts are dealt with one by one."""
    scope = make_scope(acme)
    job = begin(scope, sentences(1, line=1, poison=HANGS))
    OutboxEvent.objects.filter(kind=import_worker.KIND).update(lost=1)

    turn()
    OutboxEvent.objects.filter(kind=import_worker.KIND).update(lost=5)
    turn()
    turn()

    assert seen(scope, job).job.status == ImportStatus.COMPLETED
    assert [error["line"] for error in seen(scope, job).errors] == [1]


def test_a_job_that_is_cancelled_while_a_batch_is_read_stores_nothing_of_it_and_waits_for_nobody(
    acme: OpenedTenant, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_scope(acme)
    job = begin(scope, sentences(100))
    usual = pipeline.extract
    asked: list[str] = []

    def extract(proposal: Any, **options: Any) -> Any:
        if not asked:
            with ThreadPoolExecutor(1) as pool:
                cancelled = pool.submit(closing(lambda: cancel_import(scope, job, now=datetime.now(UTC))))
                asked.append(cancelled.result(timeout=10).job.status)
        return usual(proposal, **options)

    monkeypatch.setattr(pipeline, "extract", extract)
    for _ in range(3):
        turn()

    assert asked == [ImportStatus.CANCELLED]
    assert (stored(scope), seen(scope, job).job.created, chunks(scope)) == (0, 0, [])
    assert not OutboxEvent.objects.filter(kind=import_worker.KIND).exists()


def test_a_job_of_which_the_outbox_knows_nothing_is_asked_for(
    acme: OpenedTenant, globex: OpenedTenant, quiet: None
) -> None:
    """Of an earlier version, say.  Another tenant's work of the same number is not it."""
    scope = make_scope(acme)
    job = begin(scope, sentences(3))
    OutboxEvent.objects.filter(kind=import_worker.KIND).update(tenant_id=globex.scope.tenant_id)

    import_worker.ask_for_work(now=datetime.now(UTC))
    import_worker.ask_for_work(now=datetime.now(UTC))
    row = OutboxEvent.objects.get(kind=import_worker.KIND, tenant_id=scope.tenant_id)
    assert row.asked_again == 0
    while seen(scope, job).job.is_open:
        turn()

    assert seen(scope, job).job.created == 3
