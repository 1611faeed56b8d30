"""Retention: what leaves, when and by whose word; and that nothing leaves otherwise, twice or back."""

import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.edges.services import NewEdge, connect
from apps.erasure import legal_holds, planning
from apps.erasure.legal_holds import CaseRefused, HeldTargetNotFound, HoldNotFound
from apps.erasure.planning import ErasureBlocked
from apps.erasure.targets import Target
from apps.ingest.candidates import ReviewedExtraction
from apps.memories.editing import Edit, edit
from apps.memories.models import Memory, MemoryTransition, MemoryVector
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import restore
from apps.policies.retention import (
    Level,
    PolicyLoosened,
    PolicyRefused,
    in_force,
    set_policy,
)
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from apps.retention import previewing, retention_sweep, tasks
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.retention.models import RetentionRun
from apps.retention.retention_sweep import RunUnderway, sweep, tier
from tests.makers import NOW, make_project, make_scope
from tests.retention.test_retention_by_day import DAY, Line, lay, remember, say, statuses

pytestmark = pytest.mark.django_db(databases="__all__")


# -- one run at a time, stopped anywhere -------------------------------------------------------------------------------


def test_a_run_that_stops_within_a_batch_leaves_nothing_half_and_the_next_ends_it(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RETENTION_BATCH = 3
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id) for _ in range(10)])
    calls = itertools.count()
    real = retention_sweep.note_steps

    def dies(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        if next(calls) == 2:
            raise RuntimeError("killed")

    monkeypatch.setattr(retention_sweep, "note_steps", dies)
    with pytest.raises(RuntimeError):
        sweep(acme.scope, now=NOW + 90 * DAY)
    assert sorted(statuses(acme.scope, ids)) == ["active"] * 4 + ["soft_deleted"] * 6
    with pytest.raises(RunUnderway):
        sweep(acme.scope, now=NOW + 90 * DAY)
    lose_lease(acme.scope)

    done = sweep(acme.scope, now=NOW + 90 * DAY)

    assert (done.deleted, done.is_done) == (4, True)
    assert statuses(acme.scope, ids) == ["soft_deleted"] * 10
    with tenant_transaction(acme.scope):
        (run,) = RetentionRun.objects.within(acme.scope)
        noted = MemoryTransition.objects.within(acme.scope).filter(memory_id__in=ids)
        assert (run.deleted, run.times_resumed, run.finished_at) == (10, 1, NOW + 90 * DAY)
        assert noted.count() == 10


def test_a_run_that_lost_its_lease_changes_nothing_more(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id)])
    real, once = retention_sweep._due, itertools.count()

    def slow(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **named)
        if found and not next(once):
            lose_lease(acme.scope)
            with tenant_transaction(acme.scope), connection.cursor() as cursor:
                cursor.execute("update retention_retentionrun set token = gen_random_uuid()")
        return found

    monkeypatch.setattr(retention_sweep, "_due", slow)
    with pytest.raises(retention_sweep.SweepLeaseLost):
        sweep(acme.scope, now=NOW + 90 * DAY)

    assert statuses(acme.scope, ids) == ["active"]


def test_a_run_in_slices_goes_on_where_it_was_and_missed_runs_are_one(acme: OpenedTenant, settings: Any) -> None:
    settings.RETENTION_BATCH = 2
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id, made=day) for day in range(6)])

    first = sweep(acme.scope, now=NOW + 150 * DAY, seconds=0.0)
    assert not first.is_done
    assert sweep(acme.scope, now=NOW + 150 * DAY).is_done
    assert statuses(acme.scope, ids) == ["soft_deleted"] * 6
    with tenant_transaction(acme.scope):
        assert [run.deleted for run in RetentionRun.objects.within(acme.scope)] == [6]


CHILD = """
import django; django.setup()
from datetime import datetime
from apps.projects.system import find_tenant_scope
from apps.retention.retention_sweep import sweep
sweep(find_tenant_scope("acme"), now=datetime.fromisoformat("{now}"), told=lambda done: print(done.total, flush=True))
"""


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_whenever_a_run_is_killed_the_next_goes_on_and_the_end_is_the_same(acme: OpenedTenant) -> None:
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id) for _ in range(60)])
    for batches in (1, 2, 3, 1):
        kill_after(batches, now=NOW + 90 * DAY)
        lose_lease(acme.scope)
        with tenant_transaction(acme.scope):
            found = dict(Memory.objects.within_tenant(acme.scope).values_list("pk", "retention_status"))
            lives = MemoryTransition.objects.within(acme.scope).filter(event="soft_deleted")
            assert lives.count() == sum(status == "soft_deleted" for status in found.values())
        assert set(found.values()) == {"active", "soft_deleted"}

    assert sweep(acme.scope, now=NOW + 90 * DAY).is_done

    assert statuses(acme.scope, ids) == ["soft_deleted"] * 60
    with tenant_transaction(acme.scope):
        (run,) = RetentionRun.objects.within(acme.scope)
        noted = MemoryTransition.objects.within(acme.scope).filter(event="soft_deleted")
        assert (run.deleted, run.times_resumed, noted.count()) == (60, 4, 60)


def kill_after(batches: int, *, now: datetime) -> None:
    """A sweep in a process of its own, killed after so many batches."""
    environment = dict(os.environ) | {"DJANGO_SETTINGS_MODULE": "tests.settings", "RETENTION_BATCH": "3"}
    for alias, name in (("default", "DATABASE_URL"), ("keyring", "KEYRING_URL")):
        base, _, rest = environment[name].rpartition("/")
        _, mark, options = rest.partition("?")
        environment[name] = f"{base}/{connections[alias].settings_dict['NAME']}{mark}{options}"
    command = [sys.executable, "-c", CHILD.format(now=now.isoformat())]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(batches):
            assert child.stdout.readline()
        child.kill()


def test_the_schedule_rings_for_every_open_tenant_and_again_until_all_is_done(
    acme: OpenedTenant, globex: OpenedTenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RETENTION_BATCH, settings.RETENTION_PAUSE = 2, 0.0
    long_ago = -300
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id, made=long_ago) for _ in range(5)])
    rung: list[int] = []
    monkeypatch.setattr(tasks.sweep_tenant, "apply_async", lambda kwargs, expires: rung.append(kwargs["tenant_id"]))
    tasks.sweep_tenants()
    assert rung == [acme.tenant.pk, globex.tenant.pk]

    monkeypatch.setattr(tasks, "SLICE_SECONDS", 0.0)
    tasks.sweep_tenant(acme.tenant.pk)
    assert rung == [acme.tenant.pk, globex.tenant.pk, acme.tenant.pk]
    monkeypatch.setattr(tasks, "SLICE_SECONDS", 60.0)
    tasks.sweep_tenant(acme.tenant.pk)
    tasks.tier_memories()

    assert len(rung) == 3
    assert statuses(acme.scope, ids) == ["soft_deleted"] * 5
    tasks.sweep_tenant(0)


def test_a_batch_reads_what_it_takes_however_much_there_is(acme: OpenedTenant, settings: Any) -> None:
    """A million rows that are due, or that have left already, must not be read again for each batch."""
    settings.RETENTION_BATCH = 100
    space = make_scope(acme).space.id
    lay(acme.scope, [Line(acme.project.pk, space, expires=50 if number % 2 else None) for number in range(2_000)])
    with connection.cursor() as cursor:
        cursor.execute("analyze memories_memory")
    plans: list[str] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "skip locked" in sql:
            execute(f"explain {sql}", params, many, context)
            plans.append("\n".join(line for (line,) in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        assert sweep(acme.scope, now=NOW + 91 * DAY).deleted == 2_000

    for index in ("memory_expires", "memory_ageing"):
        mine = [plan for plan in plans if f"using {index} on memories_memory" in plan]
        assert len(mine) >= 10
        assert not any("Sort" in plan for plan in mine)


def lose_lease(scope: Scope) -> None:
    with tenant_transaction(scope):
        RetentionRun.objects.within(scope).update(leased_until=datetime(2000, 1, 1, tzinfo=UTC))


# -- what goes along ---------------------------------------------------------------------------------------------------


def test_what_is_gone_for_good_takes_along_all_that_was_made_of_it(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    (kept,) = remember(scope, "The bus to the airport leaves at ten past six.", importance=0.6, now=NOW + 50 * DAY)
    (gone,) = remember(scope, "Maria Lopez works at Initech in Lisbon.", tags=("work",))
    ids = list(gone.memory_ids)
    edge = NewEdge(from_id=ids[0], to_id=kept.memory_ids[0], type="supports")
    connect(scope, [edge], now=NOW + 50 * DAY)
    edit(scope, Edit(memory_id=ids[0], tags=("work", "people")), now=NOW + 51 * DAY)
    assert mentions(scope, ids) > 3
    assert sealed_changes(scope, ids) == 1

    sweep(acme.scope, now=NOW + 90 * DAY)
    sweep(acme.scope, now=NOW + 97 * DAY)

    assert mentions(scope, ids) == 0
    with tenant_transaction(acme.scope):
        assert MemoryVector.objects.within(acme.scope).filter(memory_id__in=kept.memory_ids).exists()
    assert sealed_changes(scope, ids) == 0
    with pytest.raises(MemoryNotFound):
        restore(scope, ids[0], now=NOW + 97 * DAY)


def sealed_changes(scope: Scope, ids: Sequence[int]) -> int:
    with tenant_transaction(scope):
        noted = MemoryTransition.objects.within(scope).filter(memory_id__in=ids)
        return noted.exclude(diff_ct=None).count()


def mentions(scope: Scope, ids: Sequence[int]) -> int:
    """Rows of any table that name one of these memories, those of its history and of decisions aside."""
    found = 0
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid "
            "where c.relkind = 'r' and a.attname in ('memory_id', 'from_memory_id', 'to_memory_id', 'summary_id') "
            "and c.relname not in ('memories_memorytransition', 'ingest_candidate', 'ingest_reviewitem')"
        )
        for table, column in cursor.fetchall():
            asked = f"select count(*) from {table} where {column} = any(%s)"  # noqa: S608  (names of our catalogue)
            cursor.execute(asked, [list(ids)])
            found += cursor.fetchone()[0]
        cursor.execute("select count(*) from memories_memory where id = any(%s)", [list(ids)])
        return int(found + cursor.fetchone()[0])


# -- policies ----------------------------------------------------------------------------------------------------------


def test_a_policy_can_be_made_stricter_and_not_looser(acme: OpenedTenant) -> None:
    scope, space = acme.scope, make_scope(acme).space.id
    set_policy(scope, Level.TENANT, 0, {"active_days": 60}, now=NOW)
    set_policy(scope, Level.SPACE, space, {"active_days": 30, "superseded_max_count": 3}, now=NOW)

    with pytest.raises(PolicyLoosened) as refused:
        set_policy(scope, Level.SPACE, space, {"active_days": 31, "superseded_max_count": 4, "grace_days": 3}, now=NOW)
    assert [one["field"] for one in refused.value.details] == ["active_days", "superseded_max_count"]
    with pytest.raises(PolicyLoosened):
        set_policy(scope, Level.PROJECT, acme.project.pk, {"active_days": 61}, now=NOW)
    with pytest.raises(PolicyLoosened):
        set_policy(scope, Level.TENANT, 0, {"archive_days": 60}, now=NOW)
    for rules in ({}, {"active_days": 0}, {"days": 3}, {"task_ttl_seconds": 59}, {"grace_days": 8}):
        with pytest.raises(PolicyRefused):
            set_policy(scope, Level.TENANT, 0, rules, now=NOW)

    here = in_force(scope, project_id=acme.project.pk, space_ids=[space])
    assert (here["active_days"].value, here["active_days"].level) == (30, "space")
    assert (here["grace_days"].value, here["grace_days"].level) == (7, "default")
    assert here["task_ttl_seconds"].value is None
    assert in_force(scope, project_id=None)["active_days"].value == 60

    set_policy(scope, Level.TENANT, 0, {"active_days": 365}, loosens=True, now=NOW)
    assert in_force(scope, project_id=None)["active_days"].value == 365


def test_policies_and_runs_of_another_tenant_change_nothing_here(acme: OpenedTenant, globex: OpenedTenant) -> None:
    set_policy(globex.scope, Level.TENANT, 0, {"active_days": 1, "superseded_max_count": 1}, now=NOW)
    set_policy(globex.scope, Level.PROJECT, globex.project.pk, {"archive_days": 0}, now=NOW)
    set_policy(acme.scope, Level.PROJECT, acme.project.pk, {"archive_days": 0}, now=NOW)
    set_policy(acme.scope, Level.TENANT, 0, {"superseded_max_count": 2}, now=NOW)
    for one in (acme, globex):
        replaced = [Line(one.project.pk, make_scope(one).space.id, superseded=day, slot=b"a" * 16) for day in (1, 2)]
        lay(one.scope, [replace(line, made=60) for line in replaced], first=50)
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id)])
    theirs = lay(globex.scope, [Line(globex.project.pk, make_scope(globex).space.id)])

    sweep(globex.scope, now=NOW + 30 * DAY)
    sweep(acme.scope, now=NOW + 30 * DAY)

    assert statuses(acme.scope, ids) == ["active"]
    assert statuses(globex.scope, theirs) == ["soft_deleted"]
    assert in_force(acme.scope, project_id=None)["active_days"].value == 90


def test_a_task_lasts_no_longer_than_the_strictest_level_says(acme: OpenedTenant) -> None:
    scope = make_scope(acme, project_id=acme.project.pk)
    assert ends(scope, "Water the plants on the balcony.", ttl_minutes=1440) == NOW + DAY
    set_policy(acme.scope, Level.TENANT, 0, {"task_ttl_seconds": 3_600}, now=NOW)
    set_policy(acme.scope, Level.SPACE, scope.space.id, {"task_ttl_seconds": 600}, now=NOW)

    assert ends(scope, "Call the dentist about the tooth.", ttl_minutes=1440) == NOW + timedelta(seconds=600)
    assert ends(scope, "Pay the electricity bill.", ttl_minutes=5) == NOW + timedelta(minutes=5)
    assert ends(scope, "Return the books to the library.") == NOW + timedelta(seconds=600)
    assert ends(scope, "The library closes at nine in the evening.", type_="fact") is None
    bob = make_scope(acme, "bob", project_id=acme.project.pk)
    assert ends(bob, "Call the dentist about the tooth.") == NOW + timedelta(hours=1)


def test_of_three_generations_the_newest_replaced_one_stays_beside_the_active(acme: OpenedTenant) -> None:
    """Seed 000's own number: superseded_max_count 1."""
    scope = make_scope(acme, project_id=acme.project.pk)
    set_policy(acme.scope, Level.TENANT, 0, {"superseded_max_count": 1}, now=NOW)
    ids = [
        remember(scope, f"I live in {city}.", now=NOW + day * DAY)[0].memory_ids[0]
        for day, city in enumerate(("Lisbon", "Porto", "Berlin"))
    ]

    sweep(acme.scope, now=NOW + 4 * DAY)

    assert statuses(scope, ids) == ["soft_deleted", "active", "active"]
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).in_bulk(ids)
    assert [rows[one].validity for one in ids] == ["superseded", "superseded", "current"]


def ends(scope: Scope, text: str, *, type_: str = "task", **fields: Any) -> datetime | None:
    """When what is remembered of this is over."""
    read = ReviewedExtraction(
        type=type_, key=None, value=None, many_valued=False, closes=(), event_at=None, event_precision="",
        event_range=None, source_strength=0.95, said_at=NOW,
    )  # fmt: skip
    (one,) = remember(scope, text, reviewed=read, **fields)
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=one.memory_ids[0]).expires_at


def test_the_tier_says_when_it_was_last_recalled(acme: OpenedTenant, globex: OpenedTenant, settings: Any) -> None:
    settings.RETENTION_BATCH = 1
    theirs = lay(globex.scope, [Line(globex.project.pk, make_scope(globex).space.id)])
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id, made=day) for day in (0, 200)])
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=ids[1]).update(tier="cold")
    seen = []
    for day in (29, 30, 209, 210):
        tier(acme.scope, now=NOW + day * DAY)
        seen.append(tiers(acme.scope, ids)[0])
    with tenant_transaction(acme.scope):
        rows = Memory.objects.within_tenant(acme.scope).filter(pk__in=ids)
        rows.update(last_accessed_at=NOW + 215 * DAY)
    assert tier(acme.scope, now=NOW + 216 * DAY) == 2

    assert seen == ["hot", "warm", "warm", "cold"]
    assert tiers(acme.scope, ids) == ["hot", "hot"]
    assert tiers(globex.scope, theirs) == ["hot"]


def tiers(scope: Scope, ids: Sequence[int]) -> list[str]:
    with tenant_transaction(scope):
        return list(
            Memory.objects.within_tenant(scope).filter(pk__in=ids).order_by("pk").values_list("tier", flat=True)
        )


# -- legal holds -------------------------------------------------------------------------------------------------------


def test_what_is_held_stays_whatever_its_time_and_goes_when_it_is_let_go(
    acme: OpenedTenant, globex: OpenedTenant
) -> None:
    alice, bob = make_scope(acme, "alice"), make_scope(acme, "bob")
    lines = [Line(acme.project.pk, alice.space.id), Line(acme.project.pk, bob.space.id)]
    hers, his = lay(acme.scope, lines)
    theirs = lay(globex.scope, [Line(globex.project.pk, make_scope(globex).space.id)])
    row = legal_holds.hold(acme.scope, Level.SPACE, alice.space.id, case="case-17", now=NOW)
    later = replace(lines[0], made=1)
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=hers).update(public_id="mem_hers")
    (late,) = lay(acme.scope, [later])

    for day in (91, 98, 150):
        sweep(acme.scope, now=NOW + day * DAY)
    sweep(globex.scope, now=NOW + 91 * DAY)

    assert statuses(acme.scope, [hers, his, late]) == ["active", "purged", "active"]
    assert statuses(globex.scope, theirs) == ["soft_deleted"]
    assert soft_delete_selection(alice, MemorySelection(memory_ids=(hers,)), now=NOW) == []
    found = previewing.preview(acme.scope, until=NOW + 150 * DAY, now=NOW + 150 * DAY)
    assert [(one.rule, one.is_held, one.ids) for one in found] == [
        ("active_days", True, [hers]), ("active_days", True, [late])
    ]  # fmt: skip
    for target in (Target.space(alice.space.uid), Target.tenant()):
        with pytest.raises(ErasureBlocked):
            planning.plan(acme.scope, target)

    with pytest.raises(HoldNotFound):
        legal_holds.lift(globex.scope, row.pk, now=NOW)
    assert legal_holds.lift(acme.scope, row.pk, now=NOW + 150 * DAY) == 2
    with pytest.raises(HoldNotFound):
        legal_holds.lift(acme.scope, row.pk, now=NOW)
    sweep(acme.scope, now=NOW + 150 * DAY)

    assert statuses(acme.scope, [hers, late]) == ["soft_deleted", "soft_deleted"]
    assert legal_holds.list_holds(acme.scope) == []
    assert legal_holds.list_holds(globex.scope, lifted=True) == []


def test_of_two_holds_the_other_still_holds(acme: OpenedTenant) -> None:
    space = make_scope(acme).space.id
    (one,) = lay(acme.scope, [Line(acme.project.pk, space)])
    first = legal_holds.hold(acme.scope, Level.MEMORY, one, case="a", now=NOW)
    legal_holds.hold(acme.scope, Level.PROJECT, acme.project.pk, case="b", now=NOW)

    assert legal_holds.lift(acme.scope, first.pk, now=NOW) == 0
    sweep(acme.scope, now=NOW + 100 * DAY)

    assert statuses(acme.scope, [one]) == ["active"]


def test_a_hold_on_a_tenant_is_for_every_memory_of_it_and_of_no_other(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legal_holds, "BATCH", 1)
    (theirs,) = lay(globex.scope, [Line(globex.project.pk, make_scope(globex).space.id)])
    ids = lay(acme.scope, [Line(acme.project.pk, make_scope(acme).space.id)] * 2)
    row = legal_holds.hold(acme.scope, Level.TENANT, 0, case="a", now=NOW)
    assert held(acme.scope) == ids
    assert held(globex.scope) == []

    legal_holds.hold(globex.scope, Level.TENANT, 0, case="b", now=NOW)
    assert legal_holds.lift(acme.scope, row.pk, now=NOW) == 2
    assert held(acme.scope) == []
    assert held(globex.scope) == [theirs]


def held(scope: Scope) -> list[int]:
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(legal_hold=True)
        return list(rows.order_by("pk").values_list("pk", flat=True))


def test_a_hold_on_a_memory_keeps_its_space_and_no_other(acme: OpenedTenant, globex: OpenedTenant) -> None:
    alice, bob = make_scope(acme, "alice"), make_scope(acme, "bob")
    hers, _ = lay(acme.scope, [Line(acme.project.pk, alice.space.id), Line(acme.project.pk, bob.space.id)])
    (theirs,) = lay(globex.scope, [Line(globex.project.pk, make_scope(globex).space.id)])
    legal_holds.hold(globex.scope, Level.MEMORY, theirs, case="b", now=NOW)
    planning.plan(acme.scope, Target.tenant())
    legal_holds.hold(acme.scope, Level.MEMORY, hers, case="a", now=NOW)
    with pytest.raises(HeldTargetNotFound):
        legal_holds.hold(acme.scope, Level.MEMORY, theirs, case="a", now=NOW)
    with pytest.raises(CaseRefused):
        legal_holds.hold(acme.scope, Level.TENANT, 0, case="about Mr. Smith", now=NOW)

    with pytest.raises(ErasureBlocked):
        planning.plan(acme.scope, Target.space(alice.space.uid))
    planning.plan(acme.scope, Target.space(bob.space.uid))


# -- the preview -------------------------------------------------------------------------------------------------------


def test_the_preview_says_what_then_happens(acme: OpenedTenant) -> None:
    alice = make_scope(acme)
    say(acme.scope, {("tenant", 0): {"active_days": 20}, ("space", alice.space.id): {"event_max_age_seconds": 864_000}})
    home = acme.project.pk
    lines = [
        Line(home, alice.space.id),
        Line(home, alice.space.id, type="event"),
        Line(home, alice.space.id, expires=3),
    ]
    ids = lay(acme.scope, lines)
    bob, web = make_scope(acme, "bob"), get_project(acme.scope, make_project(acme.scope, "web")).pk
    (his,) = lay(acme.scope, [Line(web, bob.space.id, type="event", made=15)], first=50)

    found = previewing.preview(acme.scope, until=NOW + 30 * DAY, now=NOW)

    assert [(one.rule, one.level, one.step, (one.day - NOW.date()).days, one.ids) for one in found] == [
        ("ttl", "platform", "soft_deleted", 3, [ids[2]]),
        ("event_max_age_seconds", "space", "soft_deleted", 10, [ids[1]]),
        ("active_days", "tenant", "soft_deleted", 20, [ids[0]]),
    ]
    assert statuses(acme.scope, ids) == ["active"] * 3
    until = NOW + 60 * DAY
    assert previewing.preview(acme.scope, until=until, environment=Environment.STAGING, now=NOW) == []
    here = previewing.preview(acme.scope, until=until, project_id=home, now=NOW)
    assert his not in {one for part in here for one in part.ids}
    assert previewing.preview(acme.scope, until=until, project_id=web, now=NOW)[0].ids == [his]
