"""A key rotation under load, with killed workers and database restarts: what is lost, and the rate.

    fill spaces that no caller writes to, and ask 500 questions about them
    measure the bare loop, and the same rows through the job and a real worker, alternately
    rotate; meanwhile kill workers, restart the database, and at each quarter ask the 500 questions again
    decrypt every row, and recompute its tokens and its vector

All workers are started here; the instance's own are suspended meanwhile.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from django.db import DatabaseError, connections
from psycopg.sql import SQL, Identifier

from apps.apikeys.onboarding import provision_tenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.key_management.models import OPEN, KeyRotation
from apps.memories.reencryption import reseal_batch
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from apps.recall import read_log
from apps.tenants.models import Tenant
from benchmarks.instance import Instance, superuser
from benchmarks.rotation_checks import check_all, count_mixed
from benchmarks.rotation_load import Answer, Load, ask, question, sentence
from benchmarks.workers import Workers, held_still, instance_state

ASKED_SPACES = 25
SPACE_ROWS = 500  # approximate rows per space
BATCH = 100
PACE_ROUNDS = 2
MOST_SECONDS = 3600.0

T = TypeVar("T")
Fixed = Sequence[tuple[Scope, str, Answer]]
Say = Callable[[str], None]


def run(
    running: Instance, *, rows: int, kills: int, restarts: int, pace_rows: int, questions: int, say: Say
) -> dict[str, Any]:
    read_log.EVERY_SECONDS = 86_400.0  # recalls must not change later answers through access counts
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    with held_still(running), Workers() as workers:
        pace = _pace(scope, workers, pace_rows, say) if pace_rows else {}
        say(f"filling {rows:,} rows")
        started = time.monotonic()
        written, spaces = _fill(scope, rows)
        say(f"filled in {time.monotonic() - started:.0f} s")
        now = datetime.now(UTC)
        fixed = _ask_all(spaces, questions, now=now)
        load = Load(running=running, writing=_space(scope, "expiring", now=now), fixed=fixed, asked_at=now, written={})
        load.start()
        try:
            story = _rotate(scope, workers, load, kills=kills, restarts=restarts, now=now, say=say)
        finally:
            load.stop()
        say("opening every row")
        found = check_all(scope, written | load.written | load.gone, active=story["to"])
    result = {
        "rows": rows,
        "rows at the end": found.rows,
        **{name: figure for name, figure in story.items() if name != "to"},
        "lost": found.lost,
        "mixed at the end": found.mixed,
        "on the old version": found.behind,
        "failed or stale reads": len(load.wrong),
        "examples": [*found.examples, *load.wrong][:10],
        "during the load": dict(load.counts),
        **pace,
    }
    return result | {"is_good": _is_good(result, kills, restarts)}


def _is_good(result: Mapping[str, Any], kills: int, restarts: int) -> bool:
    nothing = ("lost", "mixed at the end", "mixed on the way", "on the old version", "failed or stale reads")
    return (
        all(not result[name] for name in nothing)
        and not any(result["questions answered otherwise"].values())
        and (result["kills"], result["restarts"]) == (kills, restarts)
        and result.get("job / bare loop", 1.0) >= 0.8
    )


# --- the rotation ---------------------------------------------------------------------------------------------------


def _rotate(
    scope: Scope, workers: "Workers", load: Load, *, kills: int, restarts: int, now: datetime, say: Say
) -> dict[str, Any]:
    job = rotation.rotate(scope, reason="benchmark", now=datetime.now(UTC))
    differing = {"0 %": _count_differing(load.fixed, now=now)}
    mixed = [count_mixed(scope)]
    events = sorted(
        [((one + 0.5) * 0.95 / max(1, kills), "kill") for one in range(kills)]
        + [((one + 0.6) / max(1, restarts), "restart") for one in range(restarts)]
        + [(share, "look") for share in (0.25, 0.5, 0.75)]
    )
    done = {"kill": 0, "restart": 0}
    say(f"turned; {job.rows_total:,} rows to re-encrypt")
    started, paused = time.monotonic(), 0.0
    workers.start()
    while job.state in OPEN:
        if time.monotonic() - started > MOST_SECONDS:
            raise RuntimeError(f"not done after {MOST_SECONDS:.0f} s: {job.rows_done} of {job.rows_total}")
        time.sleep(0.02)
        job = _steadily(partial(KeyRotation.objects.get, pk=job.pk))
        if not events or job.rows_done < events[0][0] * job.rows_total:
            continue
        share, kind = events.pop(0)
        if kind == "kill":
            time.sleep(random.random() * 0.2)  # at a random point of a batch
            workers.kill_one()
        elif kind == "restart":
            _restart_database(load)
        else:
            looked = time.monotonic()
            workers.stop()
            mixed.append(_steadily(lambda: count_mixed(scope)))
            differing[f"{100 * share:.0f} %"] = _count_differing(load.fixed, now=now)
            workers.start()
            paused += time.monotonic() - looked
        if kind in done:
            done[kind] += 1
        say(f"{job.rows_done:,} of {job.rows_total:,} rows, {done['kill']} kills, {done['restart']} restarts")
    seconds = time.monotonic() - started - paused
    workers.stop()
    differing["100 %"] = _count_differing(load.fixed, now=now)
    mixed.append(count_mixed(scope))
    return {
        "to": job.to_version,
        "rows re-encrypted": job.rows_done,
        "quarantined": job.rows_quarantined,
        "kills": done["kill"],
        "restarts": done["restart"],
        "seconds": round(seconds, 1),
        "rows/s under kills and load": round(job.rows_done / seconds, 1),
        "mixed on the way": sum(mixed),
        "questions": len(load.fixed),
        "questions answered otherwise": differing,
    }


def _count_differing(fixed: Fixed, *, now: datetime) -> int:
    return sum(_steadily(partial(ask, scope, text, now=now)) != answer for scope, text, answer in fixed)


def _restart_database(load: Load) -> None:
    """Kill the database as in a power failure; the instance restarts it."""
    load.is_down.set()
    os.kill(instance_state()["database"]["pid"], signal.SIGQUIT)
    time.sleep(0.5)
    _steadily(lambda: Tenant.objects.count())
    time.sleep(3.0)  # until every process has noticed its broken connections
    load.is_down.clear()


# --- rate -----------------------------------------------------------------------------------------------------------


def _pace(scope: Scope, workers: "Workers", rows: int, say: Say) -> dict[str, Any]:
    """Rows per second of re-sealing the same rows by a bare loop and by the job, alternately."""
    say(f"measuring the pace with {rows:,} rows")
    tenant = provision_tenant(Tenant.objects.get(pk=scope.tenant_id).organization, "pace", now=datetime.now(UTC))
    mine = replace(tenant.scope, environment=Environment.DEVELOPMENT)
    _fill(mine, rows)
    bare, job = [], []
    for _round in range(PACE_ROUNDS):
        bare.append(_bare(mine))
        job.append(_through_the_job(mine, workers))
        say(f"bare loop {bare[-1]:.0f} rows/s, job {job[-1]:.0f} rows/s")
    return {
        "bare loop, rows/s": round(max(bare), 1),
        "job with one worker, rows/s": round(max(job), 1),
        "job / bare loop": round(sum(job) / sum(bare), 3),
    }


def _bare(scope: Scope) -> float:
    _vacuum()
    one = rotation.rotate(scope, reason="pace", now=datetime.now(UTC))
    done, started = 0, time.monotonic()
    while True:
        with tenant_transaction(scope):
            batch = reseal_batch(scope, limit=rotation.LARGEST_BATCH, now=datetime.now(UTC))
        if not batch.done:
            break
        done += batch.done
    seconds = time.monotonic() - started
    rotation.work(one.pk, seconds=60, workers=1, clock=lambda: datetime.now(UTC))  # completes the job
    return done / seconds


def _through_the_job(scope: Scope, workers: "Workers") -> float:
    """Rows per second, from the first batch seen done to the last."""
    _vacuum()
    one = rotation.rotate(scope, reason="pace", now=datetime.now(UTC))
    workers.start(1)
    first: tuple[int, float] | None = None
    while True:
        one.refresh_from_db()
        if first is None and one.rows_done:
            first = (one.rows_done, time.monotonic())
        if one.rows_done >= one.rows_total and first is not None:
            break
        time.sleep(0.1)  # polling takes time from what is measured
    rate = (one.rows_done - first[0]) / (time.monotonic() - first[1])
    while one.state in OPEN:
        time.sleep(0.1)
        one.refresh_from_db()
    workers.stop()
    return rate


def _vacuum() -> None:
    """Remove the dead rows of the previous round, which would slow down the next one."""
    with superuser(autocommit=True) as cursor:
        for table in ("memories_memory", "memories_memoryvector", "memories_posting"):
            cursor.execute(SQL("vacuum {}").format(Identifier(table)))


# --- initial rows ---------------------------------------------------------------------------------------------------


def _fill(scope: Scope, rows: int) -> tuple[dict[int, str], list[Scope]]:
    """Add rows through the real pipeline; returns their texts by id, and the scopes of their spaces."""
    written: dict[int, str] = {}
    spaces: list[Scope] = []
    size = min(SPACE_ROWS, max(1, rows // ASKED_SPACES))
    for at in range(0, rows, BATCH):
        if at // size >= len(spaces):
            spaces.append(_space(scope, f"someone {len(spaces)}", now=datetime.now(UTC)))
        texts = [sentence(number) for number in range(at, min(at + BATCH, rows))]
        proposals = [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in texts]
        outcomes = remember(spaces[-1], proposals, now=datetime.now(UTC))
        for text, outcome in zip(texts, outcomes, strict=True):
            (memory_id,) = outcome.memory_ids
            written[memory_id] = text
    return written, spaces


def _space(scope: Scope, name: str, *, now: datetime) -> Scope:
    return scope.in_spaces(get_or_create_end_user(scope, name, now=now))


def _ask_all(spaces: Sequence[Scope], questions: int, *, now: datetime) -> Fixed:
    asked = spaces[:ASKED_SPACES]
    return [
        (space, text, ask(space, text, now=now))
        for number in range(questions)
        for space, text in [(asked[number % len(asked)], question(number))]
    ]


# --- processes ------------------------------------------------------------------------------------------------------


def _steadily(look: Callable[[], T]) -> T:
    """Retry while the database restarts."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return look()
        except DatabaseError:
            if time.monotonic() > deadline:
                raise
            connections.close_all()
            time.sleep(0.2)
