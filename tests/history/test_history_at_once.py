"""History, state and turns sent by many callers at once: each kept once, every caller answered."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.history import state_writes, turns
from apps.history.models import StateItem
from apps.history.state_writes import NewState
from apps.history.turns import NewTurn
from apps.ingest.conversation_sync import append_history, delete_history
from apps.ingest.turns import Turn, take_turn
from apps.memories.models import Memory
from apps.projects.scope import Scope
from apps.recall import read_log
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

MANY = 8
T = TypeVar("T")


def at_once(task: Callable[[int], T]) -> list[T]:
    """The answers of as many threads, which begin together."""
    barrier = threading.Barrier(MANY)

    def begin(number: int) -> T:
        try:
            barrier.wait(timeout=30)
            return task(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(begin, range(MANY), timeout=60))


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


def test_same_turn_at_once_is_appended_and_distilled_once(scope: Scope) -> None:
    said = [NewTurn(role="user", content=Plaintext("I live in Lisbon."), seq=0)]

    answers = at_once(
        lambda _: append_history(scope, "alice", "s1", said, source="api", metadata={}, extract=True, now=NOW)
    )

    assert sum(answer.turns[0].is_new for answer in answers) == 1
    assert len({answer.turns[0].id for answer in answers}) == 1
    assert sum(len(answer.distilled) for answer in answers) == 1
    assert turns.read(scope, "s1", source=None, limit=0, now=NOW).total == 1


def test_same_turn_told_at_once_is_a_replay_for_all_but_one(scope: Scope) -> None:
    told = Turn(text=Plaintext("I live in Lisbon."), source="chat", role="user")

    answers = at_once(lambda _: take_turn(scope, "alice", told, now=NOW).status)

    assert sorted(answers) == ["completed"] + ["skipped_replay"] * (MANY - 1)
    with tenant_transaction(scope):
        assert Memory.objects.within(scope).count() == 1


def test_of_conditional_puts_at_once_one_is_done(scope: Scope) -> None:
    def put(number: int) -> bool:
        new = NewState(
            namespace=("n",),
            key="k",
            value={"n": number},
            source="api",
            is_indexed=False,
            if_version=state_writes.ABSENT,
        )
        try:
            return state_writes.put(scope, new, now=NOW).is_new
        except state_writes.StateVersionConflict:
            return False

    assert sum(at_once(put)) == 1


def test_puts_into_one_place_at_once_leave_one_object(scope: Scope) -> None:
    at_once(
        lambda number: state_writes.put(
            scope, NewState(namespace=("n",), key="k", value={"n": number}, source="api", is_indexed=False), now=NOW
        )
    )

    with tenant_transaction(scope):
        (row,) = StateItem.objects.within(scope)
    assert row.revision == MANY


def test_appending_while_others_delete_holds_nobody_up(scope: Scope) -> None:
    def work(number: int) -> None:
        if number % 2:
            delete_history(scope, session_id="s1", turn_ids=(), source=None, with_facts=False, now=NOW)
        else:
            said = [NewTurn(role="user", content=Plaintext(f"My dog number {number} is called Rex."))]
            append_history(scope, "alice", "s1", said, source="api", metadata={}, extract=True, now=NOW)

    at_once(work)

    assert turns.read(scope, "s1", source=None, limit=0, now=NOW).total <= MANY / 2
