"""Branches: copies under keys of their own, which diverge, are rewound, end, and that erasure of the origin reaches.

BRANCHES=1000 pytest tests/memories/test_branches.py      the large version
"""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space
from apps.ingest.typed import write_owned, write_typed
from apps.memories.branches import (
    BranchExists,
    MainStays,
    TooManyBranches,
    create_branch,
    end_branch,
    list_branches,
)
from apps.memories.copying import TooLargeToBranch
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory, MemoryCheckpoint, MemoryVector
from apps.memories.rewinding import CheckpointNotFound, create_checkpoint, list_checkpoints, rewind
from apps.memories.sealing import open_embedding, open_text
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import BranchNotFound, SpaceOwner, find_owned, lock_space
from apps.memories.typed import TypedMemory
from apps.memories.typed_selectors import list_profiles
from apps.memories.validity import AsOf, holding
from apps.policies.retention import Level, in_force, set_policy
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.recall.typed import TypedQuery, recall_typed
from apps.tenants.models import Profile
from tests.makers import make_scope
from tests.memories.histories import EACH, STEPS, Replay, Said, draw_batch, minute, seeds, stated

pytestmark = pytest.mark.django_db(databases="__all__")


def write(scope: Scope, *memories: TypedMemory, owner: str = "alice", branch: str = "", at: float = 0) -> list[Any]:
    written = write_owned(scope, SpaceOwner.end_user(owner, branch=branch), memories, now=minute(at))
    return list(written.results)


def in_branch(scope: Scope, name: str, *, owner: str = "alice") -> Scope:
    space = find_owned(scope, SpaceOwner.end_user(owner, branch=name))
    assert space is not None
    return scope.in_spaces(space)


def current(scope: Scope) -> set[str]:
    with tenant_transaction(scope):
        return set(Memory.objects.within(scope).live(minute(10_000)).values_list("public_id", flat=True))


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def test_a_branch_has_the_same_memories_under_the_same_public_ids(scope: Scope) -> None:
    (old,) = write(scope, stated("diet", "vegetarian"))
    vegan, moved = write(scope, stated("diet", "vegan"), stated(None, "moved"), at=1)

    made = create_branch(scope, "try", now=minute(2))

    branch = in_branch(scope, "try")
    assert (made.name, made.expires_at) == ("try", minute(2) + timedelta(days=7))
    assert current(branch) == current(scope) == {vegan.public_id, moved.public_id}
    with tenant_transaction(scope):
        copies = {one.public_id: one for one in Memory.objects.within(branch)}
        origins = {one.public_id: one for one in Memory.objects.within(scope)}
    assert copies.keys() == origins.keys()
    assert copies[old.public_id].superseded_by_id == copies[vegan.public_id].pk
    for name in ("created_at", "valid_from", "valid_to", "known_from", "superseded_at", "created_txid", "slot"):
        assert [getattr(copies[one], name) for one in origins] == [getattr(origins[one], name) for one in origins], name
    hits = recall_typed(branch, TypedQuery(query=Plaintext("diet"), topic_key="diet"), now=minute(3)).hits
    assert [(hit.memory.public_id, tuple(hit.channels)) for hit in hits] == [(vegan.public_id, ("topic", "keyword"))]
    with tenant_transaction(scope):
        held = holding(Memory.objects.within(branch), AsOf(at=minute(0.5), known_at=minute(9)))
        assert [one.public_id for one in held] == [old.public_id]


def test_copies_are_sealed_and_indexed_under_keys_of_the_branch(scope: Scope) -> None:
    ours, own = np.ones(384, dtype=np.float32) / 384**0.5, np.ones(4, dtype=np.float32) / 2
    write(scope, stated("a", "one", vector=ours, tags=("tag",)), stated("b", "two", vector=own))
    create_branch(scope, "try", now=minute(1))

    branch = in_branch(scope, "try")
    with tenant_transaction(scope):
        mine, theirs = open_space(scope.tenant, branch.space), open_space(scope.tenant, scope.space)
        for copied in Memory.objects.within(branch):
            assert "is" in open_text(copied, mine).reveal()
            with pytest.raises(DecryptError):
                open_text(copied, theirs)
        origin, copied = (Memory.objects.within(one).exclude(tag_tokens=[]).get() for one in (scope, branch))
        assert set(origin.tag_tokens).isdisjoint(copied.tag_tokens)
        rows = MemoryVector.objects.within(scope)
        signs = {str(one.signs) for one in rows.filter(embedder="caller-384")}
        assert len(signs) == 2, "a rotation of its own"
        for vector in rows.filter(space_id=branch.space.id):
            assert len(open_embedding(vector.memory_id, bytes(vector.embedding_ct), mine)) in (4, 384)
    for vector, topic in ((ours, "a"), (own, "b")):
        (hit,) = recall_typed(branch, TypedQuery(vector=vector), now=minute(2)).hits
        assert hit.memory.key == topic


def test_a_branch_and_main_do_not_change_each_other(scope: Scope) -> None:
    (vegan,) = write(scope, stated("diet", "vegan"))
    create_branch(scope, "try", now=minute(1))

    (again, omnivore) = write(scope, stated("diet", "vegan"), stated("diet", "omnivore"), branch="try", at=2)
    (moved,) = write(scope, stated(None, "moved"), at=3)

    assert (again.status, again.public_id) == ("duplicate", vegan.public_id)
    assert list(omnivore.superseded) == [vegan.public_id]
    assert current(scope) == {vegan.public_id, moved.public_id}
    assert current(in_branch(scope, "try")) == {omnivore.public_id}


def test_a_branch_from_a_checkpoint_has_what_there_was_then(scope: Scope) -> None:
    (old,) = write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    write(scope, stated("diet", "vegan"), stated(None, "moved"), at=2)

    create_branch(scope, "then", at="before", now=minute(3))

    branch = in_branch(scope, "then")
    assert current(branch) == {old.public_id}
    with tenant_transaction(scope):
        assert Memory.objects.within(branch).count() == 1, "nothing that was stored since"
    with pytest.raises(CheckpointNotFound):
        create_branch(scope, "never", at="nowhere", now=minute(4))
    assert find_owned(scope, SpaceOwner.end_user("alice", branch="never")) is None


def test_a_branch_is_rewound_to_moments_of_its_origin_and_its_own(scope: Scope) -> None:
    (old,) = write(scope, stated("diet", "vegetarian"))
    create_checkpoint(scope, "before", now=minute(1))
    (vegan,) = write(scope, stated("diet", "vegan"), at=2)
    create_branch(scope, "try", now=minute(3))
    branch = in_branch(scope, "try")
    create_checkpoint(branch, "own", now=minute(4))
    write(scope, stated("diet", "omnivore"), branch="try", at=5)

    rewind(branch, "own", now=minute(6))
    assert current(branch) == {vegan.public_id}
    rewind(branch, "before", now=minute(7))
    assert current(branch) == {old.public_id}

    assert current(scope) == {vegan.public_id}
    assert [one.name for one in list_checkpoints(branch)] == ["own", "before"]
    assert [one.name for one in list_checkpoints(scope)] == ["before"]


def test_what_was_deleted_or_is_over_is_not_copied(scope: Scope) -> None:
    (gone, *_) = write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    task = TypedMemory(type="task", summary=Plaintext("call"), content=Plaintext("{}"), ttl=timedelta(seconds=30))
    write(scope, task)
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        rows = list(Memory.objects.within(scope).filter(pk=gone.memory_id))
        soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=minute(0.1))

    create_branch(scope, "try", now=minute(1))

    with tenant_transaction(scope):
        (copied,) = Memory.objects.within(in_branch(scope, "try"))
        assert open_text(copied, open_space(scope.tenant, in_branch(scope, "try").space)).reveal() == "home is Rome"


def test_names_ends_and_limits(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "one", lasts=timedelta(minutes=5), now=minute(1))
    for taken in ("one", "main"):
        with pytest.raises(BranchExists):
            create_branch(scope, taken, now=minute(2))
    create_branch(scope, "two", now=minute(2))
    assert [one.name for one in list_branches(scope, now=minute(3))] == ["main", "one", "two"]
    monkeypatch.setattr("apps.memories.branches.MOST", 2)
    with pytest.raises(TooManyBranches):
        create_branch(scope, "three", now=minute(3))
    with pytest.raises(BranchNotFound):
        create_branch(in_branch(scope, "two"), "three", now=minute(3))

    end_branch(scope, "two", now=minute(4))

    for absent in ("two", "three"):
        with pytest.raises(BranchNotFound):
            end_branch(scope, absent, now=minute(5))
    with pytest.raises(MainStays):
        end_branch(scope, "main", now=minute(5))
    with pytest.raises(BranchNotFound):
        write(scope, stated("diet", "none"), branch="two", at=5)
    with pytest.raises(BranchNotFound):
        write(scope, stated("diet", "none"), branch="one", at=7)
    assert [one.name for one in list_branches(scope, now=minute(7))] == ["main"]
    create_branch(scope, "one", now=minute(7))
    create_branch(scope, "two", now=minute(7))
    assert list(list_profiles(scope, scope.tenant.name, limit=10, now=minute(8))) == ["alice"]


def test_too_many_memories_make_no_branch(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    write(scope, stated("diet", "vegan"), stated("home", "Rome"))
    monkeypatch.setattr("apps.memories.copying.MOST", 1)
    with pytest.raises(TooLargeToBranch):
        create_branch(scope, "try", now=minute(1))
    assert find_owned(scope, SpaceOwner.end_user("alice", branch="try")) is None


def test_a_branch_of_a_sealed_space_is_sealed(scope: Scope) -> None:
    write(scope, stated("diet", "vegan", tags=("tag",), session_id="s-1"))
    set_profile(scope, scope.space.id, Profile.SEALED, now=minute(1))
    create_branch(scope, "try", now=minute(2))

    branch = in_branch(scope, "try")
    assert branch.space.is_sealed
    with tenant_transaction(scope):
        (copied,) = Memory.objects.within(branch)
        assert (copied.tag_tokens, copied.session_token) == ([], None)
    (hit,) = recall_typed(branch, TypedQuery(query=Plaintext("diet")), now=minute(3)).hits
    assert hit.memory.tags == ["tag"]


def test_sealing_a_space_seals_its_branches(scope: Scope) -> None:
    write(scope, stated("diet", "vegan", session_id="s-1"))
    create_branch(scope, "try", now=minute(1))
    for profile in (Profile.SEALED, Profile.SEARCHABLE):
        assert set_profile(scope, scope.space.id, profile, now=minute(2)) == 1
        branch = in_branch(scope, "try")
        assert branch.space.is_sealed == (profile == Profile.SEALED)
        with tenant_transaction(scope):
            assert (Memory.objects.within(branch).get().session_token is None) == (profile == Profile.SEALED)
        assert recall_typed(branch, TypedQuery(query=Plaintext("diet")), now=minute(3)).hits


def test_a_memory_that_does_not_decrypt_is_left_out(scope: Scope) -> None:
    old, broken = write(scope, stated("diet", "vegetarian"), stated("diet", "vegan"))
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=broken.memory_id).update(text_ct=b"no envelope")
    create_branch(scope, "try", now=minute(1))

    with tenant_transaction(scope):
        (copied,) = Memory.objects.within(in_branch(scope, "try"))
    assert (copied.public_id, copied.superseded_by_id) == (old.public_id, None)


def test_only_what_the_request_reaches_is_copied(acme: OpenedTenant) -> None:
    everywhere = make_scope(acme)
    mine = replace(everywhere, project_id=acme.project.pk)
    write(everywhere, stated("diet", "vegan"))
    write(mine, stated("home", "Rome"))
    with tenant_transaction(mine):
        Memory.objects.within(mine).exclude(project_id=None).update(project_id=None)

    create_branch(mine, "try", now=minute(1))

    assert len(current(in_branch(everywhere, "try"))) == 2


def test_a_branch_keeps_the_retention_rules_of_its_origin(scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    set_policy(scope, Level.SPACE, scope.space.id, {"active_days": 30}, loosens=True, now=minute(0))
    create_branch(scope, "try", now=minute(1))
    branch = in_branch(scope, "try").space.id
    rules = in_force(scope, project_id=None, space_ids=[branch])
    assert rules["active_days"].value == 30

    set_policy(scope, Level.SPACE, scope.space.id, {"active_days": 10}, loosens=True, now=minute(2))

    assert in_force(scope, project_id=None, space_ids=[branch])["active_days"].value == 10


def test_names_and_ends_of_branches_are_bound(scope: Scope) -> None:
    write(scope, stated("diet", "vegan"))
    create_branch(scope, "try", now=minute(1))
    with tenant_transaction(scope):
        Space.objects.within(scope).filter(branch="try").update(expires_at=minute(10**6))
    with pytest.raises(DecryptError):
        find_owned(scope, SpaceOwner.end_user("alice", branch="try"))


@pytest.mark.parametrize("seed", seeds("BRANCHES"))
def test_random_histories_with_branches_equal_a_naive_replay(acme: OpenedTenant, seed: int) -> None:
    drawn = random.Random(seed)
    branches = rewinds = 0
    for number in range(EACH):
        owner = f"person-{number}"
        scope = make_scope(acme, owner)
        models: dict[str, Replay] = {"": Replay()}
        ids = dict[Said, str]()
        for step in range(STEPS):
            now, choice = minute(step), drawn.random()
            name = drawn.choice(sorted(models))
            model, here = models[name], in_branch(scope, name, owner=owner)
            if choice < 0.6 or not models[""].saved:
                batch = draw_batch(drawn)
                model.write(batch)
                results = write(scope, *(stated(*one) for one in batch), owner=owner, branch=name, at=step)
                for one, result in zip(batch, results, strict=True):
                    assert ids.setdefault(one, result.public_id) == result.public_id, "one id in every branch"
                if drawn.random() < 0.5 or not model.saved:
                    create_checkpoint(here, f"step-{step}", now=now)
                    model.saved[f"step-{step}"] = model.copy()
            elif choice < 0.75 and len(models) < 4:
                fresh, then = f"branch-{step}", drawn.choice([None, *sorted(models[""].saved)])
                create_branch(scope, fresh, at=then, now=now)
                models[fresh] = branch_of(models[""], then)
                branches += 1
            elif model.saved:
                to = drawn.choice(sorted(model.saved))
                before = model.copy()
                done = rewind(here, to, now=now)
                model.back(model.saved[to])
                rewinds += 1
                if drawn.random() < 0.3:
                    rewind(here, str(done.before), now=now + timedelta(seconds=1))
                    model.back(before)
            for name, model in models.items():
                assert current(in_branch(scope, name, owner=owner)) == model.current(ids), (number, step, name)
    assert branches > EACH
    assert rewinds > EACH


def branch_of(origin: Replay, checkpoint: str | None) -> Replay:
    """A branch has the checkpoints of its origin up to the one that it begins at."""
    made = origin.copy()
    if checkpoint is not None:
        made.back(origin.saved[checkpoint])
        reached = int(checkpoint.removeprefix("step-"))
        made.saved = {name: one for name, one in origin.saved.items() if int(name.removeprefix("step-")) <= reached}
    return made


def test_checkpoints_of_a_branch_are_rows_of_its_space(scope: Scope) -> None:
    write_typed(scope, "alice", [stated("diet", "vegan")], now=minute(0))
    create_checkpoint(scope, "before", now=minute(0))
    create_branch(scope, "try", now=minute(1))
    with tenant_transaction(scope):
        spaces = MemoryCheckpoint.objects.within(scope).order_by("space_id").values_list("space_id", flat=True)
        assert list(spaces) == [scope.space.id, in_branch(scope, "try").space.id]
