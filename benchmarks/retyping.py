"""Changing the type of memories during adds and queries: the rate, and the effect on latency.

fill spaces of a tenant; a tenth of the rows is about medicines
query and add over HTTP for a while, undisturbed
add a type for the tenth, and query and add until the change is done
undo it, and compare every row with its original
"""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.memories.phrase_rules import PhraseRule
from apps.memories.spaces import get_or_create_end_user
from apps.memory_types import change_worker
from apps.memory_types.models import AT_WORK, TypeChange
from apps.memory_types.type_changes import Definition, ask_to_undo, commit, plan_addition
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from benchmarks.instance import Instance
from benchmarks.rotation_load import question, sentence
from benchmarks.workers import Workers, held_still

SPACE_ROWS: Final = 2_000
EVERY: Final = 10  # one row in this many is about a medicine
BATCH: Final = 100
QUIET_SECONDS: Final = 15.0
MOST_SECONDS: Final = 3_600.0
LOOK_SECONDS: Final = 0.1
_COMPARED: Final = ("pk", "type", "slot", "value_mac", "public_id", "type_prior", "confidence")

Say = Callable[[str], None]


def run(running: Instance, *, rows: int, say: Say) -> dict[str, Any]:
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    with held_still(running), Workers() as workers:
        say(f"filling {rows:,} rows")
        _fill(scope, rows)
        before = _fingerprint(scope, rows)
        quiet = Load(running)
        quiet.start()
        time.sleep(QUIET_SECONDS)
        quiet.stop()
        now = datetime.now(UTC)
        told = (PhraseRule(name="doses", type="", sources=(), words=("# mg",)),)
        planned = plan_addition(scope, "medication", Definition(parent="fact", slot="own"), told)
        started = time.monotonic()
        seen = change_worker.preview(scope, planned, most=5, now=now)
        looking = time.monotonic() - started
        say(f"a dry run looked at {seen.seen:,} rows in {looking:.1f} s: {seen.changed:,} would change")
        change = commit(scope, planned, now=datetime.now(UTC))
        doing, load = _see_through(running, workers, change, say)
        retyped = change.rows_changed
        change = ask_to_undo(scope, change.pk, now=datetime.now(UTC))
        undoing, _ = _see_through(running, workers, change, say)
        differing = len(before ^ _fingerprint(scope, rows))
    result = {
        "rows": rows,
        "looked at": change.rows_seen,
        "changed": retyped,
        "taken": change.rows_taken,
        "dry run, rows/s": round(seen.seen / looking, 1),
        "seconds": round(doing, 1),
        "rows looked at/s": round(change.rows_seen / doing, 1),
        "undone": change.rows_restored,
        "undo, rows/s": round(change.rows_restored / undoing, 1),
        "rows that differ after the undo": differing,
        "queries meanwhile": len(load.queries),
        "query p95 ms, undisturbed": _p95(quiet.queries),
        "query p95 ms, meanwhile": _p95(load.queries),
        "adds meanwhile": len(load.adds),
        "add p95 ms, undisturbed": _p95(quiet.adds),
        "add p95 ms, meanwhile": _p95(load.adds),
        "failed": len(quiet.failed) + len(load.failed),
    }
    return result | {"is_good": not differing and not result["failed"] and retyped == -(-rows // EVERY)}


def _see_through(running: Instance, workers: Workers, change: TypeChange, say: Say) -> tuple[float, "Load"]:
    """(seconds, load) of the change.

    The time runs from the first batch seen done to the last, without the second look, which waits.
    """
    load, started, at = Load(running), time.monotonic(), [0.0, 0.0]
    done = _done(change)
    load.start()
    workers.start(1)
    while change.state in AT_WORK:
        if time.monotonic() - started > MOST_SECONDS:
            raise RuntimeError(f"not done after {MOST_SECONDS:.0f} s: {change.rows_seen} rows")
        time.sleep(LOOK_SECONDS)
        change.refresh_from_db()
        if _done(change) > done:
            done = _done(change)
            at = [at[0] or time.monotonic(), time.monotonic()]
    workers.stop()
    load.stop()
    say(f"{change.state} after {time.monotonic() - started:.1f} s")
    return max(LOOK_SECONDS, at[1] - at[0]), load


def _done(change: TypeChange) -> int:
    return change.rows_seen + change.rows_restored + change.rows_kept


def _fill(scope: Scope, rows: int) -> None:
    numbers = iter(range(rows))
    for name in range(-(-rows // SPACE_ROWS)):
        space = get_or_create_end_user(scope, f"person-{name}", now=datetime.now(UTC))
        mine = itertools.islice(numbers, SPACE_ROWS)
        while batch := list(itertools.islice(mine, BATCH)):
            proposals = [Proposal(text=Plaintext(_text(number)), importance=0.6) for number in batch]
            remember(scope.in_spaces(space), proposals, now=datetime.now(UTC))


def _text(number: int) -> str:
    said = sentence(number)
    return f"I take {number % 90 + 10} mg of m{number:07d}ol every evening." if number % EVERY == 0 else said


def _fingerprint(scope: Scope, rows: int) -> set[tuple[Any, ...]]:
    """The compared columns of the first rows, those that existed before the load began."""
    with tenant_transaction(scope):
        found = Memory.objects.within_tenant(scope).order_by("pk").values_list(*_COMPARED)[:rows]
        return {tuple(bytes(one) if isinstance(one, memoryview) else one for one in row) for row in found}


def _p95(seconds: Sequence[float]) -> float:
    return round(1000 * sorted(seconds)[int(0.95 * len(seconds))], 1) if seconds else 0.0


@dataclass(slots=True)
class Load:
    """A caller that queries and one that adds, with short pauses, in a space that is being changed.

    queries, adds: seconds of each call.
    """

    running: Instance
    queries: list[float] = field(default_factory=list)
    adds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for path, times in (("/memory/query", self.queries), ("/memory/add", self.adds)):
            thread = threading.Thread(target=self._keep_on, args=(path, times), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def _keep_on(self, path: str, times: list[float]) -> None:
        address = urlsplit(self.running.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        for number in itertools.count(int(time.time()) % 1_000_000 * 10 + 1):
            if self._is_over.is_set():
                return
            asked = path.endswith("query")
            body = {"query": question(number), "k": 10} if asked else {"text": sentence(number), "importance": 0.6}
            headers = {"X-API-Key": self.running.key, "X-End-User-ID": f"person-{number % 5}"}
            started = time.perf_counter()
            connection.request("POST", path, json.dumps(body), headers | {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            times.append(time.perf_counter() - started)
            if response.status >= 400:
                self.failed.append(f"{path} {response.status}")
            time.sleep(0.05)
