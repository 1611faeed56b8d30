"""Checkpoints and rewinding: memories hold as they did, and every rewind can be undone.

REWINDS=1000 pytest tests/memories/test_rewinding.py -s      the large version; prints what it did
"""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
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
from apps.memories.typed import TypedMemory, canonical_json
from apps.memories.validity import AsOf, holding
from apps.projects.scope import Scope
from apps.recall.typed import TypedQuery, recall_typed
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

HISTORIES = int(os.environ.get("REWINDS", "25"))
STEPS = 25


def minute(number: float) -> datetime:
    return NOW + timedelta(minutes=number)


def stated(topic: str | None, value: str, *, type_: str = "fact") -> TypedMemory:
    return TypedMemory(
        type=type_, topic_key=topic, summary=Plaintext(f"{topic} is {value}"), content=Plaintext(canonical_json(value))
    )


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
    vegan, moved = write(scope, stated("diet", "vegan"), stated(None, "moved", type_="event"), at=2)

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
    write(scope, stated("diet", "vegan"), stated(None, "moved", type_="event"), at=2)
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


@dataclass
class Replay:
    """A naive model: the current memories and their successors after each change."""

    holders: dict[str, str] = field(default_factory=dict)  # topic to value
    events: set[str] = field(default_factory=set)

    def copy(self) -> "Replay":
        return Replay(dict(self.holders), set(self.events))

    def stated(self, topic: str | None, value: str) -> None:
        if topic is None:
            self.events.add(value)
        else:
            self.holders[topic] = value

    def current(self, ids: Mapping[tuple[str | None, str], int]) -> set[int]:
        named: list[tuple[str | None, str]] = [*self.holders.items(), *((None, value) for value in self.events)]
        return {ids[one] for one in named}


def test_random_histories_equal_a_naive_replay(acme: OpenedTenant) -> None:
    drawn = random.Random(20_261_129)
    rewinds = 0
    for number in range(HISTORIES):
        scope = make_scope(acme, f"person-{number}")
        owner = f"person-{number}"
        model, ids = Replay(), dict[tuple[str | None, str], int]()
        saved: dict[str, Replay] = {}
        for step in range(STEPS):
            now, choice = minute(step), drawn.random()
            if choice < 0.7 or not saved:
                topics = [drawn.choice(("a", "b", "c", None)) for _ in range(drawn.randint(1, 3))]
                batch = [(topic, drawn.choice("123456")) for topic in topics]
                seen: set[Any] = set()
                for topic, value in batch:
                    if (topic, value) not in seen:  # said twice in a batch, it is a duplicate
                        model.stated(topic, value)
                    seen.add((topic, value))
                memories = [stated(topic, value, type_="fact" if topic else "event") for topic, value in batch]
                results = write_typed(scope, owner, memories, now=now).results
                ids |= {one: result.memory_id for one, result in zip(batch, results, strict=True)}
                if drawn.random() < 0.5 or not saved:
                    name = f"step-{step}"
                    create_checkpoint(scope, name, now=now)
                    saved[name] = model.copy()
            else:
                name = drawn.choice(sorted(saved))
                before = model
                done = rewind(scope, name, now=now)
                model, rewinds = saved[name].copy(), rewinds + 1
                assert current(scope) == model.current(ids), (number, step)
                if drawn.random() < 0.3:
                    rewind(scope, str(done.before), now=now + timedelta(seconds=1))
                    model = before
            assert current(scope) == model.current(ids), (number, step)
    print(f"\n{HISTORIES} histories, {rewinds} rewinds")  # noqa: T201  (for the large run)
    assert rewinds > HISTORIES
