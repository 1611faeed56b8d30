"""Erasures, purges and sweeps in a process of their own, killed at any statement: carried through later, with the same
end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure import receipt_log, replay, rows
from apps.erasure.disk_purge import Purged, PurgeUnderWay, rewrite_tables
from apps.erasure.models import ErasureState, Receipt
from apps.erasure.selectors import list_erasures
from apps.erasure.workflow import resume
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory, MemoryTransition
from apps.memories.selectors import MemoryNotFound, get_memory
from apps.projects.scope import Scope
from apps.retention.models import RetentionRun
from apps.retention.retention_sweep import sweep
from apps.transparency.receipts import verify
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

KILLS: Final = int(os.environ.get("ERASURE_KILLS", "3"))
NOW: Final = datetime.now(UTC)
DONE: Final = "done"
TEXTS: Final = ("I live in Lisbon.", "I moved to Porto.", "My dog Biscuit sleeps on the sofa.", "I work as a nurse.")
# Loads everything once, then carries out each task in a child: says its process id, and each statement before it is
# sent, and waits to be told to send it.
CARRIER: Final = """
import json, os, sys, uuid
from contextlib import ExitStack
from datetime import datetime
import django
django.setup()
from django.db import connections
from apps.projects.scope import Principal
from apps.projects.system import find_system_scope
from apps.erasure import disk_purge, hard_delete
from apps.retention import retention_sweep
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
hard_delete.BATCH = 2
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
def wait(execute, sql, params, many, context):
    say("statement")
    sys.stdin.readline()
    return execute(sql, params, many, context)
def carry_out(asked, now):
    with ExitStack() as stack:
        for alias in ("default", "keyring"):
            stack.enter_context(connections[alias].execute_wrapper(wait))
        if asked["verb"] == "purge":
            disk_purge.rewrite_tables(now=now)
        elif asked["verb"] == "sweep":
            retention_sweep.sweep(find_system_scope(asked["tenant"]), now=now)
        else:
            by = Authorisation(principal=Principal(kind="account", id=3), method="session+webauthn")
            what = {"memories": lambda: Target.memories(asked["ids"]),
                    "space": lambda: Target.space(uuid.UUID(asked["space"]))}[asked["verb"]]()
            start_erasure(find_system_scope(asked["tenant"]), what, authorised=by, now=now)
while line := sys.stdin.readline():
    asked = json.loads(line)
    pid = os.fork()
    if not pid:
        say(str(os.getpid()))
        carry_out(asked, datetime.fromisoformat(asked["now"]))
        say("done")
        os._exit(0)
    os.waitpid(pid, 0)
    say("over")
"""
Run = Callable[..., int]


@pytest.fixture(scope="module")
def carrier(django_db_setup: None) -> Iterator[subprocess.Popen[str]]:
    environment = dict(os.environ) | {"DJANGO_SETTINGS_MODULE": "tests.settings", "RETENTION_BATCH": "2"}
    for alias, name in (("default", "DATABASE_URL"), ("keyring", "KEYRING_URL")):
        base, _, rest = environment[name].rpartition("/")
        _, mark, options = rest.partition("?")
        environment[name] = f"{base}/{connections[alias].settings_dict['NAME']}{mark}{options}"
    command = [sys.executable, "-c", CARRIER]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def run(carrier: subprocess.Popen[str]) -> Run:
    """How many statements it sent; killed before it sends that one."""
    told, says = carrier.stdin, carrier.stdout
    assert told is not None
    assert says is not None

    def run(asked: dict[str, Any], *, kill_at: int | None, now: datetime) -> int:
        told.write(json.dumps(asked | {"now": now.isoformat()}) + "\n")
        child, sent = int(says.readline()), 0
        while (line := says.readline().strip()) == "statement":
            if sent == kill_at:
                os.kill(child, signal.SIGKILL)
                assert says.readline().strip() == "over"
                return sent
            sent += 1
            told.write("\n")
        assert line == DONE, "the child ended before it was done"
        assert says.readline().strip() == "over"
        return sent

    return run


def purge_after_a_kill(*, now: datetime) -> Purged:
    """PostgreSQL takes a moment to see that who held the lock is gone, and autovacuum one to look at rows."""
    until = time.monotonic() + 30
    while True:
        is_late = time.monotonic() > until
        try:
            done = rewrite_tables(now=now)
            if done.is_done or is_late:
                return done
        except PurgeUnderWay:
            if is_late:
                raise
        time.sleep(0.1)


def say(scope: Scope) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in TEXTS]
    return [one for outcome in remember(scope, proposals, now=NOW) for one in outcome.memory_ids]


def asked_of(verb: str, scope: Scope, ids: list[int]) -> dict[str, Any]:
    return {"verb": verb, "tenant": scope.tenant_id, "ids": ids[:3], "space": str(scope.space.uid)}


def readable(scope: Scope, ids: list[int]) -> set[str]:
    """The texts of those that are there; each of them opens whole, or it is not there at all."""
    with tenant_transaction(scope):
        there = list(Memory.objects.within(scope).filter(pk__in=ids).order_by("pk").values_list("pk", flat=True))
    return {get_memory(scope, one, now=NOW).text.reveal() for one in there}


def traces(scope: Scope, ids: list[int]) -> dict[str, int]:
    """Rows that still belong to any of these memories, but the numbers in its history."""
    found = {}
    with tenant_transaction(scope), connection.cursor() as cursor:
        for table in rows.tables_of_a_space():
            columns = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            if "memory_id" in columns and table != "memories_memorytransition":
                cursor.execute(f"select count(*) from {table} where memory_id = any(%s)", [ids])  # noqa: S608
                found[table] = (cursor.fetchone() or (0,))[0]
    return {table: count for table, count in found.items() if count}


def test_an_erasure_killed_at_any_statement_is_carried_through(acme: OpenedTenant, run: Run) -> None:
    chance = random.Random(20261122)
    lengths = {}
    for verb in ("memories", "space"):
        scope = make_scope(acme, f"whole {verb}")
        lengths[verb] = run(asked_of(verb, scope, say(scope)), kill_at=None, now=NOW)
    (whole, *_) = list_erasures(acme.scope)
    neighbour = make_scope(acme, "neighbour")
    kept = say(neighbour)

    for number in range(KILLS):
        verb = ("memories", "space")[number % 2]
        scope = make_scope(acme, f"person {number}")
        ids = say(scope)
        before = len(list_erasures(acme.scope, limit=1_000))
        run(asked_of(verb, scope, ids), kill_at=chance.randrange(lengths[verb]), now=NOW)
        if verb == "memories":
            assert readable(scope, ids) <= set(TEXTS)  # each that is there opens whole

        resume(now=NOW + timedelta(minutes=1))
        replay.resume(now=NOW + timedelta(minutes=1))

        erasures = list_erasures(acme.scope, limit=1_000)
        if len(erasures) == before:
            assert readable(scope, ids) == set(TEXTS)  # it had not begun
            continue
        gone = ids[:3] if verb == "memories" else ids
        assert traces(acme.scope, gone) == {}
        assert readable(scope, ids) == (set(TEXTS[3:]) if verb == "memories" else set())
        assert {one.state for one in erasures} == {ErasureState.DELETED}
        mine = next(one for one in erasures if one.counts["memories"] == len(gone))
        assert mine.counts["vectors"] == len(gone)
    assert whole.counts["memories"] in (3, 4)
    assert readable(neighbour, kept) == set(TEXTS)
    assert Receipt.objects.count() == len(list_erasures(acme.scope, limit=1_000))
    for receipt in receipt_log.receipts_of(acme.scope, limit=1_000):
        assert verify(receipt.to_json(), receipt_log.public_keys()).receipt["phase"] == "deleted"


def test_a_purge_killed_at_any_statement_is_carried_through(acme: OpenedTenant, run: Run) -> None:
    chance = random.Random(7)
    scope = make_scope(acme)
    run(asked_of("memories", scope, say(scope)), kill_at=None, now=NOW)
    purging = {"verb": "purge", "tenant": scope.tenant_id, "ids": [], "space": ""}
    length = run(purging, kill_at=None, now=NOW + timedelta(minutes=1))

    for number in range(KILLS if KILLS > 5 else 2):  # a whole erasure and two purges each
        person = make_scope(acme, f"person {number}")
        run(asked_of("memories", person, say(person)), kill_at=None, now=NOW)
        run(purging, kill_at=chance.randrange(length), now=NOW + timedelta(minutes=2))
        done = purge_after_a_kill(now=NOW + timedelta(minutes=3))

        assert done.waits == []
        assert {one.state for one in list_erasures(acme.scope, limit=1_000)} == {ErasureState.PURGED}


def test_a_sweep_killed_at_any_statement_is_carried_through(acme: OpenedTenant, run: Run) -> None:
    """Every other one is killed while it deletes what is past its time, the rest while they remove for good."""
    chance = random.Random(90)
    deleting, removing = NOW + timedelta(days=91), NOW + timedelta(days=99)
    lengths = {}
    whole = make_scope(acme, "whole")
    undisturbed = say(whole)
    for now in (deleting, removing):
        lengths[now] = run(asked_of("sweep", whole, []), kill_at=None, now=now)
    usual = traces(acme.scope, undisturbed)  # what was decided of them, without a word
    assert set(usual) == {"ingest_candidate"}

    for number in range(KILLS):
        scope = make_scope(acme, f"person {number}")
        ids = say(scope)
        removes = number % 2 == 1
        if removes:
            assert sweep(acme.scope, now=deleting).deleted == len(ids)
        now = removing if removes else deleting
        run(asked_of("sweep", scope, ids), kill_at=chance.randrange(lengths[now]), now=now)

        left = statuses(scope, ids)
        assert set(left.values()) <= ({"soft_deleted"} if removes else {"active", "soft_deleted"})
        active = [one for one, status in left.items() if status == "active"]
        assert readable(scope, active) <= set(TEXTS)  # each opens whole
        for one in left.keys() - set(active):
            with pytest.raises(MemoryNotFound):
                get_memory(scope, one, now=NOW)

        let_go(acme.scope)
        assert sweep(acme.scope, now=now).is_done

        with tenant_transaction(scope):
            deletions = MemoryTransition.objects.within(scope).filter(memory_id__in=ids, event="soft_deleted").count()
        assert deletions == len(ids)  # none twice, none without a trace
        if removes:
            assert traces(acme.scope, ids) == usual
            assert statuses(scope, ids) == {}
        else:
            assert set(statuses(scope, ids).values()) == {"soft_deleted"}
            assert sweep(acme.scope, now=removing).purged == len(ids)


def statuses(scope: Scope, ids: list[int]) -> dict[int, str]:
    with tenant_transaction(scope):
        return dict(Memory.objects.within_tenant(scope).filter(pk__in=ids).values_list("pk", "retention_status"))


def let_go(scope: Scope) -> None:
    """Of the lease that the killed one held, before two minutes are over."""
    with tenant_transaction(scope):
        RetentionRun.objects.within(scope).update(leased_until=datetime(2000, 1, 1, tzinfo=UTC))
