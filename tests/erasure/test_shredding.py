"""Shredding: nothing of it opens again, whatever races with it and wherever it stops; and no other user loses data."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.selectors import KeyUnknown, authenticate
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto import key_cache
from apps.crypto.models import KeyState, SpaceSecret, TenantKey
from apps.crypto.services import DecryptError, KeysMissing, SpaceCipher, SpaceShredded, open_space
from apps.erasure import ledger, rows, shredding
from apps.erasure.models import ErasedKind, ErasureEntry
from apps.erasure.replay import resume
from apps.erasure.shredding import (
    AlreadyShredded,
    SpaceNotFound,
    plan_space,
    plan_tenant,
)
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember, remember_for
from apps.memories.models import Memory
from apps.memories.models.memory import TEXT
from apps.memories.spaces import find_end_user, get_or_create_end_user
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.recall.services import recall
from apps.tenants.models import EndUser, Tenant
from tests.api.conftest import Caller
from tests.makers import NOW, make_scope, make_tenant
from tests.shredding import shred_space, shred_tenant

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

DOG = "My dog Biscuit sleeps on the blue sofa."
HOME = "I live in Lisbon."


class Killed(BaseException):
    """The command was killed here."""


@pytest.fixture(autouse=True)
def _accesses_are_counted_now() -> Iterator[None]:
    yield
    read_log.flush()


def say(scope: Scope, *texts: str) -> list[int]:
    outcomes = remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in texts], now=NOW)
    return [memory_id for outcome in outcomes for memory_id in outcome.memory_ids]


def heard(scope: Scope, query: str = "where does my dog sleep?") -> list[str]:
    return [hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=50, now=NOW).hits]


def sealed_rows(scope: Scope) -> list[tuple[int, bytes]]:
    """(id, sealed text) of a space: what a backup of the data keeps."""
    with tenant_transaction(scope):
        return [(row.pk, bytes(row.text_ct)) for row in Memory.objects.within(scope).order_by("pk")]


def opened(scope: Scope, cipher: SpaceCipher, kept: list[tuple[int, bytes]]) -> int:
    count = 0
    for memory_id, blob in kept:
        with suppress(DecryptError):
            cipher.open(TEXT, memory_id, blob)
            count += 1
    return count


def rows_left(scope: Scope, space_id: int | None = None) -> dict[str, int]:
    tables = rows.tables_of_a_space() if space_id is not None else rows.tables_of_a_tenant()
    with tenant_transaction(scope):
        counts = {table: rows.count(scope, table, space_id=space_id) for table in tables}
    return {table: count for table, count in counts.items() if count}


# -- a space ----------------------------------------------------------------------------------------------------------


def test_shredded_space_is_gone_from_every_table_and_the_neighbour_is_whole(acme: OpenedTenant) -> None:
    alice, bob = make_scope(acme, "alice"), make_scope(acme, "bob")
    say(alice, DOG, HOME)
    say(bob, DOG, HOME)

    done = shred_space(alice, alice.space.uid, now=NOW)

    assert done.memories == 2
    assert rows_left(alice, alice.space.id) == {}
    assert heard(alice) == []
    assert find_end_user(acme.scope, "alice") is None
    assert set(heard(bob)) == {DOG, HOME}
    with tenant_transaction(acme.scope):
        assert [person.pk for person in EndUser.objects.within(acme.scope)] == [bob.space.owner_id]
        event = AuditEvent.objects.get(action="space.shred")
    assert (event.count, event.reason, event.target) == (2, str(alice.space.uid), f"space:{alice.space.id}")


def test_a_backup_of_the_rows_opens_no_more_even_in_a_process_that_held_the_keys(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG, HOME)
    kept, before = sealed_rows(alice), open_space(alice.tenant, alice.space)
    assert opened(alice, before, kept) == 2

    shred_space(alice, alice.space.uid, now=NOW)

    with pytest.raises(SpaceShredded):
        open_space(alice.tenant, alice.space)
    secret = SpaceSecret.objects.get(space_uid=alice.space.uid)
    assert (secret.salt, secret.destroyed_at) == (None, NOW)
    # A new salt for the old rows opens nothing.
    other = make_scope(acme, "mallory")
    assert opened(other, open_space(other.tenant, other.space), kept) == 0


def test_what_the_person_says_next_is_in_a_new_space_under_a_new_salt(acme: OpenedTenant) -> None:
    old = make_scope(acme)
    say(old, DOG)
    shred_space(old, old.space.uid, now=NOW)

    new, (outcome,) = remember_for(acme.scope, "alice", [Proposal(text=Plaintext(DOG), importance=0.6)], now=NOW)

    assert outcome.counts == {"created": 1}
    assert new.space.uid != old.space.uid
    assert new.space.owner_id != old.space.owner_id
    assert heard(new) == [DOG]
    assert heard(old) == []


def test_the_person_keeps_their_other_environment(acme: OpenedTenant) -> None:
    production, staging = make_scope(acme), make_scope(acme, environment=Environment.STAGING)
    say(production, DOG)
    say(staging, HOME)

    shred_space(production, production.space.uid, now=NOW)

    assert heard(staging, "where do I live?") == [HOME]
    assert make_scope(acme).space.owner_id == staging.space.owner_id


def test_a_space_without_a_memory_never_gets_a_salt_again(acme: OpenedTenant) -> None:
    alice = make_scope(acme)

    shred_space(alice, alice.space.uid, now=NOW)

    with pytest.raises(SpaceShredded):
        open_space(alice.tenant, alice.space)


def test_shredding_twice_is_refused_and_another_tenants_space_is_not_found(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    with pytest.raises(SpaceNotFound):
        shred_space(globex.scope, alice.space.uid, now=NOW)
    assert heard(alice) == [DOG]
    shred_space(alice, alice.space.uid, now=NOW)

    with pytest.raises(AlreadyShredded):
        shred_space(alice, alice.space.uid, now=NOW)
    assert ErasureEntry.objects.count() == 1


def test_plan_says_what_shredding_deletes_and_deletes_nothing(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG, HOME)

    plan = plan_space(alice, alice.space.uid)

    assert (plan.memories, plan.salts) == (2, 1)
    assert ledger.position().entries == 0
    assert set(heard(alice)) == {DOG, HOME}
    done = shred_space(alice, alice.space.uid, now=NOW)
    assert done.rows == plan.rows


def test_the_ledger_and_the_evidence_can_be_neither_changed_nor_deleted(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    shred_space(alice, alice.space.uid, now=NOW)

    for statement in (
        "update erasure_erasureentry set actor = 'nobody'",
        "delete from erasure_erasureentry",
        "delete from crypto_spacesecret",
        "update crypto_spacesecret set salt = '\\x00', destroyed_at = null",
    ):
        with (
            connections["keyring"].cursor() as cursor,
            pytest.raises(DatabaseError, match=r"append only|evidence|salt"),
        ):
            cursor.execute(statement)
    (entry,) = ledger.entries()
    assert (entry.kind, entry.target_uid, entry.tenant_uid) == (ErasedKind.SPACE, alice.space.uid, acme.tenant.uid)


# -- stopped anywhere -------------------------------------------------------------------------------------------------

STEPS_OF_A_SPACE = [
    (shredding, "_take_from_owner"),
    (shredding.crypto, "destroy_salt"),
    (shredding.crypto, "drop_cached_keys"),
    (shredding.rows, "delete_all"),
    (shredding.rows, "delete_rest"),
    (shredding, "_delete_row"),
    (shredding, "record"),
]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("module", "step"), STEPS_OF_A_SPACE, ids=[step for _, step in STEPS_OF_A_SPACE])
def test_a_shredding_killed_at_any_step_is_finished_by_the_next_run(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, is_done: bool
) -> None:
    alice, bob = make_scope(acme, "alice"), make_scope(acme, "bob")
    say(alice, DOG, HOME)
    say(bob, DOG)
    kept = sealed_rows(alice)
    kill(monkeypatch, module, step, is_done=is_done)
    with pytest.raises(Killed):
        shred_space(alice, alice.space.uid, now=NOW)
    monkeypatch.undo()
    salt = SpaceSecret.objects.get(space_uid=alice.space.uid).salt
    if salt is None:
        key_cache.forget_all()  # another process, or this one in five minutes
        with pytest.raises(SpaceShredded):
            open_space(alice.tenant, alice.space)

    resume(now=NOW)

    assert rows_left(alice, alice.space.id) == {}
    with pytest.raises(SpaceShredded):
        open_space(alice.tenant, alice.space)
    assert heard(bob) == [DOG]
    new = make_scope(acme)
    say(new, HOME)
    assert heard(new, "where do I live?") == [HOME]
    assert opened(new, open_space(new.tenant, new.space), kept) == 0
    with tenant_transaction(acme.scope):
        assert AuditEvent.objects.filter(action="space.shred").count() == 1
    assert (resume(now=NOW).spaces, resume(now=NOW).memories) == (0, 0)


def kill(monkeypatch: pytest.MonkeyPatch, module: Any, step: str, *, is_done: bool) -> None:
    """Be killed before the step is begun, or when it is done."""
    plain = getattr(module, step)

    def killed(*args: Any, **options: Any) -> Any:
        if is_done:
            plain(*args, **options)
        raise Killed

    monkeypatch.setattr(module, step, killed)


# -- at the same time --------------------------------------------------------------------------------------------------


def at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    barrier = threading.Barrier(len(tasks))

    def begin(task: Callable[[], Any]) -> Any:
        barrier.wait(timeout=30)
        return elsewhere(task)

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(begin, task) for task in tasks]]


def test_person_who_is_made_and_forgotten_while_they_are_met_is_met_all_the_same(acme: OpenedTenant) -> None:
    with ThreadPoolExecutor(2) as others:
        begun: list[Any] = []

        def between(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if begun or not sql.startswith('INSERT INTO "tenants_enduser"'):
                return execute(sql, *rest)
            theirs = others.submit(elsewhere, lambda: get_or_create_end_user(acme.scope, "alice", now=NOW)).result(
                timeout=30
            )
            done = execute(sql, *rest)
            # Ends only after us: it waits for those who write under the keys that it drops.
            begun.append(others.submit(elsewhere, lambda: shred_space(acme.scope, theirs.uid, now=NOW)))
            while others.submit(elsewhere, lambda: find_end_user(acme.scope, "alice")).result(timeout=30) is not None:
                time.sleep(0.01)
            return done

        with connection.execute_wrapper(between):
            mine = get_or_create_end_user(acme.scope, "alice", now=NOW)

        assert begun.pop().result(timeout=30).kind == ErasedKind.SPACE
    assert find_end_user(acme.scope, "alice") == mine


def elsewhere(task: Callable[[], Any]) -> Any:
    try:
        return task()
    finally:
        connections.close_all()


def test_adds_and_questions_that_race_with_a_shredding_are_answered_and_leave_no_row_behind(acme: OpenedTenant) -> None:
    caller = Caller(acme.keys[Environment.PRODUCTION])
    writers, rounds = 4, 8
    statuses: list[int] = []
    shredded: list[Scope] = []
    at_work = list(range(writers))

    def add(writer: int) -> None:
        for number in range(rounds):
            text = f"Parcel {writer}-{number} went to the harbour office."
            item = {"text": text, "importance": 0.6}
            statuses.append(caller("POST", "/memory/add", item).status_code)
            items = [item | {"text": f"{text} At noon."}]
            statuses.append(caller("POST", "/memory/bulk-add", {"items": items}).status_code)
            statuses.append(caller("POST", "/memory/query", {"query": "which parcel?"}).status_code)
        at_work.remove(writer)

    def shred() -> None:
        while at_work:
            space = find_end_user(acme.scope, "alice")
            if space is not None:
                shred_space(acme.scope, space.uid, now=NOW)
                shredded.append(acme.scope.in_spaces(space))

    at_once([*(lambda writer=writer: add(writer) for writer in range(writers)), shred])

    # 404: stored, and erased before the answer was put together.
    assert set(statuses) <= {200, 201, 207, 404}
    assert len(shredded) > 1
    for scope in shredded:
        assert rows_left(scope, scope.space.id) == {}
    with tenant_transaction(acme.scope):
        people = set(EndUser.objects.within(acme.scope).values_list("pk", flat=True))
        assert {space.owner_id for space in Space.objects.within(acme.scope)} <= people
    # Every row that is left opens.
    space = get_or_create_end_user(acme.scope, "alice", now=NOW)
    alice = acme.scope.in_spaces(space)
    kept = sealed_rows(alice)
    with tenant_transaction(acme.scope):
        assert Memory.objects.within_tenant(acme.scope).count() == len(kept)
    assert opened(alice, open_space(alice.tenant, space), kept) == len(kept)


def test_an_add_that_found_the_space_before_it_was_shredded_stores_in_the_new_one(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: win the race between finding the space and writing, and get a row under a salt that is gone."""
    alice = make_scope(acme)
    say(alice, HOME)
    pool = ThreadPoolExecutor(1)

    def shred_elsewhere() -> None:
        shred_space(alice, alice.space.uid, now=NOW)
        connections.close_all()

    from apps.ingest import pipeline

    plain = pipeline.embed

    def embed(*args: Any) -> None:
        monkeypatch.setattr(pipeline, "embed", plain)
        pool.submit(shred_elsewhere).result(timeout=30)
        plain(*args)

    monkeypatch.setattr(pipeline, "embed", embed)
    new, (outcome,) = remember_for(acme.scope, "alice", [Proposal(text=Plaintext(DOG), importance=0.6)], now=NOW)

    assert outcome.is_stored
    assert new.space.uid != alice.space.uid
    assert heard(new) == [DOG]
    with tenant_transaction(acme.scope):
        assert Memory.objects.within_tenant(acme.scope).count() == 1


def test_a_writer_who_was_faster_is_waited_for_and_then_deleted(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, HOME)
    has_written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        with tenant_transaction(alice):
            say(alice, DOG)
            has_written.set()
            may_commit.wait(30)

    def shred() -> int:
        has_written.wait(30)
        threading.Timer(0.5, may_commit.set).start()
        return shred_space(alice, alice.space.uid, now=NOW).memories

    _, memories = at_once([write, shred])

    assert memories == 2
    assert rows_left(alice, alice.space.id) == {}


# -- a tenant ----------------------------------------------------------------------------------------------------------


def test_shredded_tenant_leaves_its_trail_and_nothing_else(acme: OpenedTenant, globex: OpenedTenant) -> None:
    alice, other = make_scope(acme), make_scope(globex)
    say(alice, DOG, HOME)
    say(other, DOG)
    plan = plan_tenant(acme.tenant)

    done = shred_tenant(acme.scope, now=NOW)

    assert (done.memories, plan.memories, plan.rows) == (2, 2, done.rows)
    assert (done.keys, done.salts, done.key_encryption_keys) == (2, 2, 0)
    assert rows_left(acme.scope) == {}
    tenant = Tenant.objects.get(pk=acme.tenant.pk)
    assert (tenant.closed_at, tenant.name) == (NOW, f"erased-{tenant.uid.hex[:16]}")
    with tenant_transaction(acme.scope):
        assert AuditEvent.objects.filter(action="tenant.shred", tenant_id=tenant.pk).count() == 1
    keys = TenantKey.objects.filter(tenant_uid=tenant.uid)
    assert {(key.state, key.wrapped, key.destroyed_at) for key in keys} == {(KeyState.DESTROYED, None, NOW)}
    assert heard(other) == [DOG]
    for text in acme.keys.values():
        with pytest.raises(KeyUnknown):
            authenticate(text, now=NOW)
    assert make_tenant("acme").tenant.uid != tenant.uid  # the name is free


def test_no_process_opens_a_shredded_tenant_with_keys_it_held(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(alice, DOG)
    open_space(alice.tenant, alice.space)

    shred_tenant(acme.scope, now=NOW)

    with pytest.raises(KeysMissing):
        open_space(alice.tenant, alice.space)
    assert Caller(acme.keys[Environment.PRODUCTION])("POST", "/memory/add", {"text": DOG}).status_code == 401


STEPS_OF_A_TENANT = [
    (shredding, "_shut"),
    (shredding.crypto, "destroy_tenant_keys"),
    (shredding.crypto, "drop_cached_keys"),
    (shredding.crypto, "destroy_all_salts"),
    (shredding.crypto, "destroy_own_keks"),
    (shredding.rows, "delete_all"),
    (shredding.rows, "delete_rest"),
    (shredding, "record"),
]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("module", "step"), STEPS_OF_A_TENANT, ids=[step for _, step in STEPS_OF_A_TENANT])
def test_the_shredding_of_a_tenant_killed_at_any_step_is_finished_by_the_next_run(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, is_done: bool
) -> None:
    alice, other = make_scope(acme), make_scope(globex)
    say(alice, DOG, HOME)
    say(other, DOG)
    kill(monkeypatch, module, step, is_done=is_done)
    with pytest.raises(Killed):
        shred_tenant(acme.scope, now=NOW)
    monkeypatch.undo()

    resume(now=NOW)

    assert rows_left(acme.scope) == {}
    assert TenantKey.objects.filter(tenant_uid=acme.tenant.uid, wrapped__isnull=False).count() == 0
    assert SpaceSecret.objects.filter(tenant_uid=acme.tenant.uid, salt__isnull=False).count() == 0
    assert heard(other) == [DOG]
    with tenant_transaction(acme.scope):
        assert AuditEvent.objects.filter(action="tenant.shred").count() == 1
    assert resume(now=NOW).tenants == 0


def test_adds_that_race_with_the_shredding_of_their_tenant_get_a_refusal_and_no_fault(acme: OpenedTenant) -> None:
    caller = Caller(acme.keys[Environment.PRODUCTION])
    caller.add(HOME)
    statuses: list[int] = []
    is_over = threading.Event()

    def add(writer: int) -> None:
        number = 0
        while not is_over.is_set() and 401 not in statuses:
            number += 1
            text = f"Parcel {writer}-{number} went to the harbour office."
            answer = caller.as_user(f"user {number % 3}")("POST", "/memory/add", {"text": text, "importance": 0.6})
            statuses.append(answer.status_code)

    def shred() -> None:
        time.sleep(0.2)
        try:
            shred_tenant(acme.scope, now=NOW)
        finally:
            is_over.set()

    at_once([*(lambda writer=writer: add(writer) for writer in range(3)), shred])
    resume(now=NOW)

    assert set(statuses) <= {200, 201, 401, 403, 404, 429, 503}
    assert rows_left(acme.scope) == {}


# -- the ledger, once more ---------------------------------------------------------------------------------------------


def test_every_table_of_a_space_says_so_in_a_column(acme: OpenedTenant) -> None:
    """A table whose rows hang off a space and do not say which would keep them when the space is shredded."""
    alice = make_scope(acme)
    say(alice, DOG, HOME)
    before = rows_left(acme.scope)

    shred_space(alice, alice.space.uid, now=NOW)

    assert {"memories_memory", "memories_memoryvector", "memories_posting", "ingest_candidate"} <= before.keys()
    # The tombstone is the person's: what was under way for them brings nothing back.
    assert set(rows_left(acme.scope)) == {
        "apikeys_apikey", "crypto_tenantkeystate", "memories_tombstone", "projects_project",
    }  # fmt: skip


def test_an_erased_memory_is_erased_again_and_a_younger_one_of_its_id_is_not(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    first, second = say(alice, DOG, HOME)
    for memory_id, erased_at in ((first, NOW + timedelta(hours=1)), (second, NOW - timedelta(hours=1))):
        ErasureEntry.objects.create(
            tenant_uid=acme.tenant.uid, kind=ErasedKind.MEMORY, target_id=memory_id, erased_at=erased_at, actor="test"
        )

    done = resume(now=NOW)

    assert done.memories == 1
    assert heard(alice, "where do I live?") == [HOME]
    with tenant_transaction(alice), connection.cursor() as cursor:
        cursor.execute("select count(*) from memories_posting where memory_id = %s", [first])
        assert cursor.fetchone() == (0,)
