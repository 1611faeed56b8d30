"""A tenant's own types: added, split off, given up and undone while memories of them come and go."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.errors import DomainError
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.edges.ontology import TooManyTypes, get_ontology, update_ontology
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.typed import write_typed
from apps.key_management import rotation
from apps.memories import integrity
from apps.memories.editing import Edit, edit
from apps.memories.models import Memory, MemoryTransition, QuarantinedRow
from apps.memories.phrase_rules import BadTypeRule, PhraseRule
from apps.memories.revisions import get_history
from apps.memories.tenant_types import Registry, read_registry
from apps.memories.typed import TypedMemory
from apps.memories.types import confidence
from apps.memory_types import change_worker, type_changes
from apps.memory_types.models import ChangeState, RowState, TypeChange, TypeChangeRow
from apps.memory_types.type_changes import (
    BadSources,
    BadTypeDefinition,
    ChangeHasDependents,
    ChangeUnderway,
    ChangeUnknown,
    Definition,
    NoMatchingRule,
    TypeBuiltIn,
    TypeExists,
    TypeSunset,
    TypeUnknown,
    ask_to_undo,
    commit,
    plan_addition,
    plan_split,
    plan_sunset,
)
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.recall.results import Filters
from apps.recall.services import recall
from tests import once
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

MEDICINES = (
    "I take 20 mg of lisinopril every morning.",
    "I take 2 tablets of ibuprofen at night.",
)
OTHERS = ("I live in Lisbon.", "My dog Biscuit sleeps on the blue sofa.", "I prefer tea.")
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
def alice(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def remember(scope: Scope, *texts: str, now: datetime = NOW) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.7) for text in texts]
    return [outcome.memory_ids[0] for outcome in services.remember(scope, proposals, now=now)]


def row(scope: Scope, memory_id: int) -> Memory:
    with tenant_transaction(scope):
        return Memory.objects.within_tenant(scope).get(pk=memory_id)


def rows(scope: Scope) -> dict[int, Memory]:
    with tenant_transaction(scope):
        return {one.pk: one for one in Memory.objects.within_tenant(scope)}


def types(scope: Scope) -> dict[int, str]:
    return {pk: one.type for pk, one in rows(scope).items()}


def states(scope: Scope, change: TypeChange) -> dict[int, str]:
    with tenant_transaction(scope):
        noted = TypeChangeRow.objects.within(scope).filter(change_id=change.pk)
        return dict(noted.values_list("memory_id", "state"))


def audited(scope: Scope) -> list[tuple[str, str, int]]:
    with tenant_transaction(scope):
        events = AuditEvent.objects.filter(tenant_id=scope.tenant_id, action__startswith="types.").order_by("pk")
        return list(events.values_list("action", "reason", "count"))


def wording(*words: str, key_prefix: str = "") -> PhraseRule:
    return PhraseRule(name="words", type="", sources=(), words=words, key_prefix=key_prefix)


MEDICATION = (wording("# mg", "tablet*"),)


def add_medication(scope: Scope, definition: Definition | None = None) -> TypeChange:
    planned = plan_addition(scope, "medication", definition or Definition(parent="fact", slot="own"), MEDICATION)
    return commit(scope, planned, now=NOW)


def finish(change: TypeChange, *, now: datetime = LATER) -> TypeChange:
    """No other worker is at it, and enough time has passed for its second look."""
    assert change_worker.work(change.pk, seconds=60, clock=lambda: now) == SliceOutcome.OVER
    change.refresh_from_db()
    return change


# --- adding one -----------------------------------------------------------------------------------------------------


def test_a_type_that_is_added_takes_its_memories_and_leaves_the_others(alice: Scope) -> None:
    medicines, others = remember(alice, *MEDICINES), remember(alice, *OTHERS)
    before = rows(alice)

    change = finish(add_medication(alice))

    after = rows(alice)
    assert {after[one].type for one in medicines} == {"medication"}
    for one in others:
        assert vars(after[one]).items() >= {k: v for k, v in vars(before[one]).items() if k != "_state"}.items()
    assert (change.state, change.rows_total, change.rows_seen) == (ChangeState.DONE, 5, 5)
    assert (change.rows_changed, change.rows_taken, change.rows_broken) == (2, 0, 0)


def test_a_typed_memory_keeps_the_type_that_its_caller_stated(alice: Scope) -> None:
    text = Plaintext(MEDICINES[0])
    stated = [
        TypedMemory(type=type_, summary=text, content=Plaintext('{"mg":20}'), topic_key=key)
        for type_, key in (("fact", "user.medicine"), ("instruction", None), ("event", None))
    ]
    written = write_typed(alice, "alice", stated, now=NOW)
    before = rows(alice)

    change = finish(add_medication(alice))

    assert {pk: (one.type, one.public_id, one.slot) for pk, one in rows(alice).items()} == {
        pk: (one.type, one.public_id, one.slot) for pk, one in before.items()
    }
    assert len(before) == len(written.results) == 3
    assert (change.rows_total, change.rows_seen, change.rows_changed) == (0, 0, 0)


def test_a_memory_of_another_type_is_whole(alice: Scope) -> None:
    (memory_id,) = remember(alice, MEDICINES[0])
    before = row(alice, memory_id)

    finish(add_medication(alice, Definition(slot="own", prior=0.05, half_life_days=10)))

    after = row(alice, memory_id)
    assert bytes(after.slot or b"") != bytes(before.slot or b"")
    assert after.slot is not None
    assert after.public_id != before.public_id
    assert after.type_prior == 0.05
    assert after.confidence == confidence(
        source_strength=before.source_strength,
        repetition_count=1,
        extractor_confidence=before.extractor_confidence,
        prior=0.05,
    )
    with tenant_transaction(alice):
        assert after.changed_txid == Space.objects.within(alice).get().txid == before.changed_txid + 1
        assert MemoryTransition.objects.within(alice).filter(memory_id=memory_id, event="retyped").count() == 1
    revision = get_history(alice, memory_id, limit=10, offset=1, now=LATER).revisions[0]
    assert (revision.event, revision.changed_fields) == ("updated", ["extracted_type"])
    assert revision.diff == {"extracted_type": {"old": "fact", "new": "medication"}}
    assert audited(alice) == [("types.add", "medication", 1), ("types.done", "medication", 1)]


def test_what_is_written_after_a_type_was_added_is_of_it_at_once(alice: Scope) -> None:
    change = add_medication(alice, Definition(parent="fact", slot="own", ttl=timedelta(days=30)))

    (memory_id,) = remember(alice, MEDICINES[0])

    new = row(alice, memory_id)
    assert new.type == "medication"
    assert new.expires_at == NOW + timedelta(days=30)
    assert finish(change).rows_changed == 0


def test_a_newer_value_replaces_one_that_was_taken_over(alice: Scope) -> None:
    (older,) = remember(alice, "I take 20 mg of lisinopril every morning.")
    finish(add_medication(alice))

    (newer,) = remember(alice, "I take 40 mg of lisinopril every morning.", now=LATER)

    assert row(alice, older).superseded_by_id == newer
    assert types(alice) == {older: "medication", newer: "medication"}


def test_memories_of_a_type_without_a_slot_stand_beside_each_other(alice: Scope) -> None:
    (older,) = remember(alice, "I take 20 mg of lisinopril every morning.")
    finish(add_medication(alice, Definition(slot="none")))

    (newer,) = remember(alice, "I take 40 mg of lisinopril every morning.", now=LATER)

    after = rows(alice)
    assert [(one.slot, one.validity) for one in after.values()] == [(None, "current")] * 2
    assert set(after) == {older, newer}


def test_memories_are_found_as_before_and_by_their_new_type(alice: Scope) -> None:
    medicines = remember(alice, *MEDICINES)
    remember(alice, *OTHERS)
    question = Plaintext("which medicine do I take?")
    before = [(hit.memory.id, hit.memory.text.reveal()) for hit in recall(alice, question, now=LATER).hits]

    finish(add_medication(alice))

    assert [(hit.memory.id, hit.memory.text.reveal()) for hit in recall(alice, question, now=LATER).hits] == before
    found = recall(alice, question, filters=Filters(types=("medication",)), now=LATER).hits
    assert {hit.memory.id for hit in found} == set(medicines)


def test_an_add_that_did_not_know_of_the_type_is_looked_at_again(alice: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(alice, *OTHERS)
    change = add_medication(alice)
    assert change_worker.work(change.pk, seconds=60, clock=lambda: NOW) == SliceOutcome.BUSY
    for_scope = PipelineContext.for_scope
    unaware = lambda *given, **named: replace(for_scope(*given, **named), types=Registry())  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(PipelineContext, "for_scope", unaware)
        (late,) = remember(alice, MEDICINES[0])
    assert row(alice, late).type == "fact"

    finish(change)

    assert row(alice, late).type == "medication"


def test_another_tenant_has_no_part_in_it(alice: Scope, globex: OpenedTenant) -> None:
    theirs = make_scope(globex)
    (memory_id,) = remember(theirs, MEDICINES[0])

    finish(add_medication(alice))

    assert row(theirs, memory_id).type == "fact"
    assert "medication" not in read_registry(theirs)
    assert row(theirs, remember(theirs, "I take 5 mg of melatonin at night.")[0]).type == "fact"


def test_another_tenants_type_of_the_same_name_is_another_type(alice: Scope, globex: OpenedTenant) -> None:
    theirs = make_scope(globex)
    added = [finish(add_medication(scope)) for scope in (alice, theirs)]

    mine = finish(commit(alice, plan_sunset(alice, "medication", "fact"), now=NOW))
    assert read_registry(theirs).now_called("medication") == "medication"

    finish(commit(theirs, plan_sunset(theirs, "medication", "fact"), now=NOW))
    finish(ask_to_undo(alice, mine.pk, now=LATER))
    assert read_registry(alice).now_called("medication") == "medication"
    assert read_registry(theirs).now_called("medication") == "fact"

    finish(ask_to_undo(alice, added[0].pk, now=LATER))
    assert "medication" not in read_registry(alice)
    assert "medication" in read_registry(theirs)


def test_all_spaces_are_gone_through_in_small_batches(alice: Scope, acme: OpenedTenant, monkeypatch: Any) -> None:
    monkeypatch.setattr(change_worker, "LARGEST_BATCH", 2)
    monkeypatch.setattr(change_worker, "SMALLEST_BATCH", 2)
    ids = [one for name in "abc" for one in remember(make_scope(acme, name), *MEDICINES, *OTHERS)]

    change = finish(add_medication(alice))

    assert (change.rows_seen, change.rows_changed) == (len(ids), 6)


# --- a dry run ------------------------------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_done_and_does_nothing(alice: Scope) -> None:
    medicines = remember(alice, *MEDICINES)
    remember(alice, *OTHERS)
    before = {pk: {k: v for k, v in vars(one).items() if k != "_state"} for pk, one in rows(alice).items()}

    planned = plan_addition(alice, "medication", Definition(parent="fact", slot="own"), MEDICATION)
    seen = change_worker.preview(alice, planned, most=1, now=LATER)

    assert (seen.seen, seen.changed, seen.taken, seen.broken) == (5, 2, 0, 0)
    assert seen.by == {("fact", "words"): 2}
    (sample,) = seen.sample
    assert (sample.memory_id, sample.was, sample.becomes, sample.wording) == (
        medicines[1], "fact", "medication", "words",
    )  # fmt: skip
    assert "ibuprofen" not in repr(seen)
    assert {pk: {k: v for k, v in vars(one).items() if k != "_state"} for pk, one in rows(alice).items()} == before
    assert not TypeChange.objects.exists()
    assert "medication" not in read_registry(alice)


# --- taken places, broken rows --------------------------------------------------------------------------------------


def split(scope: Scope, name: str, word: str, *sources: str) -> TypeChange:
    planned = plan_split(scope, name, Definition(), (wording(word),), sources=sources)
    return commit(scope, planned, now=NOW)


def test_a_memory_whose_place_another_has_stays_what_it_is(alice: Scope) -> None:
    (dark,) = remember(alice, "I prefer dark mode.")
    finish(split(alice, "instruction", "dark", "preference"))
    (light,) = remember(alice, "I prefer light mode.", now=LATER)
    planned = plan_split(alice, "instruction", Definition(), (wording("light"),), sources=("preference",))
    seen = change_worker.preview(alice, planned, most=5, now=LATER)

    change = finish(commit(alice, planned, now=NOW))

    assert (change.rows_changed, change.rows_taken) == (0, 1) == (seen.changed, seen.taken)
    assert states(alice, change) == {light: RowState.TAKEN}
    assert types(alice) == {dark: "instruction", light: "preference"}
    assert row(alice, light).validity == "current"


def test_a_row_that_fails_its_seal_is_counted_and_holds_up_nothing(alice: Scope) -> None:
    good, bad = remember(alice, *MEDICINES)
    with tenant_transaction(alice):
        Memory.objects.within_tenant(alice).filter(pk=bad).update(text_ct=b"\x01broken")

    change = finish(add_medication(alice))

    assert (change.rows_changed, change.rows_broken, change.state) == (1, 1, ChangeState.DONE)
    assert row(alice, good).type == "medication"
    integrity.flush()
    with tenant_transaction(alice):
        assert QuarantinedRow.objects.within(alice).get().record_id == bad


# --- splitting, giving up -------------------------------------------------------------------------------------------


def test_what_is_split_off_is_told_by_its_words(alice: Scope) -> None:
    (rule,) = remember(alice, "My dog Biscuit sleeps on the blue sofa.")
    (other,) = remember(alice, "I live in Lisbon.")

    finish(split(alice, "constraint", "blue sofa", "fact"))

    assert types(alice) == {rule: "constraint", other: "fact"}
    assert row(alice, rule).type_prior == 0.15
    assert row(alice, remember(alice, "My cat Tom sleeps on the blue sofa too.", now=LATER)[0]).type == "constraint"


def test_a_type_that_is_given_up_gives_its_memories_and_its_future_to_another(alice: Scope) -> None:
    (memory_id,) = remember(alice, MEDICINES[0])
    finish(add_medication(alice))

    change = finish(commit(alice, plan_sunset(alice, "medication", "fact"), now=NOW))

    assert (change.rows_seen, change.rows_changed) == (1, 1)
    assert row(alice, memory_id).type == "fact"
    assert row(alice, remember(alice, "I take 5 mg of melatonin at night.")[0]).type == "fact"
    assert "medication" not in get_ontology(alice).custom_content_types
    with pytest.raises(TypeSunset):
        plan_sunset(alice, "medication", "fact")
    with pytest.raises(TypeSunset):
        plan_split(alice, "medication", Definition(), MEDICATION, sources=("fact",))


# --- killed, resumed, undone ----------------------------------------------------------------------------------------


def test_a_worker_that_dies_leaves_whole_batches_and_the_next_one_goes_on(
    alice: Scope, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_worker, "SMALLEST_BATCH", 1)
    ids = [one for name in "abc" for one in remember(make_scope(acme, name), *MEDICINES, *OTHERS)]
    change, note, turns = add_medication(alice), change_worker._note, iter(range(100))

    def dies(*given: Any, **named: Any) -> None:
        note(*given, **named)
        if next(turns) == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(change_worker, "_note", dies)
        patched.setattr(change_worker, "LARGEST_BATCH", 1)
        with pytest.raises(KeyboardInterrupt):
            change_worker.work(change.pk, seconds=60, clock=lambda: LATER)
    change.refresh_from_db()
    done_before = list(types(alice).values()).count("medication")
    assert (change.state, change.rows_changed) == (ChangeState.RUNNING, done_before)
    assert 0 < done_before < 6
    assert change_worker.open_changes() == [change.pk]

    finish(change)

    assert (change.rows_changed, change.rows_seen) == (6, len(ids))
    assert list(types(alice).values()).count("medication") == 6
    assert change_worker.open_changes() == []


def test_undoing_gives_each_memory_back_as_it_was(alice: Scope) -> None:
    remember(alice, *MEDICINES, *OTHERS)
    before = rows(alice)
    change = finish(add_medication(alice, Definition(slot="none", prior=0.01)))

    ask_to_undo(alice, change.pk, now=LATER)
    finish(change)

    assert (change.state, change.rows_restored, change.rows_kept) == (ChangeState.UNDONE, 2, 0)
    for pk, after in rows(alice).items():
        for name in ("type", "slot", "value_mac", "public_id", "type_prior", "confidence", "validity"):
            assert getattr(after, name) == getattr(before[pk], name), name
    assert "medication" not in read_registry(alice)
    assert row(alice, remember(alice, "I take 5 mg of melatonin at night.")[0]).type == "fact"
    assert ask_to_undo(alice, change.pk, now=LATER).state == ChangeState.UNDONE


def test_undoing_leaves_what_somebody_changed_since(alice: Scope) -> None:
    edited, other = remember(alice, *MEDICINES)
    change = finish(add_medication(alice))
    edit(alice, Edit(memory_id=edited, tags=("mine",)), now=LATER)

    ask_to_undo(alice, change.pk, now=LATER)
    finish(change)

    assert (change.rows_restored, change.rows_kept) == (1, 1)
    assert types(alice) == {edited: "medication", other: "fact"}
    assert states(alice, change) == {edited: RowState.KEPT, other: RowState.RESTORED}
    assert "medication" in read_registry(alice)


def test_undoing_a_sunset_brings_the_type_back(alice: Scope) -> None:
    (memory_id,) = remember(alice, MEDICINES[0])
    finish(add_medication(alice))
    slot = row(alice, memory_id).slot
    change = finish(commit(alice, plan_sunset(alice, "medication", "fact"), now=NOW))

    ask_to_undo(alice, change.pk, now=LATER)
    finish(change)

    assert (row(alice, memory_id).type, row(alice, memory_id).slot) == ("medication", slot)
    assert row(alice, remember(alice, "I take 5 mg of melatonin at night.")[0]).type == "medication"


def test_a_change_can_be_undone_while_it_is_under_way(alice: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(alice, *MEDICINES)
    change = add_medication(alice)
    assert change_worker.work(change.pk, seconds=60, clock=lambda: NOW) == SliceOutcome.BUSY

    ask_to_undo(alice, change.pk, now=LATER)
    finish(change)

    assert set(types(alice).values()) == {"fact"}


def test_handles_are_made_anew_for_types_of_the_tenants_own(alice: Scope, acme: OpenedTenant) -> None:
    (older,) = remember(alice, "I take 20 mg of lisinopril every morning.")
    finish(add_medication(alice))
    turned = rotation.rotate(acme.scope, reason="lost", is_compromise=True, now=NOW)
    rotation.work(turned.pk, seconds=60, workers=1, clock=lambda: LATER)

    fresh = make_scope(acme)
    (newer,) = remember(fresh, "I take 40 mg of lisinopril every morning.", now=LATER)

    assert row(alice, older).superseded_by_id == newer


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "definition", "sources", "error"),
    [
        ("fact", Definition(), (), TypeExists),
        ("Medication", Definition(), (), type_changes.BadTypeName),
        ("x" * 33, Definition(), (), type_changes.BadTypeName),
        ("new", Definition(parent="nothing"), (), TypeUnknown),
        ("new", Definition(prior=0.3), (), BadTypeDefinition),
        ("new", Definition(half_life_days=0), (), BadTypeDefinition),
        ("new", Definition(ttl=timedelta(0)), (), BadTypeDefinition),
        ("new", Definition(), ("nothing",), BadSources),
        ("new", Definition(), ("summary",), BadSources),
        ("new", Definition(), ("reference",), BadSources),
    ],
)
def test_a_type_that_cannot_be_is_refused(
    alice: Scope, name: str, definition: Definition, sources: tuple[str, ...], error: type[DomainError]
) -> None:
    with pytest.raises(error):
        plan_addition(alice, name, definition, MEDICATION, sources=sources)


def test_changes_that_make_no_sense_are_refused(alice: Scope, globex: OpenedTenant) -> None:
    change = finish(add_medication(alice))

    for attempt, error in (
        (lambda: plan_split(alice, "constraint", Definition(), (), sources=("fact",)), NoMatchingRule),
        (lambda: plan_split(alice, "constraint", Definition(), MEDICATION, sources=("constraint",)), BadSources),
        (lambda: plan_split(alice, "constraint", Definition(), MEDICATION, sources=()), BadSources),
        (lambda: plan_split(alice, "constraint", Definition(), (wording(),), sources=("fact",)), BadTypeRule),
        (lambda: plan_sunset(alice, "fact", "event"), TypeBuiltIn),
        (lambda: plan_sunset(alice, "nothing", "event"), TypeUnknown),
        (lambda: plan_sunset(alice, "medication", "nothing"), TypeUnknown),
        (lambda: plan_sunset(alice, "medication", "medication"), BadSources),
        (lambda: plan_sunset(alice, "medication", "summary"), BadSources),
        (lambda: ask_to_undo(make_scope(globex), change.pk, now=LATER), ChangeUnknown),
        (lambda: ask_to_undo(alice, change.pk + 1, now=LATER), ChangeUnknown),
    ):
        with pytest.raises(error):
            attempt()


def test_one_change_at_a_time_and_the_last_is_undone_first(alice: Scope) -> None:
    first = finish(add_medication(alice))
    second = split(alice, "medication", "pill", "fact")
    planned = plan_split(alice, "constraint", Definition(), (wording("never"),), sources=("fact",))

    with pytest.raises(ChangeUnderway):
        commit(alice, planned, now=NOW)
    with pytest.raises(ChangeUnderway):
        ask_to_undo(alice, first.pk, now=LATER)
    finish(second)
    with pytest.raises(ChangeHasDependents):
        ask_to_undo(alice, first.pk, now=LATER)


def test_a_tenant_adds_no_more_than_32_types_however_it_names_them(alice: Scope) -> None:
    update_ontology(alice, content_types=[f"label_{number}" for number in range(31)], now=NOW)
    finish(add_medication(alice))

    with pytest.raises(TooManyTypes):
        plan_addition(alice, "one_more", Definition(), ())
    with pytest.raises(TooManyTypes):
        update_ontology(alice, content_types=[f"label_{number}" for number in range(32)], now=NOW)
    assert update_ontology(alice, content_types=[], now=NOW).custom_content_types == ["medication"]
    assert plan_addition(alice, "one_more", Definition(), ()).type.name == "one_more"
