"""Ciphertexts moved between real rows by someone with the database at hand, and read through the product's own paths.

The rows are written by the pipeline.  For every part that is bound into a seal there are swaps in which that part alone
differs.  None is accepted, each answer is the row left out or one clean error, and each leaves an event.
CRYPTO_SWAPS says how many of each kind; ``scripts/nightly`` says a thousand.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto import lifecycle
from apps.crypto.models import TenantKeyState
from apps.crypto.services import DecryptError
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.memories import embedding, integrity, reencryption
from apps.memories.selectors import get_memory
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_system_scope
from apps.recall import read_log
from apps.recall.services import recall
from tests.crypto.broken import SEALED, changed, read, superuser, told, vectors_of, write
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

SWAPS = int(os.environ.get("CRYPTO_SWAPS", "12"))
THINGS = ("bicycle", "kettle", "violin", "ladder", "lantern", "hammock", "compass", "teapot", "easel")
MINUTE = timedelta(minutes=1)


@dataclass
class Life:
    """One end user of one tenant in one environment, and what they said, by memory id.

    Every memory has every sealed field, and all lives say things of the same sizes: nothing but the place differs.
    """

    scope: Scope
    said: dict[int, str]

    @property
    def ids(self) -> list[int]:
        return list(self.said)


def lead(tenant: OpenedTenant, user: str, environment: Environment) -> Life:
    scope = make_scope(tenant, user, environment=environment)
    texts = [f"My {thing} of {environment} stands in the yard of {tenant.tenant.name} {user}." for thing in THINGS]
    proposals = [
        Proposal(text=Plaintext(text), importance=0.6, tags=("yard",), metadata={"kind": "thing"}, session_id="s")
        for text in texts
    ]
    outcomes = remember(scope, proposals, now=NOW)
    return Life(scope, {outcome.memory_ids[0]: text for outcome, text in zip(outcomes, texts, strict=True)})


@dataclass
class World:
    mine: Life
    other_user: Life
    other_environment: Life
    other_tenant: Life
    cursor: Any
    rng: random.Random
    now: datetime = NOW

    def tick(self) -> datetime:
        """The next minute: each row may be reported to the audit once a minute."""
        self.now += MINUTE
        return self.now


@pytest.fixture
def world(acme: OpenedTenant, globex: OpenedTenant, superuser_url: str) -> Iterator[World]:
    with superuser(superuser_url) as cursor:
        yield World(
            mine=lead(acme, "alice", Environment.PRODUCTION),
            other_user=lead(acme, "carol", Environment.PRODUCTION),
            other_environment=lead(acme, "alice", Environment.STAGING),
            other_tenant=lead(globex, "alice", Environment.PRODUCTION),
            cursor=cursor,
            rng=random.Random(7),
        )
    read_log.flush()


# -- the swaps ---------------------------------------------------------------------------------------------------------

# A swap: (memory, column, the bytes to put there, where they came from).
Swap = tuple[int, str, bytes]
SEALED_HERE = tuple(column for column in SEALED if column != "label_ct")  # what is said here has no key to label
COLUMNS = ("text_ct", "tags_ct", "metadata_ct")  # those that every reading opens


def from_life(world: World, life: Life, column: str) -> Swap:
    at = world.rng.randrange(len(THINGS))
    return world.mine.ids[at], column, read(world.cursor, life.ids[at], column)


def from_record(world: World, column: str) -> Swap:
    here, there = world.rng.sample(world.mine.ids, 2)
    return here, column, read(world.cursor, there, column)


def from_field(world: World, column: str) -> Swap:
    here = world.rng.choice(world.mine.ids)
    other = world.rng.choice([one for one in (*SEALED_HERE, "embedding_ct") if one != column])
    return here, column, read(world.cursor, here, other)


def relabelled(world: World, column: str) -> Swap:
    """The header says another version of the key; 2 exists as well, and is live."""
    here = world.rng.choice(world.mine.ids)
    blob = read(world.cursor, here, column)
    version = world.rng.choice((2, 2, 0, 3, 256, 2**31, 2**32 - 1))
    return here, column, blob[:2] + version.to_bytes(4, "big") + blob[6:]


def other_suite(world: World, column: str) -> Swap:
    here = world.rng.choice(world.mine.ids)
    blob = bytearray(read(world.cursor, here, column))
    at = world.rng.randrange(2)
    blob[at] = world.rng.choice([byte for byte in range(256) if byte != blob[at]])
    return here, column, bytes(blob)


def other_part(world: World, column: str) -> Swap:
    """Salt, commitment, ciphertext or tag of another row: a forgery that is genuine in every piece."""
    here, there = world.rng.sample(world.mine.ids, 2)
    mine, theirs = read(world.cursor, here, column), read(world.cursor, there, column)
    start, end = world.rng.choice(((6, 30), (30, 62), (62, len(mine) - 16), (len(mine) - 16, len(mine))))
    return here, column, mine[:start] + theirs[start:end] + mine[end:]


KINDS: dict[str, Callable[[World, str], Swap]] = {
    "tenant": lambda world, column: from_life(world, world.other_tenant, column),
    "environment": lambda world, column: from_life(world, world.other_environment, column),
    "space": lambda world, column: from_life(world, world.other_user, column),
    "record": from_record,
    "field": from_field,
    "version": relabelled,
    "suite": other_suite,
    "part": other_part,
}


# -- reading -----------------------------------------------------------------------------------------------------------


def assert_not_accepted(world: World, memory_id: int) -> None:
    """Recall leaves the row out and gives the others whole; by its id it is refused; both are noticed."""
    mine, now = world.mine, world.tick()
    hits = recall(mine.scope, Plaintext("what stands in the yard?"), limit=50, now=now).hits
    assert {hit.memory.id: hit.memory.text.reveal() for hit in hits} == {
        other: text for other, text in mine.said.items() if other != memory_id
    }
    # Of a row that came here whole the vector is found first, and nothing leads to its text.
    assert {f"memory:{memory_id}", f"vector:{memory_id}"} & {target for target, _ in told(mine.scope, at=now)}
    now = world.tick()
    with pytest.raises(DecryptError) as refusal:
        get_memory(mine.scope, memory_id, now=now)
    assert str(refusal.value) == "This record cannot be opened."
    assert [target for target, _ in told(mine.scope, at=now)] == [f"memory:{memory_id}"]


@pytest.fixture
def second_version(acme: OpenedTenant) -> None:
    """Version 2 of acme's key is there and may be read, as in the middle of a rotation."""
    add_version(acme)


def add_version(acme: OpenedTenant) -> None:
    scope = find_system_scope(acme.scope.tenant_id)
    assert scope is not None
    version = lifecycle.begin(scope, reason="test", now=NOW)
    with tenant_transaction(scope):
        state = TenantKeyState.objects.within(scope).get()
        state.live_versions = [1, version]
        state.key_epoch += 1
        state.save(update_fields=["live_versions", "key_epoch"])


@pytest.mark.parametrize("kind", KINDS)
def test_no_ciphertext_of_another_place_is_accepted(
    world: World, second_version: None, kind: str, record_property: Any
) -> None:
    for number in range(SWAPS):
        memory_id, column, blob = KINDS[kind](world, COLUMNS[number % len(COLUMNS)])
        if blob == read(world.cursor, memory_id, column):
            continue  # two parts that happen to be one byte string, as no two salts are
        with changed(world.cursor, memory_id, column, blob):
            assert_not_accepted(world, memory_id)
        record_property(kind, number + 1)

    hits = recall(world.mine.scope, Plaintext("what stands in the yard?"), limit=50, now=world.tick()).hits
    assert {hit.memory.text.reveal() for hit in hits} == set(world.mine.said.values())


@pytest.mark.parametrize("change", [-1, 1, 2, 2**31 - 1, -(2**31)])
def test_no_other_revision_is_accepted(world: World, change: int) -> None:
    for memory_id in world.mine.ids[:2]:
        with changed(world.cursor, memory_id, "revision", change):
            assert_not_accepted(world, memory_id)


def test_no_vector_of_another_place_is_measured_with(world: World) -> None:
    """The memory is found by its words, as one that has no vector, and the row of the vector is listed."""
    for kind in ("tenant", "environment", "space", "record", "version", "suite"):
        memory_id, column, blob = KINDS[kind](world, "embedding_ct")
        with changed(world.cursor, memory_id, column, blob):
            now = world.tick()
            hits = recall(world.mine.scope, Plaintext("what stands in the yard?"), limit=50, now=now).hits
            assert {hit.memory.id for hit in hits} == set(world.mine.ids)
            assert (f"vector:{memory_id}") in {target for target, _ in told(world.mine.scope, at=now)}


# -- the paths without a request ---------------------------------------------------------------------------------------


def test_embedding_again_embeds_no_text_of_another_place(world: World) -> None:
    system = find_system_scope(world.mine.scope.tenant_id)
    assert system is not None
    for kind in KINDS:
        memory_id, column, blob = KINDS[kind](world, "text_ct")
        embedder, now = Listening(), world.tick()
        with changed(world.cursor, memory_id, column, blob), tenant_transaction(system):
            done = embedding.embed_memories(system, world.mine.ids, embedder, now=now)

        assert done == len(THINGS) - 1, kind
        assert sorted(embedder.heard) == sorted(text for other, text in world.mine.said.items() if other != memory_id)
        assert [target for target, _ in told(system, at=now)] == [f"memory:{memory_id}"]


class Listening:
    """An embedder that remembers what it was given."""

    id = "listening"
    is_local = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def embed(self, texts: list[str]) -> Any:
        self.heard += texts
        return np.full((len(texts), 384), 384**-0.5, dtype=np.float32)


@pytest.mark.parametrize("column", [*SEALED_HERE, "embedding_ct"])
def test_a_rotation_takes_nothing_of_another_place_along(world: World, acme: OpenedTenant, column: str) -> None:
    """One row for each kind of swap: they stay as they are, to be looked into, and every other one is turned."""
    system = find_system_scope(acme.scope.tenant_id)
    assert system is not None
    swaps = {}
    while len(swaps) < len(THINGS) - 1:
        memory_id, _, blob = list(KINDS.values())[len(swaps)](world, column)
        if memory_id not in swaps:
            swaps[memory_id] = blob
    for memory_id, blob in swaps.items():
        write(world.cursor, memory_id, column, blob)

    rotation.rotate(system, reason="test", now=world.tick())
    with tenant_transaction(system):
        while reencryption.reseal_batch(system, limit=100, now=world.tick()) != reencryption.Resealed():
            pass  # each batch is of one table

    table = "vector" if column == "embedding_ct" else "memory"
    assert {target for target, _ in told(system)} == {f"{table}:{memory_id}" for memory_id in swaps}
    if column == "embedding_ct":
        # Nothing is lost with a vector: the text opens, and is embedded again.
        assert vectors_of(world.cursor, swaps) == 0
    else:
        assert {memory_id: read(world.cursor, memory_id, column) for memory_id in swaps} == swaps
    (whole,) = set(world.mine.ids) - set(swaps)
    assert read(world.cursor, whole, column)[2:6] == (2).to_bytes(4, "big")
    assert get_memory(world.mine.scope, whole, now=world.tick()).text.reveal() == world.mine.said[whole]


# -- whole rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whose", ["other_user", "other_environment"])
def test_a_row_moved_whole_into_another_space_stays_shut(world: World, whose: str) -> None:
    """With its tokens and vector: what an attacker with the database's owner at hand would try."""
    theirs: Life = getattr(world, whose)
    memory_id = theirs.ids[0]
    space = world.mine.scope.space
    # No foreign key holds the row where it was: an attacker who owns the database turns those off.
    world.cursor.execute("set session_replication_role = replica")
    for table, column in (("memory", "id"), ("memoryvector", "memory_id")):
        world.cursor.execute(
            f"update memories_{table} set space_id = %s where {column} = %s",  # noqa: S608
            [space.id, memory_id],
        )
    world.cursor.execute("update memories_memory set environment = %s where id = %s", [space.environment, memory_id])
    world.cursor.execute("update memories_posting set space_id = %s where memory_id = %s", [space.id, memory_id])

    assert_not_accepted(replace_said(world, memory_id), memory_id)


def replace_said(world: World, memory_id: int) -> World:
    return replace(world, mine=Life(world.mine.scope, world.mine.said | {memory_id: "never read"}))


def test_a_row_that_takes_the_id_of_another_stays_shut(world: World) -> None:
    """Everything of one row but its id written over another's: text, tags, metadata, handles and vector."""
    here, there = world.mine.ids[:2]
    before = {column: read(world.cursor, here, column) for column in (*SEALED_HERE, "embedding_ct")}
    for column in (*SEALED_HERE, "embedding_ct"):
        write(world.cursor, here, column, read(world.cursor, there, column))

    assert_not_accepted(world, here)

    for column, blob in before.items():
        write(world.cursor, here, column, blob)
    assert get_memory(world.mine.scope, here, now=world.tick()).text.reveal() == world.mine.said[here]


def test_an_older_text_of_the_same_row_is_the_same_text(world: World) -> None:
    """What is not refused, and need not be: a text never changes under one id, so its older seals say the same."""
    memory_id = world.mine.ids[0]
    blob = read(world.cursor, memory_id, "text_ct")

    with changed(world.cursor, memory_id, "text_ct", blob):
        assert get_memory(world.mine.scope, memory_id, now=NOW).text.reveal() == world.mine.said[memory_id]

    assert integrity.flush() is None
    assert told(world.mine.scope) == []
