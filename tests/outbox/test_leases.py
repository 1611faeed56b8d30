"""Work is leased: asking never waits, turns starve no one, and work that kills its worker is set aside."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.outbox import leases
from apps.outbox.leases import Lease, LeaseLost
from apps.outbox.models import OutboxEvent
from apps.outbox.relay import LONGEST_BATCH, OutboxKind, RoundRobin
from apps.outbox.services import enqueue, try_again
from apps.projects.scope import Scope
from memsync.testing.databases import superuser_in
from tests.makers import NOW

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

KIND = "a test's"


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return acme.scope


class Work:
    """Notes what it was asked to do; what it should do besides, or instead, by subject."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[int]]] = []
        self.instead: dict[int, Callable[[], Any]] = {}

    def __call__(self, scope: Scope, subject_ids: Sequence[int], now: datetime) -> None:
        self.batches.append((scope.tenant_id, list(subject_ids)))
        for subject_id in subject_ids:
            if subject_id in self.instead:
                self.instead[subject_id]()
        record(scope, actor="test", action="a.test", target=f"{min(subject_ids)}", count=len(subject_ids), now=now)

    @property
    def done(self) -> list[int]:
        return [subject_id for _, batch in self.batches for subject_id in batch]


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def turns(work: Work) -> RoundRobin:
    return RoundRobin({KIND: OutboxKind(do=work)})


def ask(scope: Scope, *subject_ids: int, kind: str = KIND, **more: Any) -> None:
    with tenant_transaction(scope):
        enqueue(scope, kind, list(subject_ids), **{"now": NOW} | more)


def waiting() -> list[int]:
    return list(OutboxEvent.objects.order_by("subject_id").values_list("subject_id", flat=True))


def row(subject_id: int) -> OutboxEvent:
    return OutboxEvent.objects.get(subject_id=subject_id)


def take(scope: Scope, *, most: int = 100, now: datetime = NOW) -> Lease:
    lease = leases.claim(scope.tenant_id, KIND, most=most, now=now)
    assert lease is not None
    return lease


def closing(task: Callable[[], Any]) -> Callable[[], Any]:
    """The task, and then the end of its thread's connections."""

    def run() -> Any:
        try:
            return task()
        finally:
            connections.close_all()

    return run


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.01)


def elsewhere(task: Callable[[], Any]) -> Any:
    """In a thread, whose connections are closed afterwards: as by a process that ended."""
    pids: list[int] = []

    def run() -> Any:
        connection.ensure_connection()
        pids.append(connection.connection.info.backend_pid)
        return task()

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(closing(run)).result(timeout=20)
        finally:
            until(lambda: not is_there(pids[0]))


def is_there(pid: int) -> bool:
    """Whether the server still has that connection; it takes a moment to see that it was closed.

    Asked outside of any transaction, in which the answer would stay what it was at first.
    """
    with superuser_in("default") as superuser:
        row = superuser.execute("select exists (select from pg_stat_activity where pid = %s)", [pid]).fetchone()
    return bool(row and row[0])


def audited(scope: Scope) -> int:
    with tenant_transaction(scope):
        return AuditEvent.objects.filter(action="a.test").count()


@pytest.fixture
def never_waiting() -> Iterator[None]:
    """A statement that would have to wait for a lock fails."""
    with connection.cursor() as cursor:
        cursor.execute("set lock_timeout = '100ms'")
        yield
        cursor.execute("reset lock_timeout")


# -- asking while a worker is at it ------------------------------------------------------------------------------------


def test_asking_for_what_somebody_is_at_waits_for_nobody_and_it_is_done_once_more(
    scope: Scope, work: Work, turns: RoundRobin, never_waiting: None
) -> None:
    """The worker has written what it does, and not committed it."""
    ask(scope, 1, 2)
    written, asked = threading.Event(), threading.Event()

    def until_asked() -> None:
        written.set()
        assert asked.wait(20)

    work.instead[2] = until_asked
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(closing(lambda: turns.drain(now=NOW)))
        assert written.wait(20)
        ask(scope, 2)
        ask(scope, 2)
        asked.set()
        worker.result(timeout=20)
    del work.instead[2]

    assert waiting() == [2]
    while turns.drain(now=NOW):
        pass
    assert work.batches == [(scope.tenant_id, [1, 2]), (scope.tenant_id, [2])]
    assert waiting() == []


def test_what_is_asked_for_again_for_later_waits_until_then(scope: Scope, turns: RoundRobin) -> None:
    later = timedelta(minutes=10)
    ask(scope, 1)
    lease = take(scope)
    ask(scope, 1, after=later)
    with tenant_transaction(scope):
        leases.finish(lease, [1])

    assert turns.drain(now=NOW + later - timedelta(seconds=1)) == 0
    assert turns.drain(now=NOW + later) == 1


def test_the_attempt_is_counted_before_the_work(scope: Scope) -> None:
    ask(scope, 1)

    elsewhere(lambda: take(scope))

    assert row(1).attempts == 1


def test_what_somebody_else_has_taken_over_is_done_once(scope: Scope, work: Work, turns: RoundRobin) -> None:
    """A worker that stood still for longer than its lease finds its work gone, and undoes its own."""
    ask(scope, 1)
    elsewhere_done: list[int] = []

    def taken_over() -> None:
        del work.instead[1]
        later = NOW + leases.LEASE
        elsewhere_done.append(elsewhere(lambda: turns.drain(now=later)))

    work.instead[1] = taken_over
    turns.drain(now=NOW)

    assert (elsewhere_done, work.done) == ([1], [1, 1])
    assert (waiting(), audited(scope)) == ([], 1)


def test_a_lease_that_is_somebody_else_s_crosses_nothing_off(scope: Scope) -> None:
    ask(scope, 1)
    lease = take(scope)
    leases.reclaim([KIND], now=NOW + leases.LEASE)
    take(scope, now=NOW + leases.LEASE)

    with pytest.raises(LeaseLost), tenant_transaction(scope):
        leases.finish(lease, [1])

    assert waiting() == [1]


# -- in turn -----------------------------------------------------------------------------------------------------------


def test_tenants_and_kinds_take_turns(acme: OpenedTenant, globex: OpenedTenant) -> None:
    """However much the one has asked for, and however long before."""
    done: list[tuple[int, str, int]] = []

    def note(kind: str) -> OutboxKind:
        return OutboxKind(do=lambda scope, ids, now: done.append((scope.tenant_id, kind, len(ids))))

    turns = RoundRobin({"one": note("one"), "two": note("two")})
    for kind in ("one", "two"):
        ask(acme.scope, *range(1, 101), kind=kind)
    ask(globex.scope, 1, kind="one", now=NOW + timedelta(minutes=1))

    turns.drain(now=NOW + timedelta(minutes=1))

    assert done == [
        (acme.tenant.pk, "one", LONGEST_BATCH),
        (acme.tenant.pk, "two", LONGEST_BATCH),
        (globex.tenant.pk, "one", 1),
    ]


def test_only_who_has_due_work_that_nobody_is_at_has_a_turn(acme: OpenedTenant, globex: OpenedTenant) -> None:
    ask(acme.scope, 1, now=NOW + timedelta(hours=1))
    ask(globex.scope, 2, 3)

    assert leases.turns([KIND, "another"], now=NOW) == [(globex.tenant.pk, KIND)]
    take(globex.scope)
    assert leases.turns([KIND, "another"], now=NOW) == []


def test_a_round_that_is_cut_short_goes_on_behind_the_last(
    acme: OpenedTenant, globex: OpenedTenant, work: Work
) -> None:
    turns = RoundRobin({KIND: OutboxKind(do=work, batch=1)})
    for one in (acme, globex):
        ask(one.scope, 1, 2)

    for _ in range(4):
        turns.drain(now=NOW, seconds=0)

    assert [tenant_id for tenant_id, _ in work.batches] == [acme.tenant.pk, globex.tenant.pk] * 2


def test_a_turn_that_takes_long_takes_fewer_the_next_time(
    scope: Scope, work: Work, turns: RoundRobin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.outbox.relay.TURN_SECONDS", 0.0)
    ask(scope, *range(1, 41))

    for _ in range(3):
        turns.drain(now=NOW)

    assert [len(batch) for _, batch in work.batches] == [20, 10, 5]


def test_two_workers_never_have_the_same(scope: Scope) -> None:
    ask(scope, *range(1, 11))

    first, second = take(scope, most=6), take(scope, most=6)

    assert sorted([*first.subject_ids, *second.subject_ids]) == list(range(1, 11))
    assert leases.claim(scope.tenant_id, KIND, most=6, now=NOW) is None


# -- what ends its worker ----------------------------------------------------------------------------------------------


def test_work_of_a_worker_that_was_killed_is_taken_up_at_once_and_each_piece_alone(
    scope: Scope, work: Work, turns: RoundRobin
) -> None:
    """Its connection is gone; there is no wait until its lease runs out."""
    ask(scope, 1, 2, 3)
    elsewhere(lambda: take(scope))

    while turns.drain(now=NOW):
        pass

    assert work.batches == [(scope.tenant_id, [subject_id]) for subject_id in (1, 2, 3)]
    assert waiting() == []


def test_work_of_a_worker_that_lives_is_left_to_it_until_its_lease_runs_out(
    scope: Scope, work: Work, turns: RoundRobin
) -> None:
    ask(scope, 1)
    take(scope)

    assert turns.drain(now=NOW + leases.LEASE - timedelta(seconds=1)) == 0
    assert turns.drain(now=NOW + leases.LEASE) == 1


def test_behind_a_pooler_only_the_lease_says_who_lives(scope: Scope, turns: RoundRobin, settings: Any) -> None:
    settings.DATABASE_PREPARE = False
    ask(scope, 1)
    elsewhere(lambda: take(scope))

    assert turns.drain(now=NOW) == 0
    assert turns.drain(now=NOW + leases.LEASE) == 1


@pytest.mark.parametrize("reason", ["worker_lost", "out_of_time"])
def test_what_ends_its_worker_is_set_aside_the_third_time_and_its_neighbours_go_through(
    reason: str, scope: Scope, work: Work, turns: RoundRobin, caplog: pytest.LogCaptureFixture
) -> None:
    ends = {"worker_lost": SystemExit, "out_of_time": SoftTimeLimitExceeded}[reason]

    def fail() -> None:
        raise ends

    work.instead[2] = fail

    def worker() -> None:
        """As one that is killed, and cannot say so."""
        turns.drain(now=NOW)

    ask(scope, 1, 2, 3)
    with pytest.MonkeyPatch.context() as patch:
        if reason == "worker_lost":
            patch.setattr(leases, "release", lambda lease: None)
        for _ in range(10):
            try:
                elsewhere(worker)
            except ends:
                continue

    assert [batch for _, batch in work.batches].count([2]) == 2
    assert sorted(work.done) == [1, 1, 2, 2, 2, 3, 3]
    assert waiting() == [2]
    assert (row(2).lost, row(2).error, row(2).run_after) == (3, reason, NOW + leases.SET_ASIDE)
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == ["work set aside"]


def set_aside(scope: Scope, subject_id: int) -> None:
    ask(scope, subject_id)
    for _ in range(leases.MOST_LOST):
        elsewhere(lambda: take(scope))
        leases.reclaim([KIND], now=NOW)


def test_what_was_set_aside_is_not_brought_back_by_asking_for_it_but_a_day_later(
    scope: Scope, turns: RoundRobin
) -> None:
    """A schedule asks every minute for what is not done."""
    set_aside(scope, 1)
    ask(scope, 1)

    assert turns.drain(now=NOW) == 0
    assert turns.drain(now=NOW + leases.SET_ASIDE) == 1
    assert waiting() == []


def test_an_operator_has_what_was_set_aside_tried_again(scope: Scope, turns: RoundRobin) -> None:
    set_aside(scope, 1)

    assert try_again(scope, row(1).pk, actor="test", now=NOW)

    assert (row(1).lost, row(1).error) == (0, "")
    assert turns.drain(now=NOW) == 1


def test_what_somebody_is_at_is_not_tried_again_beside_them(scope: Scope) -> None:
    set_aside(scope, 1)
    take(scope, now=NOW + leases.SET_ASIDE)

    assert not try_again(scope, row(1).pk, actor="test", now=NOW)


def test_a_worker_that_is_told_to_end_leaves_its_work_as_it_was(scope: Scope, work: Work, turns: RoundRobin) -> None:
    def end() -> None:
        raise SystemExit

    work.instead[1] = end
    ask(scope, 1, 2)
    with pytest.raises(SystemExit):
        turns.drain(now=NOW)

    assert (row(1).attempts, row(1).lost, row(1).token) == (0, 0, None)


# -- jobs, a part at a time --------------------------------------------------------------------------------------------


def test_a_job_gives_way_after_each_part(acme: OpenedTenant, globex: OpenedTenant) -> None:
    parts = {acme.tenant.pk: 3, globex.tenant.pk: 1}
    done: list[tuple[int, int]] = []

    def part(scope: Scope, job_id: int, position: int, now: datetime) -> int | None:
        done.append((scope.tenant_id, position))
        return position + 1 if position + 1 < parts[scope.tenant_id] else None

    turns = RoundRobin({"job": OutboxKind(job=part)})
    for one in (acme, globex):
        ask(one.scope, 7, kind="job")

    while turns.drain(now=NOW):
        pass

    assert done == [(acme.tenant.pk, 0), (globex.tenant.pk, 0), (acme.tenant.pk, 1), (acme.tenant.pk, 2)]
    assert waiting() == []


def test_a_job_that_fails_waits_longer_each_time_and_holds_up_no_other(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    done: list[int] = []

    def part(scope: Scope, job_id: int, position: int, now: datetime) -> None:
        if scope.tenant_id == acme.tenant.pk:
            raise RuntimeError
        done.append(scope.tenant_id)

    turns = RoundRobin({"job": OutboxKind(job=part)})
    for one in (acme, globex):
        ask(one.scope, 7, kind="job")
    turns.drain(now=NOW)
    (first,) = OutboxEvent.objects.all()
    turns.drain(now=first.run_after)
    (second,) = OutboxEvent.objects.all()

    assert done == [globex.tenant.pk]
    assert (first.error, first.attempts, second.attempts) == ("RuntimeError", 1, 2)
    assert second.run_after - first.run_after > first.run_after - NOW


def test_a_job_that_is_asked_for_again_begins_again(scope: Scope) -> None:
    seen: list[int] = []

    def part(scope: Scope, job_id: int, position: int, now: datetime) -> int | None:
        seen.append(position)
        if len(seen) == 2:
            ask(scope, 7, kind="job")
        return position + 1 if position < 1 else None

    turns = RoundRobin({"job": OutboxKind(job=part)})
    ask(scope, 7, kind="job")
    while turns.drain(now=NOW):
        pass

    assert seen == [0, 1, 0, 1]
