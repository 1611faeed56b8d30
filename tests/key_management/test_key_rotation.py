"""A tenant's data key turns while everything goes on: nothing lost, nothing mixed, nothing found differently."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto import lifecycle
from apps.crypto.lifecycle import KeyInUse, RowsRemain
from apps.crypto.models import KeyKind
from apps.crypto.services import DecryptError, key_version_of
from apps.ingest import pipeline, services
from apps.ingest.candidates import Outcome, Proposal
from apps.key_management import keys, rotation, scheduler
from apps.key_management.models import KeyRewrap, KeyRotation
from apps.key_management.rotation_requests import RotationUnderway, ask_for_rewrap, ask_for_rotation
from apps.memories import integrity, reencryption
from apps.memories.branches import create_branch
from apps.memories.editing import Edit, edit
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.models import Memory, MemoryFeedback, MemoryTransition, MemoryVector, QuarantinedRow
from apps.memories.revisions import get_history
from apps.memories.selectors import get_memory
from apps.memories.spaces import find_end_user, reread_space
from apps.outbox import handlers
from apps.projects.models import Space
from apps.projects.scope import Principal, Scope
from apps.recall import read_log
from apps.recall.results import Filters
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, preview
from apps.retention.requests import ask, confirm
from apps.tenants.models import EndUser
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = (
    "My dog Biscuit sleeps on the blue sofa.",
    "Parcel 17 went to the harbour office in Lisbon.",
    "I am allergic to penicillin.",
    "My sister Marta repairs old violins.",
    "The garden fence was painted green before the harvest.",
    "I prefer tea without sugar in the morning.",
)
QUESTIONS = ("where does the dog sleep?", "what am I allergic to?", "who repairs violins?", "what is in the garden?")


def later(**spans: float) -> datetime:
    return NOW + timedelta(**spans)


def remember(scope: Scope, *texts: str, **fields: Any) -> list[Outcome]:
    proposals = [Proposal(text=Plaintext(text), importance=0.7, **fields) for text in texts]
    return services.remember(scope, proposals, now=NOW)


def answers(scope: Scope) -> list[list[tuple[int, float]]]:
    return [
        [(hit.memory.id, round(hit.score, 6)) for hit in recall(scope, Plaintext(question), limit=10, now=NOW).hits]
        for question in QUESTIONS
    ]


def versions_of(scope: Scope) -> dict[str, set[int]]:
    """The versions that rows say they are under, and those that their seals say."""
    with tenant_transaction(scope):
        rows = list(Memory.objects.within_tenant(scope))
        vectors = list(MemoryVector.objects.within(scope))
        people = list(EndUser.objects.within(scope))
    sealed = [row.text_ct for row in rows] + [row.handles_ct for row in rows] + [row.embedding_ct for row in vectors]
    sealed += [person.external_ct for person in people]
    return {
        "said": {row.key_version for row in (*rows, *vectors, *people)},
        "sealed": {key_version_of(bytes(blob)) for blob in sealed if blob},
    }


def finish(one: KeyRotation, *, now: datetime = NOW) -> KeyRotation:
    """No other worker is at it, so there is nothing to wait for."""
    assert rotation.work(one.pk, seconds=60, workers=1, clock=lambda: now) == SliceOutcome.OVER
    one.refresh_from_db()
    return one


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    scope = make_scope(acme)
    remember(scope, *SAID[:3])
    remember(scope, *SAID[3:], session_id="chat-1", client_ref="import-1")
    yield scope
    read_log.flush()


def test_what_changed_and_what_was_said_of_it_turn_with_the_memory(scope: Scope) -> None:
    """Edits before, during and after: every seal ends under the new key, and every value is what it was."""
    (memory_id,) = remember(scope, "The lighthouse keeper paints boats.", tags=("sea",)).pop().memory_ids
    edit(scope, Edit(memory_id=memory_id, tags=["boats"], metadata={"n": 1}), now=NOW)
    give_feedback(scope, memory_id, Signal.POSITIVE, comment=Plaintext("yes, that one"), now=NOW)
    one = rotation.rotate(scope, reason="test", now=NOW)
    edit(scope, Edit(memory_id=memory_id, tags=["paint"], metadata={"n": 2}), now=NOW)  # its text is under the old key
    during = get_history(scope, memory_id, limit=10, offset=0, now=NOW)
    found = recall(scope, Plaintext("who paints?"), filters=Filters(tags=("paint",)), limit=10, now=NOW).hits

    finish(one)

    edit(scope, Edit(memory_id=memory_id, source="harbour"), now=NOW)
    after = get_history(scope, memory_id, limit=10, offset=0, now=NOW)
    with tenant_transaction(scope):
        blobs = [*MemoryTransition.objects.within(scope).exclude(diff_ct=None).values_list("diff_ct", flat=True)]
        blobs += MemoryFeedback.objects.within(scope).exclude(comment_ct=None).values_list("comment_ct", flat=True)
    assert [hit.memory.id for hit in found] == [memory_id]
    assert {key_version_of(bytes(blob)) for blob in blobs} == {2}
    assert list(after.revisions[:-1]) == list(during.revisions)
    assert get_memory(scope, memory_id, now=NOW).metadata == {"n": 2}


def test_requests_to_forget_turn_and_choose_the_same(scope: Scope) -> None:
    (memory_id,) = remember(scope, "The lighthouse keeper paints boats.", tags=("sea", "boats")).pop().memory_ids
    choice = MemorySelection(tags=("boats", "sea"))
    asked, _ = ask(scope, choice, reason=Plaintext("he said so"), now=NOW)
    one = rotation.rotate(scope, reason="test", now=NOW)
    during = preview(scope, choice, now=NOW)

    finish(one)

    again, is_new = ask(scope, choice, now=NOW)
    person = replace(scope, spaces=(), project_id=None, principal=Principal(kind="account", id=7))
    assert (during, again, is_new) == ([memory_id], asked, False)
    assert confirm(person, asked.id, now=NOW) == [memory_id]


# --- turning --------------------------------------------------------------------------------------------------------


def test_every_row_is_sealed_under_the_new_key_and_says_what_it_said(scope: Scope) -> None:
    before = answers(scope)

    one = finish(rotation.rotate(scope, reason="test", now=NOW))

    assert versions_of(scope) == {"said": {2}, "sealed": {2}}
    assert answers(scope) == before
    assert (one.state, one.from_version, one.to_version) == ("done", 1, 2)
    assert one.rows_done == one.rows_total >= len(SAID)


def test_in_every_phase_a_search_finds_the_same_with_the_same_scores(scope: Scope) -> None:
    seen = [answers(scope)]
    one = rotation.rotate(scope, reason="test", now=NOW)

    left = []
    while (progress := rotation.progress(scope, now=NOW)) and progress.left:
        seen.append(answers(scope))
        left.append(progress.left)
        with tenant_transaction(scope):
            reencryption.reseal_batch(scope, limit=2, now=NOW)
    finish(one)
    seen.append(answers(scope))

    assert len(left) >= 3
    assert all(answer == seen[0] for answer in seen)
    assert all(seen[0])


def test_an_add_whose_key_turns_meanwhile_is_stored_under_the_new_one(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned: list[KeyRotation] = []
    real = pipeline.run

    def run(proposals: Any, tools: Any) -> Any:
        if not turned:
            turned.append(rotation.rotate(scope, reason="test", now=NOW))
        return real(proposals, tools)

    monkeypatch.setattr(pipeline, "run", run)
    (outcome,) = remember(scope, "The station clock was repaired in March.")

    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get(pk=outcome.memory_ids[0])
    assert (row.key_version, key_version_of(bytes(row.text_ct))) == (2, 2)


def test_what_a_killed_worker_had_not_committed_is_as_it_was_and_the_rest_is_done_by_others(scope: Scope) -> None:
    before = answers(scope)
    one = rotation.rotate(scope, reason="test", now=NOW)
    with tenant_transaction(scope):
        before_the_batch = transaction.savepoint()
        reencryption.reseal_batch(scope, limit=3, now=NOW)
        transaction.savepoint_rollback(before_the_batch)
    assert versions_of(scope)["said"] == {1}

    assert finish(one).state == "done"
    assert versions_of(scope) == {"said": {2}, "sealed": {2}}
    assert answers(scope) == before


@pytest.mark.parametrize("seed", range(5))
def test_tasks_delivered_many_times_and_in_any_order_leave_the_same_state(scope: Scope, seed: int) -> None:
    before, chosen = answers(scope), random.Random(seed)
    one = ask_for_rotation(scope, reason="test", now=NOW)
    turn = partial(rotation.work, one.pk, seconds=60, workers=1, clock=lambda: NOW)
    begin = partial(rotation.begin, scope, one.pk, now=NOW)
    tend = partial(scheduler.run_due_key_work, now=NOW)
    tasks = [task for task in (turn, begin, tend, turn) for _ in range(chosen.randint(1, 5))]
    chosen.shuffle(tasks)

    for task in tasks:
        task()
    finish(one)

    assert versions_of(scope) == {"said": {2}, "sealed": {2}}
    assert answers(scope) == before
    status = keys.status(scope, now=NOW)
    assert [(key.kind, key.version, key.state) for key in status.keys] == [
        ("root", 2, "active"), ("root", 1, "read_only"), ("identity", 1, "active"),
    ]  # fmt: skip
    assert KeyRotation.objects.get().rows_done == KeyRotation.objects.get().rows_total


def test_a_row_that_does_not_open_is_put_aside_and_the_rest_is_done(scope: Scope) -> None:
    with tenant_transaction(scope):
        broken = Memory.objects.within(scope).order_by("pk")[0]
        Memory.objects.within(scope).filter(pk=broken.pk).update(
            text_ct=bytes(broken.text_ct)[:-1] + bytes([broken.text_ct[-1] ^ 1])
        )

    one = finish(rotation.rotate(scope, reason="test", now=NOW))

    assert (one.state, one.rows_quarantined) == ("done", 1)
    assert one.rows_done == one.rows_total - 1
    with tenant_transaction(scope):
        assert list(QuarantinedRow.objects.within(scope).values_list("record_id", flat=True)) == [broken.pk]
        assert Memory.objects.within(scope).get(pk=broken.pk).key_version == 1


def test_a_vector_that_does_not_open_is_made_anew(scope: Scope) -> None:
    with tenant_transaction(scope):
        broken = MemoryVector.objects.within(scope).order_by("pk")[0]
        MemoryVector.objects.within(scope).filter(pk=broken.pk).update(embedding_ct=b"gone")

    one = finish(rotation.rotate(scope, reason="test", now=NOW))
    while handlers.process_due_events(now=later(minutes=1)):
        pass

    assert one.state == "done"
    assert get_memory(scope, broken.memory_id, now=NOW).is_embedded
    assert versions_of(scope) == {"said": {2}, "sealed": {2}}


def test_a_second_rotation_waits_for_the_first(scope: Scope) -> None:
    rotation.rotate(scope, reason="test", now=NOW)

    with pytest.raises(RotationUnderway):
        rotation.rotate(scope, reason="test", now=NOW)


def test_other_tenants_are_left_alone(scope: Scope, globex: OpenedTenant) -> None:
    theirs = make_scope(globex)
    remember(theirs, *SAID)

    finish(rotation.rotate(scope, reason="test", now=NOW))

    assert versions_of(theirs) == {"said": {1}, "sealed": {1}}


def test_as_many_work_at_once_as_may_and_no_more(scope: Scope, superuser_url: str) -> None:
    """An attacker who fills the queue with turns must not make every worker turn."""
    one = rotation.rotate(scope, reason="test", now=NOW)
    name = (rotation._SLOTS, one.pk * 64 % 2**31)
    database = connection.settings_dict["NAME"]
    with psycopg.connect(superuser_url.rsplit("/", 1)[0] + f"/{database}") as other:
        other.execute("select pg_advisory_xact_lock(%s, %s)", name)

        assert rotation.work(one.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.BUSY
        assert rotation.work(one.pk, seconds=60, workers=2, clock=lambda: NOW) == SliceOutcome.OVER


# --- the trigger ----------------------------------------------------------------------------------------------------


def test_no_row_comes_under_a_version_that_is_not_active(scope: Scope) -> None:
    """The writer that forgot the lock, and the one that was given another version."""
    finish(rotation.rotate(scope, reason="test", now=NOW))

    for table in ("memories_memory", "memories_memoryvector", "tenants_enduser", "ingest_ingestreceipt"):
        with tenant_transaction(scope), connection.cursor() as cursor:
            cursor.execute(f"select count(*) from {table}")  # noqa: S608  (ours)
            assert cursor.fetchone() != (0,), table
        with pytest.raises(IntegrityError, match="key version 1, and 2 is active"), tenant_transaction(scope):
            connection.cursor().execute(f"update {table} set key_version = 1")  # noqa: S608


# --- out of use -----------------------------------------------------------------------------------------------------


def test_the_old_key_is_retired_when_its_time_is_over_and_nothing_is_under_it(scope: Scope) -> None:
    finish(rotation.rotate(scope, reason="test", now=NOW))

    scheduler.run_due_key_work(now=later(days=29))
    assert state_of(scope, 1) == "read_only"
    scheduler.run_due_key_work(now=later(days=30, minutes=1))

    assert state_of(scope, 1) == "retired"
    assert keys.status(scope, now=NOW).live_versions == (2,)
    assert all(answers(scope))


def test_a_key_with_rows_left_is_given_more_time_and_somebody_is_told(
    scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    one = rotation.rotate(scope, reason="test", now=NOW)

    scheduler.run_due_key_work(now=later(days=31))

    assert state_of(scope, 1) == "read_only"
    assert "a key cannot be retired: rows are under it" in caplog.messages
    finish(one, now=later(days=32))
    scheduler.run_due_key_work(now=later(days=39))
    assert state_of(scope, 1) == "retired"


def test_one_row_is_enough_to_refuse(scope: Scope) -> None:
    rotation.rotate(scope, reason="test", now=NOW)
    while rotation.count_left(scope) > 1:
        with tenant_transaction(scope):
            reencryption.reseal_batch(scope, limit=1, now=NOW)

    with pytest.raises(RowsRemain):
        keys.retire(scope, 1, now=NOW)

    assert state_of(scope, 1) == "read_only"


def test_rows_that_were_left_behind_are_found_and_done(scope: Scope) -> None:
    """As a rotation that was taken over leaves them, or a restored backup."""
    one = rotation.rotate(scope, reason="test", now=NOW)
    KeyRotation.objects.filter(pk=one.pk).update(state="done", finished_at=NOW)

    scheduler.run_due_key_work(now=later(days=31))
    finish(KeyRotation.objects.get(state="running"), now=later(days=31))

    assert versions_of(scope) == {"said": {2}, "sealed": {2}}


def test_rows_that_were_left_behind_are_asked_for_once_whatever_another_tenant_does(
    scope: Scope, globex: OpenedTenant
) -> None:
    theirs = make_scope(globex)
    remember(theirs, SAID[0])
    one = rotation.rotate(scope, reason="test", now=NOW)
    KeyRotation.objects.filter(pk=one.pk).update(state="done", finished_at=NOW)
    rotation.rotate(theirs, reason="test", now=NOW)

    first, again = rotation.reseal(scope, now=NOW), rotation.reseal(scope, now=NOW)

    assert first is not None
    assert (first.tenant_id, again) == (scope.tenant_id, None)


def test_a_key_in_use_is_not_destroyed_and_neither_is_one_with_a_row_in_quarantine(scope: Scope) -> None:
    with tenant_transaction(scope):
        broken = Memory.objects.within(scope).order_by("pk")[0]
        Memory.objects.within(scope).filter(pk=broken.pk).update(
            text_ct=bytes(broken.text_ct)[:-1] + bytes([broken.text_ct[-1] ^ 1])
        )
    finish(rotation.rotate(scope, reason="test", now=NOW))
    with pytest.raises(KeyInUse):
        keys.destroy(scope, 1, now=NOW)
    scheduler.run_due_key_work(now=later(days=31))
    assert state_of(scope, 1) == "retired"

    with pytest.raises(RowsRemain):
        keys.destroy(scope, 1, now=NOW)
    keys.destroy(scope, 1, despite_rows=True, now=NOW)

    assert state_of(scope, 1) == "destroyed"
    assert all(answers(scope))


def test_with_a_live_key_destroyed_its_rows_are_left_out_and_nothing_fails(scope: Scope) -> None:
    rotation.rotate(scope, reason="test", is_compromise=True, now=NOW)
    (outcome,) = remember(reread_space(scope), "The station clock was repaired in March.")

    keys.destroy(scope, 1, despite_rows=True, now=NOW)

    hits = recall(reread_space(scope), Plaintext("what was repaired in March?"), limit=10, now=NOW).hits
    assert [hit.memory.id for hit in hits] == outcome.memory_ids


@pytest.mark.parametrize(("after", "expected"), [(0, "retired"), (90, "destroyed")])
def test_only_a_setting_destroys_by_itself(scope: Scope, settings: Any, after: int, expected: str) -> None:
    settings.KEY_DESTROY_AFTER_DAYS = after
    finish(rotation.rotate(scope, reason="test", now=NOW))
    scheduler.run_due_key_work(now=later(days=31))

    scheduler.run_due_key_work(now=later(days=31 + 91))

    assert state_of(scope, 1) == expected


def state_of(scope: Scope, version: int, kind: KeyKind = KeyKind.ROOT) -> str:
    (state,) = [key.state for key in lifecycle.key_facts(scope) if (key.kind, key.version) == (kind, version)]
    return state


# --- by schedule ----------------------------------------------------------------------------------------------------


def test_an_old_key_is_rotated_by_schedule_once(scope: Scope, acme: OpenedTenant) -> None:
    now = acme.tenant.created_at + timedelta(days=365, minutes=1)

    for _ in range(3):
        scheduler.run_due_key_work(now=now)

    assert KeyRotation.objects.get().reason == "scheduled"
    assert keys.status(scope, now=NOW).active_version == 2


def test_a_late_rotation_gets_twice_the_workers_then_a_warning_then_an_error(
    scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    rotation.rotate(scope, reason="test", now=NOW)

    def said(days: float) -> tuple[int, list[str]]:
        caplog.clear()
        (due,) = scheduler.run_due_key_work(now=later(days=days))
        late = [record.levelname for record in caplog.records if record.name == scheduler.__name__]
        return due.workers, late

    assert said(6) == (1, [])
    assert said(8) == (2, [])
    assert said(20.1) == (2, ["WARNING"])
    assert said(20.2) == (2, [])
    assert said(25.5) == (2, ["ERROR"])


# --- compromise -----------------------------------------------------------------------------------------------------


def test_after_a_compromise_every_key_and_handle_is_new_and_everything_is_found(scope: Scope) -> None:
    before = answers(scope)
    with tenant_transaction(scope):
        old = {row.pk: (bytes(row.text_mac), row.public_id) for row in Memory.objects.within(scope)}
        person = bytes(EndUser.objects.within(scope).get().external_mac)

    finish(rotation.rotate(scope, reason="test", is_compromise=True, now=NOW))

    scope = reread_space(scope)
    assert scope.space.identity_version == 2
    assert versions_of(scope) == {"said": {2}, "sealed": {2}}
    with tenant_transaction(scope):
        new = {row.pk: (bytes(row.text_mac), row.public_id) for row in Memory.objects.within(scope)}
        assert bytes(EndUser.objects.within(scope).get().external_mac) != person
    assert new.keys() == old.keys()
    assert not {part for parts in new.values() for part in parts} & {part for parts in old.values() for part in parts}
    assert answers(scope) == before
    assert find_end_user(scope, "alice") == scope.space


def test_after_a_compromise_what_was_known_is_known_again(scope: Scope) -> None:
    finish(rotation.rotate(scope, reason="test", is_compromise=True, now=NOW))
    scope = reread_space(scope)

    (again,) = remember(scope, SAID[0])
    (ref,) = remember(scope, "Other words altogether, with one reference.", client_ref="import-1")

    assert not again.is_stored
    assert not ref.is_stored


def test_after_a_compromise_a_branch_has_the_handles_of_its_origin(scope: Scope) -> None:
    create_branch(scope, "try", now=NOW)

    finish(rotation.rotate(scope, reason="test", is_compromise=True, now=NOW))

    with tenant_transaction(scope):
        spaces = {one.branch: one for one in Space.objects.within(scope)}
        handles = {
            name: [
                (row.public_id, bytes(row.text_mac), row.slot and bytes(row.slot))
                for row in Memory.objects.within_tenant(scope).filter(space_id=one.pk).order_by("pk")
            ]
            for name, one in spaces.items()
        }
    assert {one.identity_version for one in spaces.values()} == {2}
    assert handles["try"] == handles[""] != []
    assert versions_of(scope) == {"said": {2}, "sealed": {2}}
    assert answers(scope.in_spaces(spaces["try"].ref))
    assert keys.count_under(scope, 1, kind=KeyKind.IDENTITY) == 0


def test_a_key_and_what_is_broken_are_counted_for_one_tenant(scope: Scope, globex: OpenedTenant) -> None:
    for one in (scope, make_scope(globex)):
        integrity.note(one, DecryptError("tag"), 1, space_id=one.space.id, now=NOW)
    integrity.flush()

    assert keys.status(scope, now=NOW).quarantined == 1
    assert keys.count_under(scope, 1, kind=KeyKind.IDENTITY) == 2, "its space and itself"


def test_after_a_compromise_both_old_keys_retire_as_soon_as_nothing_needs_them(scope: Scope) -> None:
    one = rotation.rotate(scope, reason="test", is_compromise=True, now=NOW)
    scheduler.run_due_key_work(now=later(minutes=1))
    assert keys.status(scope, now=NOW).is_compromised
    finish(one, now=later(minutes=2))

    scheduler.run_due_key_work(now=later(minutes=5))
    assert state_of(scope, 1) == state_of(scope, 1, KeyKind.IDENTITY) == "read_only"
    scheduler.run_due_key_work(now=later(minutes=18))

    assert state_of(scope, 1) == state_of(scope, 1, KeyKind.IDENTITY) == "retired"
    assert not keys.status(scope, now=NOW).is_compromised
    assert all(answers(reread_space(scope)))


def test_a_compromise_takes_over_the_rotation_that_is_under_way(scope: Scope) -> None:
    first = rotation.rotate(scope, reason="test", now=NOW)
    with tenant_transaction(scope):
        reencryption.reseal_batch(scope, limit=2, now=NOW)

    second = finish(rotation.rotate(scope, reason="test", is_compromise=True, now=NOW))

    first.refresh_from_db()
    assert (first.state, second.state) == ("overtaken", "done")
    assert versions_of(scope) == {"said": {3}, "sealed": {3}}
    assert rotation.work(first.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER


# --- rewrapping -----------------------------------------------------------------------------------------------------


def test_wrapping_anew_that_was_asked_for_is_done_once_and_written_down(scope: Scope) -> None:
    asked = ask_for_rewrap(scope.principal, now=NOW)
    assert ask_for_rewrap(scope.principal, now=NOW) == asked

    keys.rewrap(scope.principal, now=NOW)

    assert KeyRewrap.objects.get().finished_at == NOW
