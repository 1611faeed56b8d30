"""A statement of anything may end, doubt or repeat another: told before the lock, done under it, never beyond it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.adapters.classifiers.base import RELATIONS
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.edges.decisions import ContradictionVerdict, list_decisions, resolve
from apps.ingest import pipeline
from apps.ingest.candidates import Outcome, Proposal
from apps.ingest.services import remember
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import get_memory
from apps.outbox import handlers
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.services import recall
from apps.tenants.models import Tenant
from tests.classifiers import FakeClassifier
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

PAINT = "The shed is painted green and the roof of the shed leaks."
BLUE = "We painted the shed and its roof blue."
LOOM = "The loom is in the shed."
CHANGES = {
    "painted the shed": "painted green",
    "sold the loom": "The loom is in the shed.",
    "shed again": "=roof of the shed",
    "shed may": "?painted green",
    "of the shed is mended": "the roof of the shed leaks",
}


@pytest.fixture(autouse=True)
def _classifier(settings: Any) -> None:
    settings.CLASSIFIER = {"BACKEND": "tests.classifiers.FakeClassifier", "OPTIONS": {"changes": CHANGES}}


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    yield make_scope(acme)
    read_log.flush()


def say(scope: Scope, *texts: str, day: int = 0, **proposed: Any) -> list[Outcome]:
    at = NOW + timedelta(days=day)
    proposals = [Proposal(text=Plaintext(text), occurred_at=at, **proposed) for text in texts]
    return remember(scope, proposals, now=at)


def stored(scope: Scope, text: str, *, day: int = 0, **proposed: Any) -> int:
    """As ``say`` of one text, until its vectors are there."""
    (outcome,) = say(scope, text, day=day, **proposed)
    assert outcome.is_stored, outcome
    while handlers.process_due_events(now=NOW + timedelta(days=day, minutes=1)):
        pass
    return outcome.memory_ids[0]


def read(scope: Scope, memory_id: int) -> OpenedMemory:
    return get_memory(scope, memory_id, now=NOW + timedelta(days=30))


def shown(scope: Scope, memory_id: int) -> str:
    return read(scope, memory_id).text.reveal()


def test_a_change_of_anything_ends_its_words_and_nothing_beside_them(scope: Scope) -> None:
    paint, loom = stored(scope, PAINT), stored(scope, LOOM)
    blue = stored(scope, BLUE, day=1)

    memory = read(scope, paint)
    assert memory.text.reveal() == "The shed is … and the roof of the shed leaks."
    assert memory.said.reveal() == PAINT
    assert [(part.by, part.ended_at) for part in memory.ended] == [(blue, NOW + timedelta(days=1))]
    assert shown(scope, loom) == LOOM


def test_a_second_change_ends_words_of_what_was_left(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    stored(scope, BLUE, day=1)
    stored(scope, "The roof of the shed is mended.", day=2)

    memory = read(scope, paint)
    assert memory.text.reveal() == "The shed is … and …."
    assert [memory.said.reveal()[part.start : part.end] for part in memory.ended] == [
        "painted green",
        "the roof of the shed leaks",
    ]


def test_said_again_of_the_time_before_its_part_ended_it_is_the_same_memory(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    stored(scope, BLUE, day=2)

    (again,) = say(scope, PAINT, day=1)

    assert (again.is_stored, again.memory_ids, again.decisions[0].reason) == (False, [paint], "same_text")
    assert shown(scope, paint) == "The shed is … and the roof of the shed leaks."


def test_what_is_over_as_a_whole_is_superseded(scope: Scope) -> None:
    loom = stored(scope, LOOM)
    sold = stored(scope, "We sold the loom that was in the shed.", day=1)

    memory = read(scope, loom)
    assert (memory.validity, memory.superseded_by) == ("superseded", sold)
    assert memory.text.reveal() == LOOM


def test_what_the_same_batch_said_before_is_changed_as_well(scope: Scope) -> None:
    first, second = say(scope, PAINT, BLUE)

    assert shown(scope, first.memory_ids[0]) == "The shed is … and the roof of the shed leaks."
    assert read(scope, first.memory_ids[0]).ended[0].by == second.memory_ids[0]


def test_what_is_not_sure_ends_nothing_and_leaves_a_decision(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    doubt = stored(scope, "The paint of the shed may well have changed its colour by now.", day=1)

    memory = read(scope, paint)
    assert memory.text.reveal() == PAINT
    assert (memory.validity, memory.outdated_by) == ("current", doubt)
    ((decision,), _) = list_decisions(scope, limit=5, now=NOW + timedelta(days=2))
    assert set(decision.memory_ids) == {paint, doubt}


def test_what_may_be_outdated_ranks_lower_however_sure_it_was(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    say(scope, PAINT, day=1)  # twice said is surer
    doubt = stored(scope, "The paint of the shed may well have changed its colour by now.", day=2)

    factors = factors_of(scope, "which colour is the paint of the shed?")
    assert list(factors)[:2] == [doubt, paint]
    assert "contradiction" not in factors[doubt]


def test_what_holds_in_part_comes_behind_what_ended_a_part_of_it(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    blue = stored(scope, BLUE, day=1)

    assert list(factors_of(scope, "what about the shed and its roof?"))[:2] == [blue, paint]


def test_what_holds_in_part_ranks_no_lower_if_the_question_is_about_the_rest(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    blue = stored(scope, BLUE, day=1)

    factors = factors_of(scope, "how much water leaks?")
    assert {paint, blue} <= set(factors)
    assert not any("contradiction" in one for one in factors.values())


def factors_of(scope: Scope, question: str) -> dict[int, Mapping[str, float]]:
    asked = recall(scope, Plaintext(question), now=NOW + timedelta(days=3))
    return {hit.memory.id: hit.explanation.factors for hit in asked.hits}


def test_a_change_is_undone_by_a_decision(scope: Scope) -> None:
    paint, now = stored(scope, PAINT), NOW + timedelta(days=3)
    stored(scope, BLUE, day=1)

    ((decision,), _) = list_decisions(scope, limit=5, now=now)
    resolve(scope, ContradictionVerdict(decision_id=decision.id, winner_id=paint), now=now)

    assert shown(scope, paint) == PAINT
    assert read(scope, paint).ended == []


def test_the_same_in_other_words_is_not_stored_again(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    (again,) = say(scope, "Told you about the shed again: green paint and it leaks", day=1)

    assert [(made.decision, made.reason, made.memory_id) for made in again.decisions] == [
        ("discarded_redundant", "near_duplicate", paint)
    ]
    assert stored(scope, "Told you about the shed again: green and it leaks", day=1, importance=0.9)


@pytest.mark.parametrize(
    "said",
    [
        "Have we painted the shed blue?",
        '"We painted the shed blue," said the neighbour.',
        "What if we painted the shed blue?",
    ],
)
def test_what_asserts_nothing_changes_nothing(scope: Scope, said: str) -> None:
    paint = stored(scope, PAINT)
    say(scope, said, day=1, importance=0.9)

    assert shown(scope, paint) == PAINT


@pytest.mark.parametrize("whose", [{"role": "assistant"}, {"role": "tool"}, {"speaker": "Maud"}])
def test_nobody_else_changes_what_the_user_said(scope: Scope, whose: dict[str, str]) -> None:
    paint = stored(scope, PAINT)
    say(scope, BLUE, day=1, **whose)

    assert shown(scope, paint) == PAINT


def test_an_order_is_only_marked_by_what_is_neither_order_nor_limit(scope: Scope, settings: Any) -> None:
    settings.CLASSIFIER["OPTIONS"] = {"changes": CHANGES, "types": {"Nobody may paint": "instruction"}}
    order = stored(scope, "Nobody may paint the shed: it has to stay painted green.", importance=0.9)
    assert read(scope, order).type == "instruction"
    blue = stored(scope, BLUE, day=1)

    memory = read(scope, order)
    assert (memory.ended, memory.validity, memory.outdated_by) == ([], "current", blue)


@pytest.mark.parametrize(("sure", "ends"), [(0.4, False), (0.9, True)])
def test_a_limit_ends_by_what_is_none_only_where_that_is_very_sure(
    scope: Scope, settings: Any, monkeypatch: pytest.MonkeyPatch, sure: float, *, ends: bool
) -> None:
    settings.CLASSIFIER["OPTIONS"] = {"changes": CHANGES, "types": {"Nobody may paint": "constraint"}}
    rest = dict.fromkeys(RELATIONS, (1 - sure) / 4)
    scored = FakeClassifier._compared
    monkeypatch.setattr(
        FakeClassifier,
        "_compared",
        lambda *args: replace(scored(*args), relations={**rest, "replaces": sure}, over=sure),
    )
    limit = stored(scope, "Nobody may paint the shed: it has to stay painted green.", importance=0.9)
    blue = stored(scope, BLUE, day=1)

    memory = read(scope, limit)
    assert (bool(memory.ended), memory.outdated_by) == ((True, None) if ends else (False, blue))


@pytest.mark.parametrize("type_", ["constraint", "instruction"])
def test_a_limit_ends_an_order_or_a_limit(scope: Scope, settings: Any, type_: str) -> None:
    settings.CLASSIFIER["OPTIONS"] = {"changes": CHANGES, "types": {"Nobody may paint": type_, BLUE: "constraint"}}
    limit = stored(scope, "Nobody may paint the shed: it has to stay painted green.", importance=0.9)
    blue = stored(scope, BLUE, day=1)

    assert (read(scope, limit).type, read(scope, blue).type) == (type_, "constraint")
    assert shown(scope, limit) != "Nobody may paint the shed: it has to stay painted green."
    assert read(scope, limit).outdated_by is None


def test_what_is_pinned_stays_as_it_is(scope: Scope) -> None:
    paint = stored(scope, PAINT, pinned=True, importance=0.9)
    stored(scope, BLUE, day=1)

    memory = read(scope, paint)
    assert (memory.text.reveal(), memory.outdated_by) == (PAINT, None)


def test_a_tenant_that_decides_for_itself_has_it_only_marked(scope: Scope) -> None:
    Tenant.objects.filter(pk=scope.tenant_id).update(changes="dispute")
    paint = stored(scope, PAINT)
    blue = stored(scope, BLUE, day=1)

    assert (shown(scope, paint), read(scope, paint).outdated_by) == (PAINT, blue)


def test_what_was_said_later_is_not_changed_by_what_was_said_before(scope: Scope) -> None:
    paint = stored(scope, PAINT, day=5)
    stored(scope, BLUE, day=1)

    assert shown(scope, paint) == PAINT


def test_what_changed_between_the_look_and_the_lock_is_left_alone(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    paint = stored(scope, PAINT)
    usual = pipeline.detect_changes

    def detect(*given: Any) -> None:
        monkeypatch.setattr(pipeline, "detect_changes", usual)
        usual(*given)
        stored(scope, "The roof of the shed is mended.", day=1)

    monkeypatch.setattr(pipeline, "detect_changes", detect)
    stored(scope, BLUE, day=1)

    assert shown(scope, paint) == "The shed is painted green and …."


def test_what_others_wrote_neither_stands_for_what_the_user_says_nor_is_changed_by_it(scope: Scope) -> None:
    theirs = stored(scope, PAINT, role="assistant", importance=0.9)
    blue = stored(scope, BLUE, day=1)
    again = stored(scope, "Told you about the shed again: the roof of the shed leaks", day=2)

    assert shown(scope, theirs) == PAINT
    assert len({theirs, blue, again}) == 3


def test_one_project_changes_nothing_of_another(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    paint = stored(scope, PAINT)
    stored(make_scope(acme, project_id=acme.project.pk), BLUE, day=1)

    assert shown(scope, paint) == PAINT


def test_two_of_a_batch_each_end_their_own_words(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    say(scope, BLUE, "The roof of the shed is mended.", day=1)

    assert shown(scope, paint) == "The shed is … and …."


def test_said_in_full_again_while_a_part_ends_it_is_kept(scope: Scope) -> None:
    paint = stored(scope, PAINT)
    _, again = say(scope, BLUE, PAINT, day=1)

    assert again.is_stored
    assert again.memory_ids != [paint]


def test_what_is_said_for_good_is_not_let_go_for_what_ends_soon(scope: Scope) -> None:
    stored(scope, PAINT, ttl_minutes=60)
    (again,) = say(scope, "Told you about the shed again: green paint and it leaks")

    assert again.is_stored


def test_without_its_classifier_the_slots_alone_know_of_changes(scope: Scope, settings: Any) -> None:
    paint = stored(scope, PAINT)
    settings.CLASSIFIER = {"BACKEND": "tests.classifiers.FailingClassifier"}
    stored(scope, BLUE, day=1, importance=0.9)

    assert shown(scope, paint) == PAINT


def test_another_space_is_not_looked_at(scope: Scope, acme: OpenedTenant) -> None:
    paint = stored(scope, PAINT)
    other = make_scope(acme, "somebody-else")
    stored(other, BLUE, day=1)

    assert shown(scope, paint) == PAINT
