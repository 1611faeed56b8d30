"""The slot machine, row by row of its table (seed-systems 3.4), and where late statements go."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.adapters.extractors.base import Proposed
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.decisions import ContradictionDecision, ContradictionVerdict, list_decisions, resolve
from apps.edges.opened import NewEdge
from apps.edges.services import UnknownRelationType, connect
from apps.edges.types import CONFLICT
from apps.ingest import services
from apps.ingest.candidates import ModelReading, Outcome, Proposal
from apps.memories import validity
from apps.memories.models import Memory, MemoryClaim, MemoryTransition
from apps.memories.soft_delete import restore
from apps.memories.superseding import ConstraintStays
from apps.memories.validity import AsOf
from apps.projects.scope import Scope
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.tenants.services import set_policy
from tests import once
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def say(scope: Scope, text: str, *, on: float = 0, told: float | None = None, **fields: Any) -> Outcome:
    """on: the day of which it is said.  told: the day on which it is told, if not the same."""
    said = Proposal(text=Plaintext(text), occurred_at=None if told is None else day(on), **fields)
    (outcome,) = services.remember(scope, [said], now=day(on if told is None else told))
    return outcome


def row(scope: Scope, outcome: Outcome | int) -> Memory:
    memory_id = outcome if isinstance(outcome, int) else outcome.memory_ids[0]
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=memory_id)


def held(scope: Scope, at: float, *, known_at: float = 1000) -> list[int]:
    """Ids of what held on that day, as was known on the other."""
    with tenant_transaction(scope):
        mine = validity.holding(Memory.objects.within(scope), AsOf(at=day(at), known_at=day(known_at)))
        return list(mine.order_by("pk").values_list("pk", flat=True))


def recalled(scope: Scope, query: str = "where do I live?", *, on: float = 0) -> set[str]:
    return {hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=20, now=day(on)).hits}


def decisions(scope: Scope, *, on: float = 50) -> Sequence[ContradictionDecision]:
    return list_decisions(scope, limit=10, is_open=True, now=day(on))[0]


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_same_again_is_a_duplicate_and_writes_no_row(scope: Scope) -> None:
    first = say(scope, "I live in Lisbon.")
    again = say(scope, "I live in Lisbon.", on=1)

    assert again.counts == {"duplicate": 1}
    assert again.memory_ids == first.memory_ids
    assert row(scope, first).repetition_count == 2


def test_another_value_replaces_and_ends_the_one_before_it(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)

    assert porto.counts == {"superseding": 1}
    older, newer = row(scope, lisbon), row(scope, porto)
    assert (older.validity, older.superseded_by_id, older.valid_to) == ("superseded", newer.pk, newer.valid_from)
    assert (newer.validity, newer.valid_from, newer.valid_to) == ("current", day(5), None)


def test_a_value_that_returns_is_revived_and_held_twice(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)
    again = say(scope, "I live in Lisbon.", on=9)

    assert again.counts == {"revived": 1}
    assert again.memory_ids == lisbon.memory_ids
    assert [held(scope, at) for at in (1, 6, 10)] == [lisbon.memory_ids, porto.memory_ids, lisbon.memory_ids]
    assert [held(scope, 10, known_at=known) for known in (4, 6, 10)] == [
        lisbon.memory_ids, porto.memory_ids, lisbon.memory_ids
    ]  # fmt: skip


def test_without_a_slot_nothing_is_replaced(scope: Scope) -> None:
    said = [say(scope, text, importance=0.6) for text in ("The red kite nests by the quarry.", "I ran 5 km today.")]

    assert [one.counts for one in said] == [{"created": 1}, {"created": 1}]


def test_what_is_past_its_time_is_never_met_again(scope: Scope) -> None:
    short = say(scope, "I live in Lisbon.", ttl_minutes=60)
    again = say(scope, "I live in Lisbon.", on=1)

    assert again.counts == {"created": 1}
    assert again.memory_ids != short.memory_ids
    assert row(scope, short).retention_status == "soft_deleted"


def test_what_was_forgotten_is_never_met_again(scope: Scope) -> None:
    gone = say(scope, "I live in Lisbon.")
    soft_delete_selection(scope, MemorySelection(memory_ids=tuple(gone.memory_ids)), now=day(1))
    again = say(scope, "I live in Lisbon.", on=2)

    assert again.counts == {"created": 1}
    assert again.memory_ids != gone.memory_ids
    assert held(scope, 0.5) == []


def test_where_the_head_was_forgotten_an_earlier_value_is_revived_and_displaces_nothing(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)
    soft_delete_selection(scope, MemorySelection(memory_ids=tuple(porto.memory_ids)), now=day(6))

    assert recalled(scope, on=7) == set()  # the head's end revives no earlier value

    again = say(scope, "I live in Lisbon.", on=8)

    assert again.counts == {"revived": 1}
    assert [held(scope, at) for at in (1, 6, 9)] == [lisbon.memory_ids, [], lisbon.memory_ids]


def test_where_changes_are_disputed_both_stand_until_somebody_decides(acme: OpenedTenant, scope: Scope) -> None:
    set_policy(acme.tenant, changes="dispute", actor="test", now=NOW)
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)

    assert porto.counts == {"created": 1}
    assert [row(scope, one).validity for one in (lisbon, porto)] == ["disputed", "disputed"]
    assert recalled(scope, on=6) == {"I live in Lisbon.", "I live in Porto."}
    assert held(scope, 6) == [*lisbon.memory_ids, *porto.memory_ids]
    assert say(scope, "I live in Porto.", on=6).counts == {"duplicate": 1}

    (decision,) = decisions(scope)
    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=porto.memory_ids[0]), now=day(7))

    assert [row(scope, one).validity for one in (lisbon, porto)] == ["superseded", "current"]
    assert [held(scope, at) for at in (1, 6)] == [lisbon.memory_ids, porto.memory_ids]


def test_where_changes_are_disputed_a_part_ends_nothing_either(acme: OpenedTenant, scope: Scope) -> None:
    set_policy(acme.tenant, changes="dispute", actor="test", now=NOW)
    lisbon = say(scope, "I live in Lisbon.")

    porto = say(scope, "I live in Porto and my sister works at Philips.", on=1)

    assert [row(scope, one).validity for one in (lisbon, porto)] == ["current", "current"]
    assert row(scope, lisbon).outdated_by_id == porto.memory_ids[0]
    assert len(decisions(scope)) == 1


def test_of_two_values_in_one_memory_the_last_holds(scope: Scope) -> None:
    both = say(scope, "I live in Lisbon. I live in Porto with Ann.", importance=0.9)

    with tenant_transaction(scope):
        claims = MemoryClaim.objects.within(scope).filter(memory_id=both.memory_ids[0]).order_by("pk")
        assert [claim.validity for claim in claims] == ["superseded", "current"]


def test_each_of_two_things_that_are_over_ends(scope: Scope) -> None:
    siemens, graz = say(scope, "I work at Siemens."), say(scope, "I live in Graz.")

    say(scope, "I no longer work at Siemens and I moved out of Graz.", on=1)

    assert [row(scope, one).validity for one in (siemens, graz)] == ["superseded", "superseded"]


def test_the_same_in_more_words_that_go_sooner_ends_nothing(scope: Scope) -> None:
    lisbon = say(scope, "I live in Lisbon.")

    say(scope, "I live in Lisbon with two dogs and a parrot.", on=1, ttl_minutes=60)

    assert row(scope, lisbon).validity == "current"


def test_of_three_disputed_values_two_are_still_disputed_when_one_is_out(acme: OpenedTenant, scope: Scope) -> None:
    set_policy(acme.tenant, changes="dispute", actor="test", now=NOW)
    said = [say(scope, f"I live in {city}.", on=at) for at, city in enumerate(("Lisbon", "Porto", "Braga"))]
    lisbon, porto, braga = (one.memory_ids[0] for one in said)

    between = {one.memory_ids: one.id for one in decisions(scope)}
    assert between.keys() == {(porto, lisbon), (braga, porto), (braga, lisbon)}
    resolve(scope, ContradictionVerdict(decision_id=between[(porto, lisbon)], winner_id=porto), now=day(7))
    assert [row(scope, one).validity for one in (lisbon, porto, braga)] == ["superseded", "disputed", "disputed"]
    resolve(scope, ContradictionVerdict(decision_id=between[(braga, porto)], winner_id=porto), now=day(8))

    assert [row(scope, one).validity for one in (lisbon, porto, braga)] == ["superseded", "current", "superseded"]
    assert held(scope, 9) == [porto]


def test_what_stood_disputed_is_replaced_once_changes_replace_again(acme: OpenedTenant, scope: Scope) -> None:
    set_policy(acme.tenant, changes="dispute", actor="test", now=NOW)
    say(scope, "I live in Lisbon.")
    say(scope, "I live in Porto.", on=5)
    set_policy(acme.tenant, changes="replace", actor="test", now=NOW)
    say(scope, "I live in Braga.", on=6)

    assert recalled(scope, on=7) == {"I live in Braga."}


def test_a_claim_against_a_limit_is_kept_beside_it_and_somebody_is_told(scope: Scope) -> None:
    said = "I must not take aspirin."
    # As a language model reads it.
    limit_read = Proposed(quote=said, type="constraint", key="user.medication.aspirin", value="no")
    limit = say(scope, said, reading=ModelReading(proposed=[limit_read]))
    claim = say(scope, "I take aspirin.", on=1)

    assert claim.counts == {"created": 1}
    assert row(scope, limit).type == "constraint"
    assert [row(scope, one).validity for one in (limit, claim)] == ["current", "current"]
    (decision,) = decisions(scope)
    assert (decision.kind, decision.memory_ids) == ("conflict", (*claim.memory_ids, *limit.memory_ids))

    with pytest.raises(ConstraintStays):
        resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=claim.memory_ids[0]), now=day(2))
    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=limit.memory_ids[0]), now=day(2))

    assert [row(scope, one).validity for one in (limit, claim)] == ["current", "superseded"]


def test_nobody_states_a_conflict_by_hand(scope: Scope) -> None:

    one, other = (say(scope, text).memory_ids[0] for text in ("I take aspirin.", "I live in Lisbon."))

    with pytest.raises(UnknownRelationType):
        connect(scope, [NewEdge(from_id=one, to_id=other, type=CONFLICT)], now=NOW)


# -- late, and corrected -----------------------------------------------------------------------------------------------


def test_what_is_told_late_replaces_nothing_newer(scope: Scope) -> None:
    porto = say(scope, "I live in Porto.", on=5)
    lisbon = say(scope, "I live in Lisbon.", on=0, told=6)

    assert lisbon.decisions[0].reason == "earlier"
    assert recalled(scope, on=7) == {"I live in Porto."}
    older = row(scope, lisbon)
    assert (older.validity, older.superseded_by_id) == ("superseded", porto.memory_ids[0])
    assert (older.valid_from, older.valid_to) == (day(0), day(5))
    assert [held(scope, at) for at in (-1, 0, 4.99, 5)] == [[], *[lisbon.memory_ids] * 2, porto.memory_ids]
    assert held(scope, 1, known_at=5.5) == []


def test_what_is_told_late_stands_between_its_neighbours(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=9)
    braga = say(scope, "I live in Braga.", on=4, told=20)

    first, second, third = (row(scope, one) for one in (lisbon, braga, porto))
    assert [(one.valid_from, one.valid_to) for one in (first, second, third)] == [
        (day(0), day(4)), (day(4), day(9)), (day(9), None)
    ]  # fmt: skip
    assert (first.superseded_by_id, second.superseded_by_id) == (second.pk, third.pk)
    assert [held(scope, 5, known_at=known) for known in (10, 20)] == [lisbon.memory_ids, braga.memory_ids]


def test_what_is_told_late_and_known_from_later_held_since_then(scope: Scope) -> None:
    say(scope, "I live in Lisbon.")
    porto = say(scope, "I live in Porto.", on=9)
    again = say(scope, "I live in Porto.", on=4, told=20)

    assert again.memory_ids == porto.memory_ids
    assert [held(scope, at) == porto.memory_ids for at in (3, 4, 9)] == [False, True, True]
    assert [held(scope, 5, known_at=known) == porto.memory_ids for known in (10, 20)] == [False, True]


def test_a_correction_of_the_same_time_takes_the_place_of_what_was_wrong(scope: Scope) -> None:
    wrong = say(scope, "I live in Lisbon.", on=3, told=3)
    right = say(scope, "I live in Porto.", on=3, told=8)

    assert [held(scope, at) for at in (3, 9)] == [right.memory_ids] * 2
    assert [held(scope, 4, known_at=known) for known in (5, 8)] == [wrong.memory_ids, right.memory_ids]


def test_a_correction_of_an_earlier_time_leaves_the_later_one_as_it_was(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)
    say(scope, "I live in Lisbon.", on=10)

    braga = say(scope, "I live in Braga.", on=3, told=20)

    assert [held(scope, at) for at in (1, 3, 5, 10)] == [one.memory_ids for one in (lisbon, braga, porto, lisbon)]
    assert held(scope, 4, known_at=15) == lisbon.memory_ids


def test_what_was_over_before_it_was_told_again_stays_over(scope: Scope) -> None:
    google = say(scope, "I work at Google.")
    say(scope, "I left Google.", on=10)
    say(scope, "I work at Google.", on=5, told=12)

    assert row(scope, google).validity == "superseded"
    assert [google.memory_ids[0] in held(scope, at) for at in (0, 9, 10)] == [True, True, False]


def test_a_decision_for_the_older_says_that_the_newer_never_held(scope: Scope) -> None:
    lisbon, porto = say(scope, "I live in Lisbon."), say(scope, "I live in Porto.", on=5)
    (decision,) = decisions(scope)
    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=lisbon.memory_ids[0]), now=day(7))

    assert [held(scope, at) for at in (1, 6, 8)] == [lisbon.memory_ids] * 3
    assert held(scope, 6, known_at=6) == porto.memory_ids


def test_what_is_brought_back_after_another_took_its_place_ended_then(scope: Scope) -> None:
    lisbon = say(scope, "I live in Lisbon.")
    soft_delete_selection(scope, MemorySelection(memory_ids=tuple(lisbon.memory_ids)), now=day(1))
    porto = say(scope, "I live in Porto.", on=2)
    restore(scope, lisbon.memory_ids[0], now=day(3))

    assert row(scope, lisbon).valid_to == day(2)
    assert [held(scope, at) for at in (1, 4)] == [lisbon.memory_ids, porto.memory_ids]


def test_history_tells_of_a_correction(scope: Scope) -> None:
    lisbon = say(scope, "I live in Lisbon.")
    say(scope, "I live in Porto.", on=9)
    say(scope, "I live in Braga.", on=4, told=20)

    with tenant_transaction(scope):
        noted = MemoryTransition.objects.within(scope).filter(memory_id=lisbon.memory_ids[0]).order_by("pk")
        assert list(noted.values_list("event", flat=True)) == ["created", "superseded", "corrected"]
