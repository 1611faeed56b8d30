"""Erasure reaches the branches of what is erased, the receipt says so, and a branch ends by itself.

BRANCHES=500 pytest tests/erasure/test_branches.py -s      the large version of the random histories
"""

import os
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import (
    KeysMissing,
    SpaceShredded,
    destroy_salt,
    drop_cached_keys,
    has_salt,
    open_space,
)
from apps.erasure import hard_delete, ledger, legal_holds, receipt_log, replay, rows, workflow
from apps.erasure.branches import shred_ended
from apps.erasure.models import ErasedKind, ErasureState
from apps.erasure.planning import ErasureBlocked, plan
from apps.erasure.selectors import Erased
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest.typed import write_owned
from apps.memories.branches import create_branch, end_branch
from apps.memories.models import Memory, Tombstone
from apps.memories.rewinding import rewind
from apps.memories.sealing import open_handles, open_text, open_typed_content
from apps.memories.spaces import SpaceOwner, find_end_user, find_owned, space_now
from apps.memories.typed import TypedMemory, canonical_json
from apps.policies.models import Level
from apps.projects.models import Space
from apps.projects.scope import Environment, Principal, Scope
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.retention.requests import ask, confirm
from apps.retention.retention_sweep import sweep
from apps.retention.subject_requests import PrivacyKind, hand_over, open_request
from apps.retention.tasks import shred_ended_branches
from apps.transfers.exports import filters
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.services import start_for_person
from apps.transfers.models.exports import ExportJob, ExportStatus
from apps.transparency.receipts import verify
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

NOW = datetime.now(UTC)  # receipts are held against the time of their key, which is the real one
PERSON = Principal(kind="account", id=3)
WORD = Authorisation(principal=PERSON, method="session+webauthn", step_up_age_s=41)
HISTORIES = int(os.environ.get("BRANCHES", "10"))


def stated(topic: str | None, value: str, **more: Any) -> TypedMemory:
    return TypedMemory(
        type="fact" if topic else "event",
        topic_key=topic,
        summary=Plaintext(f"the {topic} is {value}"),
        content=Plaintext(canonical_json(value)),
        **more,
    )


def write(scope: Scope, *memories: TypedMemory, owner: str = "alice", branch: str = "", now: datetime = NOW) -> Any:
    written = write_owned(scope, SpaceOwner.end_user(owner, branch=branch), memories, now=now)
    return [one.memory_id for one in written.results]


def in_branch(scope: Scope, name: str, *, owner: str = "alice") -> Scope:
    space = find_owned(scope, SpaceOwner.end_user(owner, branch=name))
    assert space is not None
    return scope.in_spaces(space)


def said(scope: Scope) -> set[str]:
    """Every value that any row of memories of the tenant still says, in whatever state."""
    found: set[str] = set()
    with tenant_transaction(scope):
        spaces = {one.pk: one.ref for one in Space.objects.within(scope)}
        for row in Memory.objects.within_tenant(scope):
            cipher = open_space(scope.tenant, spaces[row.space_id])
            content = open_typed_content(row, open_handles(row, cipher), cipher)
            assert content is not None
            found.add(content.reveal().strip('"'))
            assert open_text(row, cipher).reveal().endswith(content.reveal().strip('"'))
    return found


def orphans(scope: Scope) -> int:
    """Rows of vectors, words and periods whose memory is gone."""
    count = 0
    with tenant_transaction(scope), connection.cursor() as cursor:
        for _, table, columns in hard_delete.ALONG:
            for column in columns:
                cursor.execute(
                    f"select count(*) from {table} t where tenant_id = %s and {column} is not null and not exists ("  # noqa: S608
                    f"select from memories_memory m where m.tenant_id = t.tenant_id and m.id = t.{column})",
                    [scope.tenant_id],
                )
                count += int((cursor.fetchone() or [0])[0])
    return count


def rows_left(scope: Scope, *space_ids: int) -> int:
    with tenant_transaction(scope):
        tables = rows.tables_of_a_space()
        return sum(rows.count(scope, table, space_id=space_id) for table in tables for space_id in space_ids)


def erase(acme: OpenedTenant, target: Target) -> Erased:
    return start_erasure(acme.scope, target, authorised=WORD, now=NOW)


def receipt_of(erased: Erased, target: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counts and the disclosed target of the erasure's first receipt, verified offline."""
    (receipt, *_) = erased.receipts
    genuine = verify(receipt.to_json(), receipt_log.public_keys(), target=target)
    assert genuine.receipt["probe"]["by_id"] == "404"
    assert genuine.receipt["probe"]["recall_hits"] == 0
    assert genuine.target is not None
    return dict(genuine.receipt["counts"]), dict(genuine.target)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def test_erasing_a_memory_reaches_its_copies_and_the_same_said_in_a_branch(acme: OpenedTenant, scope: Scope) -> None:
    diet, home = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    create_branch(scope, "one", now=NOW)
    create_branch(scope, "two", now=NOW)
    (late,) = write(scope, stated(None, "moved"))
    write(scope, stated(None, "moved"), branch="two")

    erased = erase(acme, Target.memories([diet, late]))

    assert said(scope) == {"Rome"}
    assert orphans(scope) == 0
    counts, target = receipt_of(erased, f"memories:{diet},{late}")
    assert (counts["memories"], counts["copies"]) == (5, 3)
    assert len(target["copies"]) == 3
    assert home not in target["memory_ids"]


def test_a_rewind_or_another_branch_brings_nothing_back(acme: OpenedTenant, scope: Scope) -> None:
    old, _ = write(scope, stated("diet", "vegetarian"), stated("home", "Rome"))
    create_branch(scope, "one", now=NOW)
    write(scope, stated("diet", "vegan"), branch="one")
    erase(acme, Target.memories([old]))

    rewind(in_branch(scope, "one"), "1", now=NOW)
    rewind(scope, "1", now=NOW)
    create_branch(scope, "two", at="1", now=NOW)

    assert said(scope) == {"Rome", "vegan"}


def test_erasing_a_topic_reaches_what_only_a_branch_says_of_it(acme: OpenedTenant, scope: Scope) -> None:
    (old,) = write(scope, stated("diet", "vegetarian"))
    create_branch(scope, "one", now=NOW)
    write(scope, stated("diet", "omnivore"), stated("home", "Rome"), branch="one")
    (new,) = write(scope, stated("diet", "vegan"))

    erased = erase(acme, Target.topic(old))

    assert said(scope) == {"Rome"}
    _, target = receipt_of(erased, f"topic:{old},{new}")
    assert len(target["copies"]) == 2


def test_erasing_in_a_branch_leaves_the_origin_and_other_branches(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    create_branch(scope, "two", now=NOW)
    one = in_branch(scope, "one")
    with tenant_transaction(scope):
        copied = Memory.objects.within(one).get().pk

    erase(acme, Target.topic(copied))

    with tenant_transaction(scope):
        left = Memory.objects.within_tenant(scope).values_list("space_id", flat=True)
        assert set(left) == {scope.space.id, in_branch(scope, "two").space.id}


@pytest.mark.parametrize("kind", ["space", "end_user", "tenant"])
def test_erasing_the_owner_shreds_the_branches(acme: OpenedTenant, scope: Scope, kind: str) -> None:
    write(scope, stated("diet", "vegan"))
    staging = make_scope(acme, environment=Environment.STAGING)
    write(staging, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    create_branch(staging, "far", now=NOW)
    branch, far = in_branch(scope, "one").space, in_branch(staging, "far").space
    write(make_scope(acme, "bob"), stated("diet", "vegan"), owner="bob")
    targets = {
        "space": Target.space(scope.space.uid),
        "end_user": Target.end_user(scope.space.owner_id),
        "tenant": Target.tenant(),
    }

    erased = erase(acme, targets[kind])

    assert rows_left(scope, scope.space.id, branch.id) == 0
    assert not has_salt(scope.tenant.uid, branch.uid)
    assert has_salt(scope.tenant.uid, far.uid) == (kind == "space")
    with pytest.raises((SpaceShredded, KeysMissing)):
        open_space(scope.tenant, branch)
    named = {"space": f"space:{scope.space.uid}", "end_user": f"end_user:{scope.space.owner_id}", "tenant": "tenant:"}
    if kind != "tenant":
        counts, target = receipt_of(erased, named[kind])
        assert counts["branches"] == (1 if kind == "space" else 2)
        assert str(branch.uid) in str(target)
        assert (find_end_user(staging, "alice") is not None) == (kind == "space")
        assert find_end_user(scope, "bob") is not None


def test_a_branch_cannot_be_opened_without_the_salt_of_its_origin(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    branch = in_branch(scope, "one").space
    destroy_salt(scope.tenant.uid, scope.space.uid, now=NOW)
    drop_cached_keys(scope.tenant)

    with pytest.raises(SpaceShredded):
        open_space(scope.tenant, branch)


def test_a_branch_made_while_its_origin_is_shredded_is_shredded_too(
    acme: OpenedTenant, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(scope, stated("diet", "vegan"))
    noted = workflow._note

    def late(*args: Any, **kwargs: Any) -> None:
        noted(*args, **kwargs)
        create_branch(scope, "late", now=NOW)

    monkeypatch.setattr(workflow, "_note", late)
    erase(acme, Target.space(scope.space.uid))

    assert said(scope) == set()
    with tenant_transaction(scope):
        assert not Space.objects.within(scope).exists()


def test_copies_of_a_branch_made_while_a_memory_is_erased_are_erased_too(
    acme: OpenedTenant, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    diet, _ = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    noted = workflow._note

    def late(*args: Any, **kwargs: Any) -> None:
        noted(*args, **kwargs)
        create_branch(scope, "late", now=NOW)

    monkeypatch.setattr(workflow, "_note", late)
    erase(acme, Target.memories([diet]))

    assert said(scope) == {"Rome"}


def test_a_restore_brings_back_neither_copies_nor_ended_branches(acme: OpenedTenant, scope: Scope) -> None:
    (diet, _) = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    create_branch(scope, "one", now=NOW)
    ledger.note_memories(
        scope.tenant.uid, [diet], actor="account:3", request_id="", erasure_uid=in_branch(scope, "one").space.uid,
        now=NOW + timedelta(seconds=1),
    )  # fmt: skip

    replay.resume(now=NOW)

    assert said(scope) == {"Rome"}


def test_a_younger_copy_with_an_old_time_is_not_taken_for_an_erased_memory(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"), now=NOW - timedelta(days=2))
    create_branch(scope, "one", now=NOW)
    with tenant_transaction(scope):
        copied = Memory.objects.within(in_branch(scope, "one")).get()
    # A memory with this id was erased before the branch was made, and a restore gave its id away again.
    ledger.note_memories(
        scope.tenant.uid, [copied.pk], actor="account:3", request_id="", erasure_uid=scope.space.uid,
        now=NOW - timedelta(days=1),
    )  # fmt: skip

    replay.resume(now=NOW)

    with tenant_transaction(scope):
        assert Memory.objects.within_tenant(scope).filter(pk=copied.pk).exists()


def test_a_branch_is_shredded_after_its_end(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "short", lasts=timedelta(minutes=1), now=NOW)
    create_branch(scope, "long", now=NOW)
    create_branch(scope, "ended", now=NOW)
    short, ended = in_branch(scope, "short").space, in_branch(scope, "ended").space
    write(scope, stated("home", "Rome"), branch="short")
    end_branch(scope, "ended", now=NOW)

    assert shred_ended(acme.scope, now=NOW + timedelta(minutes=2)) == 2

    assert rows_left(scope, short.id, ended.id) == 0
    for one in (short, ended):
        assert not has_salt(scope.tenant.uid, one.uid)
        assert ledger.names(ErasedKind.SPACE, one.uid)
    assert said(scope) == {"vegan"}
    assert find_end_user(scope, "alice") == scope.space
    with tenant_transaction(scope):
        assert not Tombstone.objects.within(scope).exists(), "the end of a branch is not the end of its owner"
    assert in_branch(scope, "long")
    assert shred_ended(acme.scope, now=NOW + timedelta(minutes=2)) == 0


def test_the_worker_shreds_ended_branches_of_every_tenant(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", lasts=timedelta(minutes=1), now=NOW - timedelta(hours=1))
    branch = in_branch(scope, "one").space

    shred_ended_branches()

    assert rows_left(scope, branch.id) == 0


def test_tombstones_of_the_origin_outlive_a_branch(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    with tenant_transaction(scope):
        copied = Memory.objects.within(in_branch(scope, "one")).get().pk
        origin = Memory.objects.within(scope).get().pk
    erase(acme, Target.memories([copied]))
    erase(acme, Target.memories([origin]))
    end_branch(scope, "one", now=NOW)
    shred_ended(acme.scope, now=NOW)

    with tenant_transaction(scope):
        assert Tombstone.objects.within(scope).get().space_id == scope.space.id


@pytest.mark.parametrize("level", [Level.SPACE, Level.TENANT])
def test_a_legal_hold_covers_branches(acme: OpenedTenant, scope: Scope, level: Level) -> None:
    write(scope, stated("diet", "vegan"))
    target = scope.space.id if level == Level.SPACE else 0
    held = legal_holds.hold(acme.scope, level, target, case="2026-117", now=NOW)
    create_branch(scope, "one", lasts=timedelta(minutes=1), now=NOW)
    branch = in_branch(scope, "one")
    with tenant_transaction(scope):
        copied = Memory.objects.within(branch).get().pk
    assert legal_holds.mark(acme.scope) == 1

    for one in (Target.memories([copied]), Target.space(branch.space.uid)):
        with pytest.raises(ErasureBlocked):
            erase(acme, one)
    assert shred_ended(acme.scope, now=NOW + timedelta(hours=1)) == 0

    legal_holds.lift(acme.scope, held.pk, now=NOW)
    with tenant_transaction(scope):
        assert not Memory.objects.within_tenant(scope).filter(legal_hold=True).exists()
    assert shred_ended(acme.scope, now=NOW + timedelta(hours=1)) == 1


def test_a_hold_on_a_branch_blocks_the_erasure_of_its_origin(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    legal_holds.hold(acme.scope, Level.SPACE, in_branch(scope, "one").space.id, case="2026-117", now=NOW)

    for target in (Target.space(scope.space.uid), Target.end_user(scope.space.owner_id)):
        with pytest.raises(ErasureBlocked):
            erase(acme, target)
    assert said(scope) == {"vegan"}


def test_what_a_person_confirms_is_deleted_in_branches_and_purged_there(acme: OpenedTenant, scope: Scope) -> None:
    diet, _ = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    create_branch(scope, "one", now=NOW)
    asked, _ = ask(scope, MemorySelection(memory_ids=(diet,)), now=NOW)
    person = replace(acme.scope, principal=PERSON)

    assert len(confirm(person, asked.id, now=NOW)) == 2
    sweep(acme.scope, now=NOW + timedelta(days=8))

    assert said(scope) == {"Rome"}


def test_what_is_purged_is_purged_in_branches(acme: OpenedTenant, scope: Scope) -> None:
    diet, _ = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    create_branch(scope, "one", lasts=timedelta(days=30), now=NOW)
    soft_delete_selection(scope, MemorySelection(memory_ids=(diet,)), now=NOW)
    assert said(scope) == {"vegan", "Rome"}

    sweep(acme.scope, now=NOW + timedelta(days=8))

    assert said(scope) == {"Rome"}
    assert orphans(scope) == 0


def test_an_export_of_a_person_has_their_branches_and_one_of_the_tenant_has_none(
    acme: OpenedTenant, scope: Scope
) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)
    write(scope, stated("home", "Rome"), branch="one")
    asked, _ = open_request(scope, PrivacyKind.EXPORT, now=NOW)

    told = b"".join(hand_over(acme.scope, asked.id, now=NOW)).decode()

    assert told.count("Rome") >= 1
    assert '"branch":"one"' in told
    with tenant_transaction(scope):
        exported = filters.matching(acme.scope, ExportFilters(), space_id=None, asked_at=NOW, now=NOW)
        assert {row.space_id for row in exported} == {scope.space.id}


def test_an_ended_branch_waits_for_the_file_that_it_is_in(acme: OpenedTenant, scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    write(make_scope(acme, "bob"), stated("diet", "vegan"), owner="bob")
    create_branch(make_scope(acme, "bob"), "other", lasts=timedelta(minutes=1), now=NOW)
    create_branch(scope, "one", lasts=timedelta(minutes=1), now=NOW)
    asked, _ = open_request(scope, PrivacyKind.EXPORT, now=NOW)
    job = start_for_person(acme.scope, scope.space.owner_id, asked.id, now=NOW)

    assert shred_ended(acme.scope, now=NOW + timedelta(minutes=5)) == 1, "that of another person"
    with tenant_transaction(scope):
        ExportJob.objects.within(scope).filter(pk=job.pk).update(status=ExportStatus.EXPIRED)

    assert shred_ended(acme.scope, now=NOW + timedelta(minutes=10)) == 1


def test_a_plan_counts_copies_and_branches(acme: OpenedTenant, scope: Scope) -> None:
    (diet,) = write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", now=NOW)

    assert plan(acme.scope, Target.memories([diet]))["copies"] == 1
    assert plan(acme.scope, Target.space(scope.space.uid))["branches"] == 1
    assert "branches" not in plan(acme.scope, Target.memories([diet]))


def test_nothing_of_random_histories_is_left_in_the_origin_or_a_branch(acme: OpenedTenant) -> None:
    """Values are unique in a history, so that each tells where it was said."""
    drawn = random.Random(20_261_129)
    erasures = 0
    for number in range(HISTORIES):
        owner = f"person-{number}"
        scope = make_scope(acme, owner)
        branches, made = [""], dict[int, tuple[str, str]]()  # memory of the origin: topic, value
        alive: dict[str, str] = {}  # value to topic, wherever it was said
        for step in range(20):
            choice = drawn.random()
            if choice < 0.6 or not made:
                name, topic, value = drawn.choice(branches), drawn.choice("abc"), f"value-{number}-{step}"
                (memory_id,) = write(scope, stated(topic, value), owner=owner, branch=name)
                alive[value] = topic
                if not name:
                    made[memory_id] = (topic, value)
            elif choice < 0.75 and len(branches) < 4:
                create_branch(scope, f"branch-{step}", now=NOW)
                branches.append(f"branch-{step}")
            elif choice < 0.85:
                there = in_branch(scope, drawn.choice(branches), owner=owner)
                with tenant_transaction(scope):
                    latest = space_now(there, there.space.id).txid
                rewind(there, str(drawn.randint(0, latest)), now=NOW)
            else:
                memory_id = drawn.choice(sorted(made))
                topic, value = made.pop(memory_id)
                if drawn.random() < 0.5:
                    receipt_of(erase(acme, Target.memories([memory_id])), f"memories:{memory_id}")
                    del alive[value]
                else:
                    mine = sorted([memory_id, *(one for one, (of, _) in made.items() if of == topic)])
                    receipt_of(erase(acme, Target.topic(memory_id)), f"topic:{','.join(map(str, mine))}")
                    made = {one: of for one, of in made.items() if of[0] != topic}
                    alive = {value: of for value, of in alive.items() if of != topic}
                erasures += 1
            assert said(scope) == set(alive), (number, step)
        assert orphans(scope) == 0
        erased = erase(acme, Target.end_user(scope.space.owner_id))
        counts, _ = receipt_of(erased, f"end_user:{scope.space.owner_id}")
        assert counts.get("branches", 0) == len(branches) - 1
        assert erased.state == ErasureState.DELETED
        assert said(scope) == set()
    print(f"\n{HISTORIES} histories, {erasures} erasures besides the last of each")  # noqa: T201
    assert erasures > HISTORIES
