"""Erasing: nothing of it is found again, no other user loses data, and the receipt says what was done."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure import legal_holds, receipt_log
from apps.erasure.models import ErasureState
from apps.erasure.planning import ErasureBlocked, plan
from apps.erasure.selectors import Erased, get_erasure, list_erasures
from apps.erasure.targets import ErasureTargetNotFound, NothingToErase, Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.history.turns import NewTurn
from apps.history.turns import read as read_history
from apps.ingest.candidates import Proposal
from apps.ingest.conversation_sync import append_history
from apps.ingest.services import remember
from apps.memories import tombstones
from apps.memories.editing import Edit, edit
from apps.memories.models import Memory, MemoryTransition
from apps.memories.phrase_rules import PhraseRule
from apps.memories.selectors import get_memory
from apps.memories.spaces import find_end_user
from apps.memories.type_fields import TypeField
from apps.memory_types.type_changes import Definition, commit, plan_addition
from apps.outbox import handlers
from apps.policies.models import Level
from apps.projects.scope import Environment, Principal, Scope
from apps.recall.services import recall
from apps.summaries.clusters import list_clusters
from apps.transfers.imports.import_worker import work as work_imports
from apps.transfers.imports.services import start_import
from apps.transparency.receipts import verify
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

NOW = datetime.now(UTC)  # receipts are held against the time of their key, which is the real one
DOG = "My dog Biscuit sleeps on the blue sofa."
HOME = "I live in Lisbon."
MOVED = "I moved to Porto."
WORD = Authorisation(principal=Principal(kind="account", id=3), method="session+webauthn", step_up_age_s=41)


def say(scope: Scope, *texts: str) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in texts]
    return [one for outcome in remember(scope, proposals, now=NOW) for one in outcome.memory_ids]


def heard(scope: Scope, query: str = "where does my dog sleep?") -> set[str]:
    return {hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=50, now=NOW).hits}


def texts_of(scope: Scope) -> dict[int, str]:
    return {one: get_memory(scope, one, now=NOW).text.reveal() for one in ids_of(scope)}


def work_off() -> None:
    while handlers.process_due_events(now=NOW + timedelta(seconds=1)):
        pass


def erase(acme: OpenedTenant, target: Target) -> Erased:
    return start_erasure(acme.scope, target, authorised=WORD, now=NOW)


def ids_of(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        return set(Memory.objects.within(scope).values_list("pk", flat=True))


def test_an_erased_memory_is_gone_and_the_others_stay(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    dog, _ = say(alice, DOG, HOME)
    say(bob, DOG)

    done = erase(acme, Target.memories([dog]))

    assert heard(alice) == {HOME}
    assert heard(bob) == {DOG}
    assert dog not in ids_of(alice)
    assert done.state == ErasureState.DELETED
    assert (done.counts["memories"], done.counts["vectors"]) == (1, 1)
    assert done.counts["terms"] > 3


def test_the_receipt_is_genuine_and_says_on_whose_word(acme: OpenedTenant) -> None:
    (dog,) = say(make_scope(acme), DOG)

    (receipt,) = erase(acme, Target.memories([dog])).receipts

    genuine = verify(receipt.to_json(), receipt_log.public_keys(), target=f"memories:{dog}")
    said = genuine.receipt
    assert said["probe"] == {"by_id": "404", "recall_hits": 0, "asked": 1}
    assert said["authorised"]["method"] == "session+webauthn"
    assert said["authorised"]["step_up_age_s"] == 41
    assert "account:3" not in receipt.to_json().decode()
    assert DOG not in receipt.to_json().decode()
    assert receipt_log.get_receipt(acme.scope, receipt.id) == receipt
    assert [one.id for one in receipt_log.receipts_of(acme.scope)] == [receipt.id]


def test_each_checkpoint_of_the_log_is_written_where_it_can_be_carried_away(
    acme: OpenedTenant, settings: Any, tmp_path: Path
) -> None:
    settings.AUDIT_CHECKPOINT_DIR = str(tmp_path / "kept")
    home, dog = say(make_scope(acme), HOME, DOG)

    first = erase(acme, Target.memories([home])).receipts[0]
    erase(acme, Target.memories([dog]))

    notes = sorted((tmp_path / "kept").glob("receipts-*.note"))
    assert [path.name for path in notes] == ["receipts-000000001.note", "receipts-000000002.note"]
    assert notes[1].read_text() == receipt_log.newest_checkpoint()
    grown = receipt_log.get_receipt(acme.scope, first.id, since=1).to_json()
    assert verify(grown, receipt_log.public_keys(), older=notes[0].read_text())


def test_values_of_fields_go_with_their_memory_and_its_history(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    dogs = PhraseRule(name="dogs", type="", sources=(), words=("dog",))
    pet = Definition(slot="none", fields=(TypeField(name="name", kind="text"),))
    commit(alice, plan_addition(alice, "pet", pet, (dogs,)), now=NOW)
    (dog,) = say(alice, DOG)
    edit(alice, Edit(memory_id=dog, fields={"name": "Biscuit"}), now=NOW)
    edit(alice, Edit(memory_id=dog, fields={}), now=NOW)

    erase(acme, Target.memories([dog]))

    with tenant_transaction(alice):
        assert not Memory.objects.within_tenant(alice).exists()
        assert not MemoryTransition.objects.within(alice).exclude(diff_ct=None).exists()


def test_a_topic_goes_with_every_value_it_had(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    home, dog = say(alice, HOME, DOG)
    (moved,) = say(alice, MOVED)

    done = erase(acme, Target.topic(moved))

    assert done.target["memory_ids"] == [home, moved]
    assert ids_of(alice) == {dog}


def test_a_person_is_erased_in_one_environment_or_in_all(acme: OpenedTenant) -> None:
    production, staging = make_scope(acme), make_scope(acme, environment=Environment.STAGING)
    say(production, DOG)
    say(staging, HOME)

    one = erase(acme, Target.space(production.space.uid))

    assert (one.environment, one.counts["memories"]) == ("production", 1)
    assert heard(staging, "where do I live?") == {HOME}
    every = erase(acme, Target.end_user(staging.space.owner_id))
    assert (every.environment, every.counts["memories"]) == ("", 1)
    assert heard(staging, "where do I live?") == set()
    assert [one.id for one in list_erasures(acme.scope)] == [one.id, every.id] or len(list_erasures(acme.scope)) == 2
    (receipt,) = every.receipts
    assert set(receipt.file["receipt"]["phases"]) == {"deleted", "salt_destroyed", "backups_expire"}


def test_a_project_is_emptied_and_stays(acme: OpenedTenant) -> None:
    inside, outside = make_scope(acme, project_id=acme.project.pk), make_scope(acme)
    say(inside, DOG)
    (home,) = say(outside, HOME)

    done = erase(acme, Target.of_project(acme.project.public_id))

    assert done.counts["memories"] == 1
    assert ids_of(outside) == {home}


def test_a_tenant_is_erased_and_its_receipt_outlives_it(acme: OpenedTenant, globex: OpenedTenant) -> None:
    say(make_scope(acme), DOG)
    say(make_scope(globex), HOME)

    done = erase(acme, Target.tenant())

    assert done.counts["memories"] == 1
    (receipt,) = receipt_log.receipts_of(acme.scope)
    assert receipt.file["disclosure"]["target"] == {"kind": "tenant", "tenant": str(acme.tenant.uid)}
    assert heard(make_scope(globex), "where do I live?") == {HOME}


def test_a_legal_hold_forbids_it_and_is_named(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    (dog,) = say(alice, DOG)
    held = legal_holds.hold(acme.scope, Level.MEMORY, dog, case="2026-117", now=NOW)

    for target in (Target.memories([dog]), Target.space(alice.space.uid), Target.tenant()):
        with pytest.raises(ErasureBlocked) as refused:
            erase(acme, target)
        assert refused.value.details == [{"kind": "legal_hold", "reference": "2026-117"}]

    assert heard(alice) == {DOG}
    assert list_erasures(acme.scope) == []
    legal_holds.lift(acme.scope, held.pk, now=NOW)
    assert erase(acme, Target.memories([dog])).state == ErasureState.DELETED


def test_a_hold_on_somebody_else_forbids_nothing(acme: OpenedTenant, globex: OpenedTenant) -> None:
    alice, bob, carol = (make_scope(acme, name) for name in ("alice", "bob", "carol"))
    say(alice, DOG)
    say(bob, DOG)
    (held,) = say(carol, DOG)
    legal_holds.hold(acme.scope, Level.SPACE, bob.space.id, case="bob", now=NOW)
    legal_holds.hold(acme.scope, Level.MEMORY, held, case="carol", now=NOW)
    legal_holds.hold(globex.scope, Level.TENANT, 0, case="globex", now=NOW)

    assert erase(acme, Target.space(alice.space.uid)).state == ErasureState.DELETED

    with pytest.raises(ErasureBlocked) as refused:
        erase(acme, Target.space(carol.space.uid))
    assert refused.value.details == [{"kind": "legal_hold", "reference": "carol"}]


def test_summaries_of_it_go_and_are_made_anew_without_it(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    nuts, *_ = say(alice, *(f"I am allergic to {food}." for food in ("nuts", "shellfish", "sesame", "celery")))
    work_off()
    ((cluster,), _) = list_clusters(alice, limit=5, now=NOW)
    assert cluster.summary_id is not None

    done = erase(acme, Target.memories([nuts]))

    assert done.counts["derived"] == 1
    assert cluster.summary_id not in ids_of(alice)
    work_off()
    ((cluster,), _) = list_clusters(alice, limit=5, now=NOW)
    assert cluster.summary_id is not None
    text = get_memory(alice, cluster.summary_id, now=NOW).text.reveal()
    assert "nuts" not in text
    assert "celery" in text
    every = erase(acme, Target.memories(ids_of(alice)))
    assert every.counts["memories"] == 4
    assert list_clusters(alice, limit=5, now=NOW)[0] == []


def test_what_it_was_made_of_is_counted_and_goes_along_if_that_is_asked(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    told = [NewTurn(role="user", content=Plaintext(text)) for text in (HOME, "My sister Ana lives in Rome.")]
    append_history(alice, "alice", "s1", told, source="chat", metadata={}, extract=True, now=NOW)
    by_text = {text: memory_id for memory_id, text in texts_of(alice).items()}
    ((home,), (ana,)) = ([one for text, one in by_text.items() if word in text] for word in ("Lisbon", "Ana"))

    kept = erase(acme, Target.memories([home]))
    gone = start_erasure(acme.scope, Target.memories([ana]), authorised=WORD, with_sources=True, now=NOW)

    assert (kept.counts["residual_sources"], gone.counts["sources"]) == (1, 1)
    left = read_history(alice, "s1", source="chat", limit=10, now=NOW).turns
    assert [turn.content.reveal() for turn in left] == [HOME]


def test_what_is_not_there_is_not_found_and_neither_is_anothers(acme: OpenedTenant, globex: OpenedTenant) -> None:
    (dog,) = say(make_scope(acme), DOG)
    done = erase(acme, Target.memories([dog]))
    (other,) = say(make_scope(globex), DOG)

    with pytest.raises(ErasureTargetNotFound):
        erase(acme, Target.memories([other]))
    with pytest.raises(ErasureTargetNotFound):
        get_erasure(globex.scope, done.id)
    with pytest.raises(receipt_log.ReceiptNotFound):
        receipt_log.get_receipt(globex.scope, done.receipts[0].id)
    with pytest.raises(NothingToErase):
        erase(acme, Target.memories([]))
    assert receipt_log.receipts_of(globex.scope) == []


def test_a_plan_changes_nothing_and_says_what_would_go(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    (dog,) = say(alice, DOG)

    planned = plan(acme.scope, Target.memories([dog]))

    assert ids_of(alice) == {dog}
    assert dict(erase(acme, Target.memories([dog])).counts) == planned


def test_a_plan_counts_no_further_than_it_is_asked_to(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    ids = say(alice, DOG, HOME)

    for target in (Target.memories(ids), Target.space(alice.space.uid), Target.tenant()):
        assert plan(acme.scope, target, most=1)["memories"] == 1
        assert plan(acme.scope, target)["memories"] == 2


# -- and does not come back --------------------------------------------------------------------------------------------


def overhear(scope: Scope, text: str) -> list[int]:
    """As a turn is distilled: no caller asked for just this to be remembered."""
    (outcome,) = remember(scope, [Proposal(text=Plaintext(text))], now=NOW + timedelta(hours=1))
    return outcome.memory_ids


def test_what_was_erased_is_not_learnt_again_by_the_way_but_on_purpose_it_is(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    (home,) = say(alice, HOME)
    erase(acme, Target.memories([home]))

    assert overhear(alice, HOME) == []
    assert len(overhear(bob, HOME)) == 1
    assert len(overhear(alice, "I work as a nurse.")) == 1
    assert len(say(alice, HOME)) == 1


def test_tombstones_are_dropped_when_their_time_is_over(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    (home,) = say(alice, HOME)
    erase(acme, Target.memories([home]))

    assert tombstones.forget_old(acme.scope, now=NOW + timedelta(days=89)) == 0
    assert tombstones.forget_old(acme.scope, now=NOW + timedelta(days=90)) == 1

    assert len(overhear(alice, HOME)) == 1


def test_the_same_reference_is_not_remembered_a_second_time(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    told = [Proposal(text=Plaintext(HOME), importance=0.6, client_ref="ref-1")]
    (first,) = remember(alice, told, now=NOW)
    erase(acme, Target.memories(first.memory_ids))

    (again,) = remember(alice, told, now=NOW + timedelta(hours=1))

    assert again.reason == "already_ingested"
    assert ids_of(alice) == set()


def queue_import(acme: OpenedTenant, *lines: dict[str, str], now: datetime = NOW) -> int:
    """The job's id; nothing of it is imported yet."""
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return start_import(acme.scope, name="people.jsonl", content=content, end_user=None, now=now).job.pk


def test_an_import_that_waited_brings_back_neither_a_text_nor_a_person(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    (home,) = say(alice, HOME)
    say(bob, DOG)
    waiting = [
        {"text": HOME, "end_user_id": "alice"}, {"text": "I work as a nurse.", "end_user_id": "alice"},
        {"text": DOG, "end_user_id": "bob"}, {"text": DOG, "end_user_id": "carol"},
    ]  # fmt: skip
    job_id = queue_import(acme, *waiting)
    start_erasure(acme.scope, Target.memories([home]), authorised=WORD, now=NOW + timedelta(minutes=1))
    start_erasure(acme.scope, Target.space(bob.space.uid), authorised=WORD, now=NOW + timedelta(minutes=1))

    work_imports(acme.scope.tenant_id, job_id, seconds=30, clock=lambda: NOW + timedelta(minutes=2))

    assert set(texts_of(alice).values()) == {"I work as a nurse."}
    assert find_end_user(acme.scope, "bob") is None
    assert heard(make_scope(acme, "carol")) == {DOG}
    later = queue_import(acme, {"text": DOG, "end_user_id": "bob"}, now=NOW + timedelta(minutes=3))
    work_imports(acme.scope.tenant_id, later, seconds=30, clock=lambda: NOW + timedelta(minutes=4))
    assert heard(make_scope(acme, "bob")) == {DOG}
