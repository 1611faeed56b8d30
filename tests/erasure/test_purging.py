"""Purging: what was erased is in no file of the databases any more, and the receipts say when."""

import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.erasure import disk_purge, receipt_log
from apps.erasure.disk_purge import Purged, PurgeNotAllowed, PurgeUnderWay, Told, expire_backups, rewrite_tables
from apps.erasure.models import ErasureState, Phase, Purge
from apps.erasure.selectors import get_erasure
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.history.turns import NewTurn
from apps.ingest.candidates import Proposal
from apps.ingest.conversation_sync import append_history
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.outbox import handlers
from apps.projects.scope import Principal, Scope
from apps.recall.services import recall
from apps.transfers.exports.export_now import make_now
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.services import start_export
from apps.transfers.models.exports import ExportReach, Format
from apps.transparency.receipts import verify
from benchmarks import residue
from tests.makers import make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

ERASURES = int(os.environ.get("ERASURES", "10"))
NOW = datetime.now(UTC)
WORD = Authorisation(principal=Principal(kind="account", id=3), method="session+webauthn", step_up_age_s=41)


@pytest.fixture
def superusers(superuser_url: str) -> Iterator[list[psycopg.Connection[Any]]]:
    opened = [
        psycopg.connect(
            superuser_url.rsplit("/", 1)[0] + f"/{connections[alias].settings_dict['NAME']}", autocommit=True
        )
        for alias in ("default", "keyring")
    ]
    yield opened
    for one in opened:
        one.close()


def say(scope: Scope, *texts: str) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in texts]
    return [one for outcome in remember(scope, proposals, now=NOW) for one in outcome.memory_ids]


def work_off() -> None:
    while handlers.process_due_events(now=NOW + timedelta(seconds=1)):
        pass


# -- random histories -------------------------------------------------------------------------------------------------

FOODS = ("nuts", "shellfish", "sesame", "celery", "lupin", "mustard", "soy", "gluten")
PLACES = ("Lisbon", "Porto", "Oslo", "Bergen", "Lyon", "Graz", "Gent", "Turin")
NAMES = ("Ana", "Bruno", "Clara", "Dinis", "Eva", "Filipe")


def live(scope: Scope, person: str, chance: random.Random) -> None:
    """A history with all that is derived from it: values that were replaced, a topic with a summary, turns, traces."""
    say(scope, *(f"I am allergic to {food}." for food in chance.sample(FOODS, chance.randrange(3, 6))))
    for place in chance.sample(PLACES, chance.randrange(1, 4)):
        say(scope, f"I moved to {place} {chance.randrange(10**6)} days ago.")
    for name in chance.sample(NAMES, chance.randrange(1, 3)):
        turn = NewTurn(role="user", content=Plaintext(f"{name} works at the harbour of {chance.choice(PLACES)}."))
        append_history(scope, person, name, [turn], source="chat", metadata={}, extract=True, now=NOW)
    recall(scope, Plaintext("what am I allergic to?"), limit=5, now=NOW)


def targets(scope: Scope, chance: random.Random) -> tuple[Target, bool]:
    """Something to erase of this person, and whether its sources go too."""
    with tenant_transaction(scope):
        ids = list(Memory.objects.within(scope).order_by("pk").values_list("pk", flat=True))
    return chance.choice(
        [
            (Target.memories(chance.sample(ids, chance.randrange(1, len(ids)))), chance.random() < 0.5),
            (Target.topic(chance.choice(ids)), True),
            (Target.space(scope.space.uid), False),
            (Target.end_user(scope.space.owner_id), False),
        ]
    )


def test_nothing_of_random_histories_is_left_in_any_table_or_file(
    acme: OpenedTenant, superusers: list[psycopg.Connection[Any]]
) -> None:
    chance = random.Random(20261122)
    people = [(f"person {number}", make_scope(acme, f"person {number}")) for number in range(ERASURES)]
    for name, scope in people:
        live(scope, name, chance)
    work_off()
    everybody = start_export(acme.scope, format_=Format.JSONL, reach=ExportReach.ALL, filters=ExportFilters(), now=NOW)
    make_now(acme.scope, everybody.job.pk, now=NOW)
    for one in superusers:
        one.execute("analyze")  # as autovacuum does: what rows say is in the planner's statistics then
    before = residue.take(*superusers)
    chosen = [targets(scope, chance) for _, scope in people]

    for target, with_sources in chosen:
        start_erasure(acme.scope, target, authorised=WORD, with_sources=with_sources, now=NOW)
    work_off()

    living = residue.take(*superusers)
    erased = residue.gone(before, living)
    for column in ("memories_memory.text_ct", "memories_memory.text_mac", "memories_posting.token",
                   "memories_memoryvector.embedding_ct", "memories_memoryvector.signs", "crypto_spacesecret.salt",
                   "history_historyturn.content_ct", "entities_entityalias.alias_ct",
                   "transfers_exportchunk.payload_ct"):  # fmt: skip
        assert erased.get(column), column
    still = residue.in_files(erased, *superusers)
    assert still["memories_memory.text_ct"] > 0, "or the search finds nothing at all"
    assert purge_all(rewrite=True, now=NOW + timedelta(minutes=1)).erasures == ERASURES
    left = residue.in_files(erased, *superusers, living=living)
    sys.stdout.write(f"{ERASURES} erasures: {sum(map(len, erased.values()))} values, in files before the purge "
          f"{sum(still.values())}, after it {sum(left.values())}\n")  # fmt: skip
    assert left == {}


def purge_all(*, rewrite: bool = False, told: Told = lambda table: None, now: datetime) -> Purged:
    return purge_until(set(), rewrite=rewrite, told=told, now=now)


def purge_until(waits: set[str], *, rewrite: bool = False, told: Told = lambda table: None, now: datetime) -> Purged:
    """Until no others wait.  Autovacuum looks at rows for a moment, too, and then a table waits for the next call."""
    for _ in range(30):
        done = rewrite_tables(rewrite=rewrite, told=told, now=now)
        if waits.issuperset(done.waits):
            return done
        time.sleep(0.5)
    raise AssertionError(f"still waiting: {done.waits}")


def test_nothing_is_left_of_a_table_that_is_empty_now(
    acme: OpenedTenant, superusers: list[psycopg.Connection[Any]]
) -> None:
    scope = make_scope(acme)
    say(scope, *(f"I moved to {place} {number} days ago." for number, place in enumerate(PLACES)))
    work_off()
    main, keyring = superusers
    main.execute("analyze")
    before = residue.take(main, keyring)

    start_erasure(acme.scope, Target.space(scope.space.uid), authorised=WORD, now=NOW)
    work_off()
    erased = residue.gone(before, residue.take(main, keyring))
    purge_all(rewrite=True, now=NOW + timedelta(minutes=1))

    assert main.execute("select count(*) from memories_memoryvector").fetchone() == (0,)
    assert erased["memories_memoryvector.signs"]
    assert residue.in_files(erased, main, keyring) == {}


def test_statistics_wait_for_readers_of_the_old_ones(
    acme: OpenedTenant, superusers: list[psycopg.Connection[Any]]
) -> None:
    erase_one(acme)
    main, _ = superusers

    looked: list[str] = []

    def look(table: str) -> None:
        """Since all was erased, so that no table waits for it; and before the first one's statistics are replaced."""
        if not looked:
            look_since(main, Purge.objects.get(finished_at=None).horizons["default"])
        looked.append(table)

    held = purge_until({disk_purge.STATISTICS}, told=look, now=NOW + timedelta(minutes=1))
    main.execute("rollback")

    assert set(held.waits) == {disk_purge.STATISTICS}
    assert purge_all(now=NOW + timedelta(minutes=2)).erasures == 1


def look_since(somebody: psycopg.Connection[Any], horizon: int) -> None:
    """Begin to look at what is there since that transaction: once all that were under way before it are over, those of
    other databases too, since what one looks at counts from the oldest of all.
    """
    for _ in range(60):
        somebody.execute("begin isolation level repeatable read")
        oldest = somebody.execute("select pg_snapshot_xmin(pg_current_snapshot())::text::bigint").fetchone()
        if oldest and oldest[0] >= horizon:
            return
        somebody.execute("rollback")
        time.sleep(0.5)
    raise AssertionError("somebody's transaction does not end")


def erase_one(acme: OpenedTenant, *, now: datetime = NOW) -> str:
    """The erasure's id."""
    (dog,) = say(make_scope(acme), f"My dog Biscuit sleeps on sofa {random.randrange(1_000_000)}.")
    return start_erasure(acme.scope, Target.memories([dog]), authorised=WORD, now=now).id


def phases(acme: OpenedTenant, erasure: str) -> list[Phase]:
    return [one.phase for one in get_erasure(acme.scope, erasure).receipts]


def test_each_phase_has_a_receipt_that_refers_to_the_first(acme: OpenedTenant) -> None:
    erasure = erase_one(acme)

    purge_all(now=NOW + timedelta(hours=1))
    assert expire_backups(now=NOW + timedelta(days=34)) == 0
    assert expire_backups(now=NOW + timedelta(days=35)) == 1

    done = get_erasure(acme.scope, erasure)
    assert done.state == ErasureState.FINISHED
    assert phases(acme, erasure) == [Phase.DELETED, Phase.PURGED, Phase.BACKUPS_EXPIRED]
    first, *later = (one.file["receipt"] for one in done.receipts)
    assert {one["first"] for one in later} == {later[0]["prev"]}
    assert first["first"] is None
    for one in done.receipts:
        assert verify(one.to_json(), receipt_log.public_keys()).receipt["erasure"] == erasure
    assert rewrite_tables(now=NOW + timedelta(days=36)).erasures == 0
    assert expire_backups(now=NOW + timedelta(days=70)) == 0


def test_one_purge_serves_all_that_was_erased_before_it_and_nothing_after(acme: OpenedTenant) -> None:
    before = [erase_one(acme), erase_one(acme)]
    after = erase_one(acme, now=NOW + timedelta(hours=2))

    done = purge_all(now=NOW + timedelta(hours=1))

    assert done.erasures == 2
    assert [phases(acme, one)[-1] for one in (*before, after)] == [Phase.PURGED, Phase.PURGED, Phase.DELETED]
    assert Purge.objects.count() == 1


def test_who_still_looks_at_it_holds_the_purge_up_and_the_next_one_goes_on(
    acme: OpenedTenant, superusers: list[psycopg.Connection[Any]]
) -> None:
    (dog,) = say(make_scope(acme), "My dog Biscuit sleeps on the blue sofa.")
    main, _ = superusers
    main.execute("begin isolation level repeatable read")
    main.execute("select count(*) from memories_memory")
    erasure = start_erasure(acme.scope, Target.memories([dog]), authorised=WORD, now=NOW).id

    held = rewrite_tables(now=NOW + timedelta(minutes=1))

    assert "memories_memory" in held.waits
    assert phases(acme, erasure) == [Phase.DELETED]
    main.execute("rollback")
    done = purge_all(now=NOW + timedelta(minutes=2))
    assert (done.waits, done.erasures) == ([], 1)
    assert Purge.objects.count() == 1


def test_a_purge_that_was_killed_goes_on_with_the_tables_that_are_left(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    erase_one(acme)
    tables: list[str] = []

    def killed(table: str) -> None:
        tables.append(table)
        if len(tables) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_tables(told=killed, now=NOW + timedelta(minutes=1))
    kept = set(Purge.objects.get().tables["default"])
    rest: list[str] = []
    done = purge_all(told=rest.append, now=NOW + timedelta(minutes=2))

    assert done.erasures == 1
    assert kept
    assert kept.isdisjoint(rest)
    assert {*kept, *rest} == {table for _, table in disk_purge._tables()}


def test_two_do_not_purge_at_once(acme: OpenedTenant) -> None:
    erase_one(acme)
    refused: list[BaseException] = []

    def other() -> None:
        try:
            rewrite_tables(now=NOW + timedelta(minutes=1))
        except PurgeUnderWay as error:
            refused.append(error)
        finally:
            connections.close_all()

    def meanwhile(_: str) -> None:
        if not refused:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    assert purge_all(told=meanwhile, now=NOW + timedelta(minutes=1)).erasures == 1
    assert len(refused) == 1


def test_a_large_table_is_reindexed_while_everybody_works_and_the_receipt_says_so(
    acme: OpenedTenant, settings: Any
) -> None:
    settings.PURGE_REWRITE_MB = 0
    erasure = erase_one(acme)

    done = purge_all(now=NOW + timedelta(minutes=1))

    assert done.reindexed > 5
    receipt = get_erasure(acme.scope, erasure).receipts[-1].file["receipt"]
    assert receipt["phases"]["purged"]["tables_reindexed"] == done.reindexed


def test_a_role_that_may_not_vacuum_says_so(acme: OpenedTenant, superusers: list[psycopg.Connection[Any]]) -> None:
    erase_one(acme)
    main, _ = superusers
    main.execute("revoke maintain on memories_memory from memsync_app")
    try:
        with pytest.raises(PurgeNotAllowed):
            rewrite_tables(now=NOW + timedelta(minutes=1))
    finally:
        main.execute("grant maintain on memories_memory to memsync_app")
