"""Checkpoints and rewinding: memories hold as they did, and every rewind can be undone.

REWINDS=1000 pytest tests/memories/test_rewinding.py      the large version
"""

import random
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.ingest.typed import write_typed
from apps.memories.models import Memory, MemoryVector
from apps.memories.rewinding import (
    CheckpointExists,
    CheckpointNotFound,
    TooManyCheckpoints,
    create_checkpoint,
    list_checkpoints,
    rewind,
)
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.memories.typed import TypedMemory
from apps.memories.validity import AsOf, holding
from apps.projects.scope import Scope
from apps.recall.typed import TypedQuery, recall_typed
from tests.makers import make_scope
from tests.memories.histories import EACH, STEPS, Replay, Said, draw_batch, minute, seeds, stated

pytestmark = pytest.mark.django_db(databases="__all__")


def write(scope: Scope, *memories: TypedMemory, at: float = 0) -> list[int]:
    return [one.memory_id for one in write_typed(scope, "alice", memories, now=minute(at)).results]


def current(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        return set(Memory.objects.within(scope).live(minute(10_000)).values_list("pk", flat=True))


def successors(scope: Scope) -> dict[int, int | None]:
    with tenant_transaction(scope):
        return dict(Memory.objects.within(scope).values_list("pk", "superseded_by_id"))


def held(scope: Scope, at: float) -> set[int]:
    with tenant_transaction(scope):
        then = holding(Memory.objects.within(scope), AsOf(at=minute(at), known_at=minute(9)))
        return set(then.values_list("pk", flat=True))


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def test_what_was_stored_since_ends_and_what_it_replaced_holds_again(scope: Scope) -> None:
    (vegetarian,) = write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    vegan, moved = write(scope, stated("diet", "vegan"), stated(None, "moved"), at=2)

    done = rewind(scope, "before", now=minute(3))

    assert (set(done.restored), set(done.ended)) == ({vegetarian}, {vegan, moved})
    assert current(scope) == {vegetarian}
    hits = recall_typed(scope, TypedQuery(topic_key="diet"), now=minute(4)).hits
    assert [hit.memory.id for hit in hits] == [vegetarian]
    assert {at: held(scope, at) for at in (0.5, 2.5, 3.5)} == {
        0.5: {vegetarian},
        2.5: {vegan, moved},
        3.5: {vegetarian},
    }


def test_a_rewind_is_undone_by_rewinding_to_the_change_before_it(scope: Scope) -> None:
    write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    write(scope, stated("diet", "vegan"), stated(None, "moved"), at=2)
    was, followed = current(scope), successors(scope)

    done = rewind(scope, "before", now=minute(3))
    again = rewind(scope, str(done.before), now=minute(4))

    assert (set(again.restored), set(again.ended)) == (set(done.ended), set(done.restored))
    assert (current(scope), successors(scope)) == (was, followed)


def test_a_dry_run_changes_nothing(scope: Scope) -> None:
    (first,) = write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    (second,) = write(scope, stated("diet", "vegan"), at=2)

    planned = rewind(scope, "before", dry_run=True, now=minute(3))

    assert (list(planned.restored), list(planned.ended)) == ([first], [second])
    assert (planned.txid, current(scope)) == (planned.before, {second})


def test_a_memory_that_was_ended_by_a_rewind_is_revived_when_stated_again(scope: Scope) -> None:
    write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    (vegan,) = write(scope, stated("diet", "vegan"), at=2)
    rewind(scope, "before", now=minute(3))

    (outcome,) = write_typed(scope, "alice", [stated("diet", "vegan")], now=minute(4)).results

    assert (outcome.status, outcome.memory_id) == ("revived", vegan)
    assert current(scope) == {vegan}


def test_what_was_deleted_stays_deleted(scope: Scope) -> None:
    (first,) = write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        rows = list(Memory.objects.within(scope).filter(pk=first))
        soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=minute(2))

    rewind(scope, "before", now=minute(3))

    assert current(scope) == set()


def test_vectors_are_searched_again_with_their_memories(scope: Scope) -> None:
    vector = np.ones(4, dtype=np.float32) / 2
    (first,) = write(scope, replace(stated("diet", "vegetarian"), vector=vector))
    create_checkpoint(scope, "before", now=minute(1))
    write(scope, stated("diet", "vegan"), at=2)
    rewind(scope, "before", now=minute(3))

    with tenant_transaction(scope):
        assert MemoryVector.objects.within(scope).get(memory_id=first).live
    assert [hit.memory.id for hit in recall_typed(scope, TypedQuery(vector=vector), now=minute(4)).hits] == [first]


def test_names_are_taken_once_and_listed(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    write(scope, stated("diet", "vegan"))
    create_checkpoint(scope, "one", now=minute(1))
    with pytest.raises(CheckpointExists):
        create_checkpoint(scope, "one", now=minute(2))
    create_checkpoint(scope, "two", now=minute(3))
    monkeypatch.setattr("apps.memories.rewinding.MOST", 2)
    with pytest.raises(TooManyCheckpoints):
        create_checkpoint(scope, "three", now=minute(4))

    assert [one.name for one in list_checkpoints(scope)] == ["two", "one"]
    for absent in ("nowhere", "99", "²", "-1"):
        with pytest.raises(CheckpointNotFound):
            rewind(scope, absent, now=minute(5))


@pytest.mark.parametrize("seed", seeds("REWINDS"))
def test_random_histories_equal_a_naive_replay(acme: OpenedTenant, seed: int) -> None:
    drawn = random.Random(seed)
    rewinds = 0
    for number in range(EACH):
        owner = f"person-{number}"
        scope = make_scope(acme, owner)
        model, ids = Replay(), dict[Said, int]()
        for step in range(STEPS):
            now = minute(step)
            if drawn.random() < 0.7 or not model.saved:
                batch = draw_batch(drawn)
                model.write(batch)
                results = write_typed(scope, owner, [stated(*one) for one in batch], now=now).results
                ids |= {one: result.memory_id for one, result in zip(batch, results, strict=True)}
                if drawn.random() < 0.5 or not model.saved:
                    create_checkpoint(scope, f"step-{step}", now=now)
                    model.saved[f"step-{step}"] = model.copy()
            else:
                name = drawn.choice(sorted(model.saved))
                before = model.copy()
                done = rewind(scope, name, now=now)
                model.back(model.saved[name])
                rewinds += 1
                assert current(scope) == model.current(ids), (number, step)
                if drawn.random() < 0.3:
                    rewind(scope, str(done.before), now=now + timedelta(seconds=1))
                    model.back(before)
            assert current(scope) == model.current(ids), (number, step)
    assert rewinds > EACH
