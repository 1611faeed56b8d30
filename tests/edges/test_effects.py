"""Relations that end a memory when they are stated, and what is undone when they are deleted."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.opened import Edge, NewEdge
from apps.edges.selectors import edges_of
from apps.edges.services import connect, disconnect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory, MemoryTransition
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.memories.superseding import ConstraintStays, NotCurrent, SummaryFollows, SupersedingForbidden
from apps.memories.types import confidence
from apps.memories.validity import AsOf, holding
from apps.projects.scope import Scope
from apps.recall.results import Filters
from apps.recall.services import recall
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

OLD = "The spare key lies under the blue flower pot."
NEW = "Granite is an igneous rock made of quartz and feldspar."
OTHER = "Our choir rehearses Fauré on Thursday evenings."


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def hours(number: float) -> datetime:
    return NOW + timedelta(hours=number)


def keep(scope: Scope, *texts: str, at: float = 0, **fields: Any) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6, **fields) for text in texts]
    return [outcome.memory_ids[0] for outcome in remember(scope, proposals, now=hours(at))]


def state(scope: Scope, from_id: int, to_id: int, type_: str = "supersedes", *, at: float = 2) -> Edge:
    (edge,) = connect(scope, [NewEdge(from_id=from_id, to_id=to_id, type=type_)], now=hours(at))
    return edge


def row(scope: Scope, memory_id: int) -> Memory:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=memory_id)


def change(scope: Scope, memory_id: int, **fields: Any) -> None:
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=memory_id).update(**fields)


def held(scope: Scope, at: float, *, known: float) -> set[int]:
    """The memories that held at a time, as known at another."""
    with tenant_transaction(scope):
        there = Memory.objects.within(scope)
        return set(holding(there, AsOf(at=hours(at), known_at=hours(known))).values_list("pk", flat=True))


def events(scope: Scope, memory_id: int) -> list[str]:
    with tenant_transaction(scope):
        noted = MemoryTransition.objects.within(scope).filter(memory_id=memory_id).order_by("pk")
        return list(noted.values_list("event", flat=True))


@pytest.fixture
def pair(scope: Scope) -> tuple[int, int]:
    """An older memory, and one that was stored an hour later."""
    (older,), (newer,) = keep(scope, OLD), keep(scope, NEW, at=1)
    return older, newer


def found(scope: Scope, text: str, **options: Any) -> list[int]:
    return [hit.memory.id for hit in recall(scope, Plaintext(text), limit=5, now=hours(3), **options).hits]


def test_stated_supersedes_ends_the_other_memory(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair

    state(scope, newer, older)

    ended = row(scope, older)
    assert (ended.validity, ended.superseded_by_id, ended.superseded_at) == ("superseded", newer, hours(2))
    assert ended.valid_to == row(scope, newer).valid_from
    assert row(scope, newer).validity == "current"
    assert events(scope, older) == ["created", "superseded"]
    assert older not in found(scope, OLD)
    assert older in found(scope, OLD, filters=Filters(include_superseded=True))


def test_an_ended_memory_that_is_asked_for_too_comes_behind_its_successor(scope: Scope) -> None:
    older, newer = keep(scope, OLD, "The spare key lies under the blue flower pot no more.", deduplicate=False)
    question = "Did the spare key lie under the blue flower pot?"
    assert found(scope, question) == [older, newer]

    state(scope, newer, older)

    assert found(scope, question, filters=Filters(include_superseded=True)) == [newer, older]


def test_as_of_a_time_before_it_is_what_it_was(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair

    state(scope, newer, older)

    assert held(scope, 0.5, known=3) == {older}
    assert held(scope, 2.5, known=3) == {newer}
    assert held(scope, 1.5, known=1.5) == {older, newer}


def test_an_older_memory_may_supersede_a_newer_one_which_then_never_held(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair

    state(scope, older, newer)

    assert row(scope, newer).superseded_by_id == older
    assert held(scope, 2.5, known=3) == {older}


@pytest.mark.parametrize("type_", ["supersedes", "same_as"])
def test_deleted_relation_undoes_its_effect(scope: Scope, pair: tuple[int, int], type_: str) -> None:
    older, newer = pair
    before = {one: row(scope, one) for one in pair}
    edge = state(scope, newer, older, type_)

    disconnect(scope, older, edge.id, now=hours(3))

    for one in pair:
        after = row(scope, one)
        for name in ("validity", "superseded_by_id", "superseded_at", "superseded_reason", "valid_from", "valid_to",
                     "repetition_count", "confidence"):  # fmt: skip
            assert getattr(after, name) == getattr(before[one], name), name
    assert held(scope, 2.5, known=4) == {older, newer}
    assert len(held(scope, 2.5, known=2.7)) == 1
    assert set(pair) <= {*found(scope, OLD), *found(scope, NEW)}


def test_end_that_was_known_before_comes_back_with_the_memory(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    change(scope, older, valid_to=hours(10))
    edge = state(scope, newer, older)

    disconnect(scope, newer, edge.id, now=hours(3))

    assert row(scope, older).valid_to == hours(10)


def test_stated_again_it_changes_nothing_more(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    state(scope, newer, older)

    state(scope, newer, older, at=3)

    assert row(scope, older).superseded_at == hours(2)
    assert events(scope, older) == ["created", "superseded"]
    assert len(edges_of(scope, [older], now=hours(3))) == 1


def test_of_two_that_are_the_same_the_older_stays_and_counts_what_the_newer_counted(
    scope: Scope, pair: tuple[int, int]
) -> None:
    older, newer = pair
    change(scope, newer, repetition_count=2)

    state(scope, older, newer, "same_as")

    ended, stays = row(scope, newer), row(scope, older)
    assert (ended.validity, ended.superseded_by_id, ended.superseded_reason) == ("superseded", older, "merged")
    assert (stays.validity, stays.repetition_count) == ("current", 3)
    assert stays.confidence == confidence(
        source_strength=stays.source_strength,
        repetition_count=3,
        extractor_confidence=stays.extractor_confidence,
        prior=stays.type_prior,
    )
    assert held(scope, 2.5, known=3) == {older}


def test_one_of_two_relations_with_the_same_effect_may_go(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    first = state(scope, older, newer)
    second = state(scope, older, newer, "same_as")

    disconnect(scope, older, first.id, now=hours(3))
    assert row(scope, newer).validity == "superseded"

    disconnect(scope, older, second.id, now=hours(4))
    assert row(scope, newer).validity == "current"


def test_relation_of_superseding_at_a_write_undoes_nothing(scope: Scope) -> None:
    lisbon, porto = (one for text in ("I live in Lisbon.", "I live in Porto.") for one in keep(scope, text))
    edge = state(scope, porto, lisbon)

    disconnect(scope, lisbon, edge.id, now=hours(3))

    assert (row(scope, lisbon).validity, row(scope, lisbon).superseded_by_id) == ("superseded", porto)


def test_undone_it_yields_to_the_memory_that_took_its_slot(scope: Scope) -> None:
    (lisbon,), (key,) = keep(scope, "I live in Lisbon."), keep(scope, OLD)
    edge = state(scope, key, lisbon)
    (porto,) = keep(scope, "I live in Porto.", at=3)

    disconnect(scope, key, edge.id, now=hours(4))

    assert (row(scope, lisbon).validity, row(scope, lisbon).superseded_by_id) == ("superseded", porto)
    assert row(scope, porto).validity == "current"
    assert lisbon in held(scope, 2.5, known=5)
    assert lisbon not in held(scope, 3.5, known=5)


def test_undone_superseding_of_a_disputed_memory_disputes_both_again(scope: Scope) -> None:
    lisbon, porto = (one for text in ("I live in Lisbon.", "I live in Porto.") for one in keep(scope, text))
    change(scope, lisbon, validity="disputed", superseded_by_id=None, superseded_at=None, superseded_reason="")
    change(scope, porto, validity="disputed")
    with tenant_transaction(scope):
        space_txid = max(MemoryTransition.objects.within(scope).values_list("txid", flat=True))
        for one in (lisbon, porto):
            MemoryTransition.objects.create(
                scope, memory_id=one, space_id=scope.space.id, txid=space_txid, event="disputed", actor="test:0",
                created_at=NOW,
            )  # fmt: skip
    edge = state(scope, porto, lisbon)
    assert row(scope, porto).validity == "current"

    disconnect(scope, porto, edge.id, now=hours(3))

    assert (row(scope, lisbon).validity, row(scope, porto).validity) == ("disputed", "disputed")


def test_memory_stays_when_the_one_that_it_is_derived_from_is_forgotten(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    state(scope, newer, older, "derived_from")

    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        gone = list(Memory.objects.within(scope).filter(pk=older))
        soft_delete(scope, space, gone, cipher, method="user_request", reason="", now=hours(3))

    assert (row(scope, newer).validity, row(scope, newer).retention_status) == ("current", "active")


def test_superseded_memory_ends_once(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    (third,) = keep(scope, OTHER)
    state(scope, newer, older)

    for one, other in ((third, older), (older, third), (older, newer)):
        with pytest.raises(NotCurrent):
            state(scope, one, other)

    assert edges_of(scope, [third], now=hours(3)) == []
    assert row(scope, older).superseded_by_id == newer


def test_constraint_stays(scope: Scope, pair: tuple[int, int]) -> None:
    older, newer = pair
    change(scope, older, type="constraint")

    with pytest.raises(ConstraintStays):
        state(scope, newer, older)


@pytest.mark.parametrize("end", [0, 1])
def test_summary_neither_supersedes_nor_is_superseded(scope: Scope, pair: tuple[int, int], end: int) -> None:
    change(scope, pair[end], is_summary=True)

    with pytest.raises(SummaryFollows):
        state(scope, pair[1], pair[0])


TRUST: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "hearsay over what the user said": ({"source_strength": 0.3}, {}),
    "what was said over what a person wrote": ({}, {"source_kind": "manual"}),
    "what was said over what a person pinned": ({}, {"pinned": True}),
    "one pinned memory over another, by a program": ({"pinned": True}, {"pinned": True}),
}


@pytest.mark.parametrize(("by", "over"), TRUST.values(), ids=TRUST.keys())
@pytest.mark.parametrize("type_", ["supersedes", "same_as"])
def test_memory_that_is_trusted_more_is_ended_by_a_reviewer_only(
    scope: Scope, pair: tuple[int, int], by: dict[str, Any], over: dict[str, Any], type_: str
) -> None:
    stays, goes = pair
    change(scope, goes, **over)
    if by:
        change(scope, stays, **by)

    with pytest.raises(SupersedingForbidden):
        state(scope, stays, goes, type_)
    assert (row(scope, goes).validity, edges_of(scope, [goes], now=NOW)) == ("current", [])

    state(replace(scope, permissions=scope.permissions | {"candidates:review"}), stays, goes, type_)
    assert row(scope, goes).validity == "superseded"
