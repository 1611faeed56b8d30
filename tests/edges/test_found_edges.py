"""Edges that are found as memories are written, and what a contradiction among them becomes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.decisions import (
    ContradictionDecision,
    ContradictionVerdict,
    DecisionNotFound,
    DecisionResolved,
    DecisionUnclear,
    WinnerUnknown,
    list_decisions,
    resolve,
)
from apps.edges.models import MemoryEdge
from apps.edges.opened import NewEdge
from apps.edges.selectors import edges_of
from apps.edges.services import connect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.conflict_resolution import WinnerSuperseded
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory, MemoryTransition, MemoryVector
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.recall.services import recall
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")

KEY = "The spare key lies under the blue flower pot by the door."
KEY_TOO = "The spare key lies under the blue flower pot by the gate and the door."


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def say(scope: Scope, *texts: str, **fields: Any) -> list[int]:
    """Each remembered whole; the id that each created or matched."""
    proposals = [Proposal(text=Plaintext(text), **{"importance": 0.6, **fields}) for text in texts]
    return [outcome.memory_ids[0] for outcome in remember(scope, proposals, now=NOW)]


def found(scope: Scope, memory_ids: Sequence[int]) -> set[tuple[int, str, int]]:
    edges = edges_of(scope, memory_ids, now=NOW)
    assert all(edge.is_automatic for edge in edges)
    return {(edge.from_id, edge.type, edge.to_id) for edge in edges}


def validity(scope: Scope, memory_id: int) -> tuple[str, int | None]:
    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get(pk=memory_id)
        vector = MemoryVector.objects.within(scope).get(memory_id=memory_id)
    assert vector.live == (row.validity != "superseded")
    return row.validity, row.superseded_by_id


# -- what is found -----------------------------------------------------------------------------------------------------


def test_another_value_contradicts_the_one_it_replaces(scope: Scope) -> None:
    (lisbon,) = say(scope, "I live in Lisbon.")

    (porto,) = say(scope, "I live in Porto.")

    assert (porto, "contradiction", lisbon) in found(scope, [porto])


def test_contradiction_within_one_batch_is_found_too(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon.", "I live in Porto.")

    assert (porto, "contradiction", lisbon) in found(scope, [porto])


def test_value_that_comes_back_makes_no_second_contradiction(scope: Scope) -> None:
    lisbon, porto, again = (say(scope, f"I live in {city}.")[0] for city in ("Lisbon", "Porto", "Lisbon"))

    assert again == lisbon
    assert [edge for edge in found(scope, [lisbon]) if edge[1] == "contradiction"] == [(porto, "contradiction", lisbon)]


def test_same_value_in_more_words_is_derived_and_from_elsewhere_supports(scope: Scope) -> None:
    (first,) = say(scope, "I work at Initech.", source="chat")

    (more,) = say(scope, "I work at Initech as a nurse.", source="letter")

    assert {(more, "derived_from", first), (more, "supports", first)} <= found(scope, [more])
    assert not any(edge[1] == "contradiction" for edge in found(scope, [more]))


def test_what_is_nearly_the_same_is_similar(scope: Scope) -> None:
    (first,) = say(scope, KEY)

    (second,) = say(scope, KEY_TOO)

    assert found(scope, [first]) == {(second, "similar", first)}


def test_what_is_far_is_not_related(scope: Scope) -> None:
    ids = say(scope, KEY, "Granite is an igneous rock made of quartz and feldspar.")

    assert found(scope, ids) == set()


def test_next_of_a_session_continues_the_one_before_it_when_near_and_soon(scope: Scope) -> None:
    talk = ("We plan the trip to Granada in spring.", "The trip to Granada in spring takes five days.")
    (first,) = say(scope, talk[0], session_id="s1", occurred_at=NOW)

    (soon,) = say(scope, talk[1], session_id="s1", occurred_at=NOW + timedelta(minutes=20))
    (late,) = say(scope, talk[0] + " Maybe.", session_id="s1", occurred_at=NOW + timedelta(minutes=90))

    assert (soon, "continuation", first) in found(scope, [soon])
    assert not any(edge[0] == late and edge[1] == "continuation" for edge in found(scope, [late]))


def test_sessions_do_not_continue_each_other(scope: Scope) -> None:
    say(scope, "We plan the trip to Granada in spring.", session_id="s1")

    (other,) = say(scope, "The trip to Granada in spring takes five days.", session_id="s2")

    assert not any(edge[1] == "continuation" for edge in found(scope, [other]))


def test_facts_of_one_text_belong_together(scope: Scope) -> None:
    text = "I live in Lisbon with my parents. My dog answers to the name Rex. I am allergic to peanuts and sesame."

    (outcome,) = remember(scope, [Proposal(text=Plaintext(text))], now=NOW)

    first, *later = outcome.memory_ids
    assert len(later) == 2
    assert found(scope, [first]) >= {(one, "derived_from", first) for one in later}


def test_detail_belongs_to_what_names_its_subject(scope: Scope) -> None:
    (name,) = say(scope, "My father is Piotr.")

    (home,) = say(scope, "My father lives in Leeds.")

    assert (home, "detail_of", name) in found(scope, [home])


def test_what_was_stated_is_not_changed_by_what_is_found(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon.", "I live in Porto.")
    stated = NewEdge(from_id=porto, to_id=lisbon, type="contradiction", confidence=0.25, metadata={"by": "me"})
    connect(scope, [stated], now=NOW)

    say(scope, "I live in Lisbon.")

    (edge,) = [edge for edge in edges_of(scope, [porto], now=NOW) if edge.type == "contradiction"]
    assert (edge.confidence, edge.metadata, edge.is_automatic) == (0.25, {"by": "me"}, False)


# -- sealed spaces -----------------------------------------------------------------------------------------------------


def test_sealed_space_gets_contradictions_and_nothing_that_tells_what_is_alike(scope: Scope) -> None:
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
    sealed = reread_space(scope)

    ids = say(sealed, KEY, KEY_TOO, "I live in Lisbon.", "I live in Porto.", session_id="s1")

    assert {edge[1] for edge in found(sealed, ids)} == {"contradiction"}


def test_sealing_a_space_takes_found_edges_away_and_leaves_stated_ones(scope: Scope) -> None:
    one, _, lisbon, _ = say(scope, KEY, KEY_TOO, "I live in Lisbon.", "I live in Porto.")
    connect(scope, [NewEdge(from_id=one, to_id=lisbon, type="references")], now=NOW)

    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    with tenant_transaction(scope):
        left = {edge.type for edge in MemoryEdge.objects.within(scope)}
    assert left == {"references", "contradiction"}


# -- decisions ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cities(scope: Scope) -> tuple[int, int]:
    """Lisbon, and Porto that replaced it."""
    lisbon, porto = say(scope, "I live in Lisbon.", "I live in Porto.")
    return lisbon, porto


def only(scope: Scope) -> ContradictionDecision:
    ((decision,), total) = list_decisions(scope, limit=10, now=NOW)
    assert total == 1
    return decision


def texts(scope: Scope) -> list[str]:
    return [hit.memory.text.reveal() for hit in recall(scope, Plaintext("Where do I live?"), now=NOW).hits]


def test_contradiction_is_an_open_decision(scope: Scope, cities: tuple[int, int]) -> None:
    decision = only(scope)

    assert (decision.memory_ids, decision.resolved_at, decision.is_automatic) == (cities[::-1], None, True)
    assert list_decisions(scope, limit=10, is_open=False, now=NOW) == ([], 0)


def test_older_memory_may_win_and_is_current_again(scope: Scope, cities: tuple[int, int]) -> None:
    lisbon, porto = cities

    decision = resolve(
        scope,
        ContradictionVerdict(decision_id=only(scope).id, winner_id=lisbon, resolution="moved back", note="she said"),
        now=NOW,
    )

    assert (decision.winner_id, decision.resolved_at) == (lisbon, NOW)
    assert decision.resolution is not None
    assert decision.note is not None
    assert (decision.resolution.reveal(), decision.note.reveal()) == ("moved back", "she said")
    assert (validity(scope, lisbon), validity(scope, porto)) == (("current", None), ("superseded", lisbon))
    assert texts(scope) == ["I live in Lisbon."]
    with tenant_transaction(scope):
        events = list(
            MemoryTransition.objects.within(scope).order_by("pk").values_list("memory_id", "event", "other_id")
        )
    assert events[-2:] == [(porto, "superseded", lisbon), (lisbon, "revived", None)]


@pytest.mark.parametrize("named", [True, False])
def test_newer_memory_stands_where_it_wins_or_nobody_is_named(
    scope: Scope, cities: tuple[int, int], named: bool
) -> None:
    lisbon, porto = cities

    decision = resolve(
        scope, ContradictionVerdict(decision_id=only(scope).id, winner_id=porto if named else None), now=NOW
    )

    assert decision.winner_id == porto
    assert decision.resolution is not None
    assert decision.resolution.reveal() == "kept_newer"
    assert (validity(scope, porto), validity(scope, lisbon)) == (("current", None), ("superseded", porto))


def test_decided_again_changes_nothing_and_otherwise_is_refused(scope: Scope, cities: tuple[int, int]) -> None:
    lisbon, porto = cities
    name = only(scope).id
    first = resolve(scope, ContradictionVerdict(decision_id=name, winner_id=lisbon), now=NOW)

    again = resolve(scope, ContradictionVerdict(decision_id=name, winner_id=lisbon), now=NOW + timedelta(hours=1))

    assert again == first
    assert resolve(scope, ContradictionVerdict(decision_id=name), now=NOW) == first
    with pytest.raises(DecisionResolved):
        resolve(scope, ContradictionVerdict(decision_id=name, winner_id=porto), now=NOW)
    assert validity(scope, lisbon) == ("current", None)


def test_said_anew_it_is_open_again(scope: Scope, cities: tuple[int, int]) -> None:
    lisbon, porto = cities
    resolve(scope, ContradictionVerdict(decision_id=only(scope).id, winner_id=lisbon), now=NOW)

    say(scope, "I live in Porto.")

    assert only(scope).resolved_at is None
    assert (validity(scope, porto), validity(scope, lisbon)) == (("current", None), ("superseded", porto))


def test_winner_takes_the_place_of_the_loser_and_no_more(scope: Scope) -> None:
    lisbon, porto, faro = say(scope, "I live in Lisbon.", "I live in Porto.", "I live in Faro.")
    decisions, _ = list_decisions(scope, limit=10, now=NOW)
    (older,) = (one for one in decisions if one.memory_ids == (porto, lisbon))

    resolve(scope, ContradictionVerdict(decision_id=older.id, winner_id=lisbon), now=NOW)

    assert validity(scope, faro) == ("current", None)
    assert validity(scope, lisbon) == ("superseded", faro)
    assert validity(scope, porto) == ("superseded", lisbon)


def test_winner_that_a_third_memory_replaced_does_not_win(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon.", "I live in Porto.")
    (other,) = say(scope, KEY)
    connect(scope, [NewEdge(from_id=other, to_id=lisbon, type="contradiction")], now=NOW)
    decisions, _ = list_decisions(scope, limit=10, now=NOW)
    (stated,) = (one for one in decisions if one.memory_ids == (other, lisbon))

    with pytest.raises(WinnerSuperseded):
        resolve(scope, ContradictionVerdict(decision_id=stated.id, winner_id=lisbon), now=NOW)

    assert (validity(scope, other), validity(scope, porto)) == (("current", None), ("current", None))


def test_stated_contradiction_is_settled_too(scope: Scope) -> None:
    one, other = say(scope, KEY, "Granite is an igneous rock made of quartz and feldspar.")
    connect(scope, [NewEdge(from_id=one, to_id=other, type="contradiction", metadata={"why": "x"})], now=NOW)

    resolve(scope, ContradictionVerdict(winner_id=one), now=NOW)

    assert (validity(scope, one), validity(scope, other)) == (("current", None), ("superseded", one))
    (edge,) = edges_of(scope, [one], now=NOW)
    assert edge.metadata == {"why": "x"}


def test_decision_that_is_not_there_or_not_yours_is_not_found(
    acme: OpenedTenant, scope: Scope, cities: tuple[int, int]
) -> None:
    name = only(scope).id
    strangers = (make_scope(acme, "bob"), make_scope(make_tenant("globex")), replace(scope, spaces=()))

    for stranger in strangers:
        assert list_decisions(stranger, limit=10, now=NOW) == ([], 0)
        with pytest.raises(DecisionNotFound):
            resolve(stranger, ContradictionVerdict(decision_id=name), now=NOW)
    for unknown in ("dec_0", "dec_999999999", "dec_x", "7", "", f"dec_{2**70}", "dec_²"):
        with pytest.raises(DecisionNotFound):
            resolve(scope, ContradictionVerdict(decision_id=unknown), now=NOW)
    assert only(scope).resolved_at is None


def test_what_does_not_say_which_is_refused(scope: Scope, cities: tuple[int, int]) -> None:
    (other,) = say(scope, KEY)

    with pytest.raises(DecisionUnclear):
        resolve(scope, ContradictionVerdict(), now=NOW)
    with pytest.raises(DecisionUnclear):
        resolve(scope, ContradictionVerdict(winner_id=other), now=NOW)
    with pytest.raises(WinnerUnknown):
        resolve(scope, ContradictionVerdict(decision_id=only(scope).id, winner_id=other), now=NOW)


def test_gone_memory_hides_its_decisions(scope: Scope, cities: tuple[int, int]) -> None:
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=cities[0]).update(retention_status="soft_deleted")

    assert list_decisions(scope, limit=10, now=NOW) == ([], 0)


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_of_two_who_decide_at_once_one_is_told_that_it_is_decided(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    cities = say(scope, "I live in Lisbon.", "I live in Porto.")
    name = only(scope).id

    def decide(winner_id: int) -> str:
        try:
            resolve(scope, ContradictionVerdict(decision_id=name, winner_id=winner_id), now=NOW)
        except DecisionResolved:
            return "refused"
        finally:
            connections.close_all()
        return "decided"

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(decide, cities))

    assert outcomes == ["decided", "refused"]
    with tenant_transaction(scope):
        current = Memory.objects.within(scope).filter(validity="current").values_list("pk", flat=True)
        assert list(current) == [only(scope).winner_id]
