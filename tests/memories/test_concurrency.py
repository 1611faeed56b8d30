"""Many at once: one row where one row is right, every caller answered, no deadlock."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.models import SpaceSecret
from apps.ingest import services
from apps.ingest.candidates import Outcome, Proposal
from apps.ingest.models import Candidate, IngestReceipt
from apps.memories.editing import Edit, edit, edit_many
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.models import Memory, MemoryPosting, MemoryTransition, MemoryVector
from apps.memories.revisions import get_history
from apps.memories.selectors import get_memory
from apps.memories.spaces import get_or_create_end_user
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.tenants.models import EndUser
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

MANY = 20
T = TypeVar("T")


def at_once(tasks: list[Callable[[], T]]) -> list[T]:
    """The answers of all tasks, in order, each in a thread of its own; all begin together."""
    barrier = threading.Barrier(len(tasks))

    def begin(task: Callable[[], T]) -> T:
        try:
            barrier.wait(timeout=30)
            return task()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(begin, task) for task in tasks]]


def remember(scope: Scope, text: str, **fields: Any) -> Outcome:
    (outcome,) = services.remember(scope, [Proposal(text=Plaintext(text), **fields)], now=NOW)
    return outcome


def texts(scope: Scope, query: str) -> list[str]:
    return [hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=50, now=NOW).hits]


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("My dog Biscuit sleeps on the blue sofa.", id="without a slot"),
        pytest.param("I live in Lisbon.", id="with a slot"),
    ],
)
def test_the_same_add_at_once_is_stored_once_and_refused_nineteen_times(scope: Scope, text: str) -> None:
    outcomes = at_once([lambda: remember(scope, text, importance=0.6)] * MANY)

    (created,) = [outcome for outcome in outcomes if outcome.is_stored]
    refused = [outcome for outcome in outcomes if not outcome.is_stored]
    assert created.counts == {"created": 1}
    assert [(one.reason, one.memory_ids) for one in refused] == [("discarded_redundant", created.memory_ids)] * 19
    assert {made.decision for one in refused for made in one.decisions} == {"duplicate"}
    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get()
        assert row.repetition_count == MANY
        assert MemoryVector.objects.within(scope).count() == 1
        words = MemoryPosting.objects.filter(tenant_id=scope.tenant_id).values_list("token", flat=True)
        assert len(words) == len(set(words)) > 0
        assert Candidate.objects.within(scope).count() == MANY
        assert Space.objects.within(scope).get(pk=scope.space.id).doc_count == 1


def test_different_values_for_one_slot_at_once_leave_one_current_row_and_a_whole_chain(scope: Scope) -> None:
    towns = [
        f"I live in {name}." for name in ("Lisbon", "Porto", "Faro", "Braga", "Evora", "Tavira", "Sagres", "Lagos")
    ]

    outcomes = at_once([lambda town=town: remember(scope, town) for town in towns * 2])

    with tenant_transaction(scope):
        rows = {row.pk: row for row in Memory.objects.within(scope)}
        txids = list(MemoryTransition.objects.within(scope).filter(event="created").values_list("txid", flat=True))
        live = list(MemoryVector.objects.within(scope).filter(live=True).values_list("memory_id", flat=True))
    (current,) = [row for row in rows.values() if row.validity == "current"]
    assert len(rows) == len(towns)  # said again, a value is the same row
    assert live == [current.pk]
    assert len(set(txids)) == len(towns)
    for row in rows.values():
        assert (row.superseded_by_id is None) == (row.pk == current.pk)
        assert _end_of_chain(row, rows) == current.pk
    assert len(texts(scope, "where do I live?")) == 1
    assert sum((Counter(one.counts) for one in outcomes), Counter()).total() == 2 * len(towns)


def _end_of_chain(row: Memory, rows: dict[int, Memory]) -> int:
    seen = set()
    while row.superseded_by_id is not None:
        assert row.pk not in seen, "the chain runs in a circle"
        seen.add(row.pk)
        row = rows[row.superseded_by_id]
    return row.pk


def test_a_new_end_user_met_by_many_at_once_is_one_with_one_space_and_one_salt(acme: OpenedTenant) -> None:
    spaces = at_once([lambda: get_or_create_end_user(acme.scope, "carol", now=NOW)] * MANY)

    assert len(set(spaces)) == 1
    with tenant_transaction(acme.scope):
        assert EndUser.objects.within(acme.scope).count() == 1
        assert Space.objects.within(acme.scope).count() == 1

    scope = acme.scope.in_spaces(spaces[0])
    outcomes = at_once([lambda number=number: remember(scope, f"Parcel {number} went to the harbour office.",
                                                       importance=0.6) for number in range(MANY)])  # fmt: skip

    assert all(one.is_stored for one in outcomes)
    assert SpaceSecret.objects.filter(space_uid=spaces[0].uid).count() == 1
    # Sealed under one salt: all of them open.
    assert len(texts(scope, "which parcel went to the harbour office?")) == MANY
    read_log.flush()


def test_many_different_new_end_users_at_once_are_all_there(acme: OpenedTenant) -> None:
    scopes = at_once([lambda number=number: make_scope(acme, f"user {number}") for number in range(MANY)])

    assert len({scope.space.id for scope in scopes}) == MANY


def test_the_same_reference_at_once_stores_once_whatever_it_brings(scope: Scope) -> None:
    outcomes = at_once(
        [
            lambda number=number: remember(
                scope, f"Parcel {number} went to the harbour office.", importance=0.6, client_ref="import-1"
            )
            for number in range(MANY)
        ]
    )

    (stored,) = [one for one in outcomes if one.is_stored]
    assert [one.memory_ids for one in outcomes] == [stored.memory_ids] * MANY
    assert Counter(one.reason for one in outcomes if not one.is_stored) == {"already_ingested": 19}
    with tenant_transaction(scope):
        assert Memory.objects.within(scope).count() == 1
        assert IngestReceipt.objects.within(scope).count() == 1


def test_recall_during_changes_of_mind_always_sees_exactly_one_home(scope: Scope) -> None:
    remember(scope, "I live in Lisbon.")
    towns = [f"I live in {name}." for name in ("Porto", "Faro", "Braga", "Lisbon")]
    is_over = threading.Event()

    def change() -> list[list[str]]:
        try:
            for town in towns * 3:
                remember(scope, town)
            return []
        finally:
            is_over.set()

    def look() -> list[list[str]]:
        seen = []
        while not is_over.is_set():
            seen.append(texts(scope, "where do I live?"))
        return seen

    seen = [one for answers in at_once([change, look, look, look]) for one in answers]

    assert len(seen) > 10
    assert {len(one) for one in seen} == {1}


def test_edits_at_once_are_all_kept_and_noted_one_after_the_other(scope: Scope) -> None:
    (memory_id,) = remember(scope, "My dog Biscuit sleeps on the blue sofa.", importance=0.6).memory_ids

    at_once(
        [
            (lambda n=n: edit(scope, Edit(memory_id=memory_id, metadata={"n": n}), now=NOW))  # type: ignore[misc]
            for n in range(MANY)
        ]
        + [lambda: edit(scope, Edit(memory_id=memory_id, tags=["dog"]), now=NOW)]
    )

    history = get_history(scope, memory_id, limit=100, offset=1, now=NOW)
    told = [one.diff["metadata"] for one in history.revisions if "metadata" in one.diff]
    memory = get_memory(scope, memory_id, now=NOW)
    assert len(told) == MANY
    assert [one["old"] for one in told] == [{}] + [one["new"] for one in told[:-1]]  # each saw the one before
    assert (memory.metadata, memory.tags) == (told[-1]["new"], ["dog"])


def test_batches_over_the_same_memories_in_any_order_do_not_wait_in_a_circle(scope: Scope) -> None:
    ids = [
        remember(scope, f"Locker {n} holds volume {n} of the old atlas.", importance=0.6).memory_ids[0]
        for n in range(10)
    ]

    def relabel(number: int) -> list[Any]:
        order = ids if number % 2 else ids[::-1]
        return edit_many(scope, [Edit(memory_id=one, source=f"round {number}") for one in order], now=NOW)

    answers = at_once(
        [(lambda n=n: relabel(n)) for n in range(8)]  # type: ignore[misc]
        + [lambda: read_log.flush() or []]
        + [lambda: [remember(scope, "Locker 3 holds volume 3 of the old atlas.", importance=0.6)]]
    )

    assert all(one.status == "updated" for answer in answers[:8] for one in answer)
    with tenant_transaction(scope):
        sources = set(Memory.objects.within(scope).filter(pk__in=ids).values_list("source", flat=True))
    assert len(sources) == 1  # whichever was last, was last for all of them


def test_feedback_at_once_loses_no_step(scope: Scope) -> None:
    (memory_id,) = remember(scope, "My dog Biscuit sleeps on the blue sofa.", importance=0.5).memory_ids

    answers = at_once([lambda: give_feedback(scope, memory_id, Signal.IGNORED, now=NOW)] * 10)

    steps = sorted((one.importance_before, one.importance_after) for one in answers)
    assert sum(answers[0].counts.values()) <= 10
    assert max(sum(one.counts.values()) for one in answers) == 10
    assert [before for before, _ in steps[:-1]] == [after for _, after in steps[1:]]  # each began where one ended
    assert get_memory(scope, memory_id, now=NOW).importance == steps[0][1]


def test_forgetting_while_others_edit_and_add_forgets_each_once(scope: Scope) -> None:
    ids = [
        remember(scope, f"Locker {n} holds volume {n} of the old atlas.", importance=0.6, source="atlas").memory_ids[0]
        for n in range(8)
    ]

    answers = at_once(
        [lambda: soft_delete_selection(scope, MemorySelection(source="atlas"), now=NOW)] * 4
        + [lambda: soft_delete_selection(scope, MemorySelection(memory_ids=tuple(ids[::-1])), now=NOW)] * 4
        + [lambda: [edit_many(scope, [Edit(memory_id=one, tags=["a"]) for one in ids[::-1]], now=NOW)]] * 4  # type: ignore[list-item]
        + [lambda: [remember(scope, "My dog Biscuit sleeps on the blue sofa.", importance=0.6)]]  # type: ignore[list-item]
    )

    gone = [one for answer in answers[:8] for one in answer]
    assert sorted(gone) == ids
    with tenant_transaction(scope):
        events = MemoryTransition.objects.within(scope).filter(memory_id__in=ids, event="soft_deleted")
        assert events.count() == len(ids)
    assert texts(scope, "atlas volume") == ["My dog Biscuit sleeps on the blue sofa."]
