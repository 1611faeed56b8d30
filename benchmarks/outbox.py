"""Concurrent load on the outbox: dialogues by four writers, bulk adds by eight, a large import, and killed workers.

Four tenants.  ``dialogues`` repeatedly loads three dialogues, each run into new end users, with extraction deciding
what is kept.  ``adders`` adds into one space and into many.  ``importer`` imports a file.  For ``watched`` an outbox
event is created every second, to measure how long it waits.  Worker processes of the instance are killed meanwhile.
"""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import httpx
import orjson

from apps.apikeys.onboarding import OpenedTenant, provision_tenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember_for
from apps.memories.models import Memory
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Environment
from apps.tenants.models import Organization
from benchmarks.instance import Instance, superuser
from benchmarks.recall import Haystack, read
from benchmarks.workers import children_of, instance_state

WRITERS, ADDERS, AT_ONCE = 4, 8, 50
DIALOGUES: Final = 3
MOST_SECONDS: Final = 4 * 3600.0
LATE: Final = 5.0
BREATH: Final = 3.0  # seconds between two adds of one adder: busy, but below the machine's capacity

Say = Callable[[str], None]


@dataclass(slots=True)
class Seen:
    """Results of the callers.  acknowledged: memory ids by tenant.  delays: seconds that ``watched`` waited."""

    answers: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    acknowledged: dict[str, set[int]] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)
    kills: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Caller:
    """Calls the instance as one tenant, and counts the responses by status."""

    def __init__(self, running: Instance, tenant: OpenedTenant, seen: Seen) -> None:
        headers = {"X-API-Key": tenant.keys[Environment.PRODUCTION]}
        self.http = httpx.Client(base_url=running.url, headers=headers, timeout=120, trust_env=False)
        self.name, self.seen = tenant.tenant.name, seen
        seen.acknowledged.setdefault(self.name, set())

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        """The JSON body; an empty object if the request failed."""
        try:
            response = self.http.request(method, path, **options)
        except httpx.HTTPError:
            with self.seen.lock:
                self.seen.broken += 1
            return {}
        with self.seen.lock:
            self.seen.answers[response.status_code] += 1
        return response.json() if response.is_success else {}

    def add(self, items: Sequence[dict[str, Any]], person: str) -> None:
        body = {"items": list(items), "deduplicate": False}
        answer = self("POST", "/memory/bulk-add", json=body, headers={"X-End-User-ID": person})
        ids = {one for result in answer.get("results", ()) for one in result["memory_ids"]}
        with self.seen.lock:
            self.seen.acknowledged[self.name] |= ids


def run(running: Instance, file: Path, *, runs: int, records: int, kills: int, say: Say) -> dict[str, Any]:
    """Run the load.  runs: times to load the dialogues.  records: in the import.  kills: of worker processes."""
    organization = Organization.objects.create(name="Benchmarks", created_at=datetime.now(UTC))
    tenants = {
        name: provision_tenant(organization, name, now=datetime.now(UTC))
        for name in ("dialogues", "adders", "importer", "watched")
    }
    seen, stop = Seen(), threading.Event()
    before, began = _deadlocks(), time.monotonic()
    with contextlib.ExitStack() as stack:
        callers = {name: Caller(running, tenant, seen) for name, tenant in tenants.items()}
        for caller in callers.values():
            stack.enter_context(caller.http)
        pool = stack.enter_context(ThreadPoolExecutor(WRITERS + ADDERS + 2))
        stack.callback(stop.set)
        job = _import(callers["importer"], records)
        beside = [pool.submit(_keep_adding, callers["adders"], number, stop) for number in range(ADDERS)]
        beside += [pool.submit(_watch, tenants["watched"], seen, stop)]
        killing = pool.submit(_kill, kills, seen, stop, lambda: _progress(callers["importer"], job), say)
        _load(callers["dialogues"], read(file)[:DIALOGUES], runs, pool, say)
        loaded = time.monotonic() - began
        done = _ended(callers["importer"], job, say)
        imported = time.monotonic() - began
        killing.result()
        stop.set()
        for one in beside:
            one.result()
    deadlocks = _deadlocks() - before
    lost = {name: _lost(tenant, seen.acknowledged[name]) for name, tenant in tenants.items()}
    stored = _count(tenants["importer"])
    delays = sorted(seen.delays)
    figures = {
        "runs of the dialogues": runs,
        "dialogues loaded after s": round(loaded, 1),
        "records imported": done.get("created", 0),
        "imported after s": round(imported, 1),
        "requests": seen.answers.total() + seen.broken,
        "acknowledged memories": sum(map(len, seen.acknowledged.values())),
        "kills of processes": seen.kills,
        "deadlocks": deadlocks,
        "answers 5xx": sum(count for status, count in seen.answers.items() if status >= 500),
        "connections that broke": seen.broken,
        "lost": sum(lost.values()),
        "records that are not there": records - stored,
        "records left out": len(done.get("errors", ())),
        "delay of another tenant p50 s": _quantile(delays, 0.5),
        "delay of another tenant p95 s": _quantile(delays, 0.95),
        "delay of another tenant most s": delays[-1] if delays else 0.0,
        "looks at it": len(delays),
    }
    good = not deadlocks and not figures["answers 5xx"] and not figures["lost"] and stored == records
    return figures | {"is_good": good and _quantile(delays, 0.95) <= LATE and seen.kills == kills}


# --- requests ---------------------------------------------------------------------------------------------------------


def _load(caller: Caller, dialogues: Sequence[Haystack], runs: int, pool: ThreadPoolExecutor, say: Say) -> None:
    for number in range(runs):
        waiting: SimpleQueue[tuple[str, list[dict[str, Any]]]] = SimpleQueue()
        for dialogue in dialogues:
            items = [{"text": one["text"], "session_id": f"s{one['session']}"} for one in dialogue.items]
            for start in range(0, len(items), AT_ONCE):
                waiting.put((f"{dialogue.name}-{number}", items[start : start + AT_ONCE]))
        writers: list[Future[None]] = [pool.submit(_write, caller, waiting) for _ in range(WRITERS)]
        for writer in writers:
            writer.result()
        say(f"dialogues loaded, run {number + 1} of {runs}")


def _write(caller: Caller, waiting: "SimpleQueue[tuple[str, list[dict[str, Any]]]]") -> None:
    with contextlib.suppress(Empty):
        while True:
            person, items = waiting.get_nowait()
            caller.add(items, person)


def _keep_adding(caller: Caller, number: int, stop: threading.Event) -> None:
    """Add until stopped; half of the adders use one space, the others a different one each time."""
    turn = 0
    while not stop.is_set():
        person = "everybody" if number % 2 else f"person {number} {turn % 50}"
        texts = (f"Adder {number} noted in turn {turn} that pallet {n} stands in hall {n % 9}." for n in range(AT_ONCE))
        caller.add([{"text": text, "importance": 0.6} for text in texts], person)
        turn += 1
        stop.wait(BREATH)


def _import(caller: Caller, records: int) -> str:
    rows = ({"text": f"Customer {n} bought item {n * 7919 % 100_003}.", "importance": 0.6} for n in range(records))
    content = b"\n".join(map(orjson.dumps, rows))
    sent = caller(
        "POST", "/imports", files={"file": ("records.jsonl", content)}, headers={"X-End-User-ID": "importer"}
    )  # fmt: skip
    return str(sent["id"])


def _watch(tenant: OpenedTenant, seen: Seen, stop: threading.Event) -> None:
    """Measure how long memories with deferred embedding wait for it."""
    number = 0
    while not stop.wait(1.0):
        proposal = Proposal(text=Plaintext(f"Parcel {number} went to the harbour."), importance=0.6, deduplicate=False)
        _, outcomes = remember_for(tenant.scope, "watched", [proposal], embeds_later=True, now=datetime.now(UTC))
        (memory_id,) = outcomes[0].memory_ids
        number, began = number + 1, time.monotonic()
        mine = OutboxEvent.objects.filter(tenant_id=tenant.tenant.pk, kind="embed", subject_id=memory_id)
        while mine.exists() and time.monotonic() - began < 10 * LATE:
            time.sleep(0.02)
        seen.delays.append(round(time.monotonic() - began, 2))


# --- kills ------------------------------------------------------------------------------------------------------------


def _kill(kills: int, seen: Seen, stop: threading.Event, progress: Callable[[], float], say: Say) -> None:
    """Kill at even steps of the import: a random worker process of any queue, and every fifth time all of them."""
    while seen.kills < kills and not stop.wait(0.5):
        at = progress()
        if at < (seen.kills + 0.5) / kills:
            continue
        with contextlib.suppress(ProcessLookupError, IndexError):
            workers = children_of(instance_state()["processes"]["worker"]["pid"])
            for process in workers if seen.kills % 5 == 4 else [random.choice(workers)]:
                os.kill(process, signal.SIGKILL)
            seen.kills += 1
            say(f"{seen.kills} kills, {100 * at:.0f} % of the file")


def _progress(caller: Caller, job: str) -> float:
    return float(caller("GET", f"/imports/{job}").get("progress_percentage", 0.0)) / 100


def _ended(caller: Caller, job: str, say: Say) -> dict[str, Any]:
    deadline, said = time.monotonic() + MOST_SECONDS, 0.0
    while True:
        state: dict[str, Any] = caller("GET", f"/imports/{job}")
        if state.get("status") not in (None, "pending", "running"):
            return state
        if time.monotonic() > deadline:
            raise RuntimeError(f"not done after {MOST_SECONDS:.0f} s")
        if time.monotonic() - said > 30:
            said = time.monotonic()
            say(f"{state.get('processed_records', 0):,} records imported")
        time.sleep(0.5)


# --- stored rows ------------------------------------------------------------------------------------------------------


def _deadlocks() -> int:
    with superuser(autocommit=True) as cursor:
        cursor.execute("select coalesce(sum(deadlocks), 0) from pg_stat_database")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _lost(tenant: OpenedTenant, acknowledged: set[int]) -> int:
    """Number of acknowledged memories without a row."""
    with tenant_transaction(tenant.scope):
        there = set(Memory.objects.within_tenant(tenant.scope).values_list("pk", flat=True))
    return len(acknowledged - there)


def _count(tenant: OpenedTenant) -> int:
    with tenant_transaction(tenant.scope):
        return int(Memory.objects.within_tenant(tenant.scope).exclude(type="summary").count())


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0
