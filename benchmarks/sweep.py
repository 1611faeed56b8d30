"""Retention removes many memories of one end user while another recalls: rate, latency, and remaining rows."""

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection

from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.memories.spaces import find_end_user
from apps.policies.retention import Level, set_policy
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from apps.retention.retention_sweep import Swept, sweep
from benchmarks.instance import Instance, superuser
from benchmarks.latency import COPY_COLUMNS, Caller, measure, sentences

TABLES: Final = ("memories_memory", "memories_memoryvector", "memories_posting", "memories_memorytransition")
WORDS: Final = 8  # keyed terms per copy
DAYS: Final = 90  # retention period
CHUNK: Final = 20_000


def run(running: Instance, *, rows: int, live: int, runs: int, pause: float) -> dict[str, Any]:
    """Figures: seconds, rows a second, milliseconds (p50, p95) of recall, megabytes of the tables."""
    caller, said = Caller(running), sentences()
    for start in range(0, live, 50):
        items = [{"text": next(said), "importance": 0.6} for _ in range(min(50, live - start))]
        caller.post("/memory/bulk-add", {"items": items, "deduplicate": False})
    leaving = Caller(running)
    leaving._headers |= {"X-End-User-ID": "leaving"}
    leaving.post("/memory/add", {"text": next(said), "importance": 0.6})
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    space = find_end_user(scope, "leaving")
    assert space is not None, "the add over HTTP made it"
    there = scope.in_spaces(space)
    now = datetime.now(UTC)
    set_policy(scope, Level.TENANT, 0, {"active_days": DAYS}, now=now)
    _copy(there, rows, now=now)
    _vacuum()
    caller.close()  # the server has closed it meanwhile; the next request reconnects
    result: dict[str, Any] = {"rows": rows, "live": live, "pause": pause, "megabytes before": _megabytes()}
    result["recall before"] = _recall(caller, runs)
    for name, moment in (("deletes", now), ("purges", now + timedelta(days=8))):
        result |= _swept(scope, caller, name, moment, runs, pause)
    with tenant_transaction(there):
        assert Memory.objects.within(there).count() == 1, "all but the first was to go"
    result["megabytes after"] = _megabytes()
    _vacuum()
    result["megabytes after vacuum"] = _megabytes()
    result["recall after"] = _recall(caller, runs)
    return result


def _copy(scope: Scope, rows: int, *, now: datetime) -> None:
    """Insert memories due since yesterday, as copies with their own ids, vectors and keyed terms."""
    with tenant_transaction(scope):
        first = Memory.objects.within(scope).values_list("pk", flat=True).get()
    columns, stored = COPY_COLUMNS.replace("created_at, ", ""), now - timedelta(days=DAYS + 1)
    for start in range(0, rows, CHUNK):
        with tenant_transaction(scope), connection.cursor() as cursor:
            cursor.execute(
                f"with made as (insert into memories_memory (public_id, created_at, {columns}) "  # noqa: S608
                f"select 'mem_' || md5(random()::text), %(stored)s, {columns} from memories_memory, "
                "generate_series(1, %(count)s) where tenant_id = %(tenant)s and id = %(first)s returning id), "
                "vectors as (insert into memories_memoryvector (memory_id, vector_id, signs, embedding_ct, live, "
                "embedder, key_version, created_at, tenant_id, space_id, project_id) "
                "select made.id, gen_random_uuid(), signs, embedding_ct, live, embedder, key_version, created_at, "
                "tenant_id, space_id, project_id from made, memories_memoryvector "
                "where tenant_id = %(tenant)s and memory_id = %(first)s) "
                "insert into memories_posting (tenant_id, space_id, token, memory_id, tf, length) "
                "select %(tenant)s, %(space)s, (random() * 1e15)::bigint, id, 1, 8 from made, "
                "generate_series(1, %(words)s) on conflict do nothing",
                {
                    "stored": stored, "count": min(CHUNK, rows - start), "tenant": scope.tenant_id, "first": first,
                    "space": scope.space.id, "words": WORDS,
                },
            )  # fmt: skip


def _swept(scope: Scope, caller: Caller, name: str, now: datetime, runs: int, pause: float) -> dict[str, Any]:
    """Run the retention once in a thread, and recall repeatedly until it is done."""
    done: list[Swept] = []
    seconds = [0.0]

    def work() -> None:
        began = time.perf_counter()
        done.append(sweep(scope, now=now, pause=pause))
        seconds[0] = time.perf_counter() - began
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    times = []
    while worker.is_alive():
        began = time.perf_counter()
        caller.post("/memory/query", {"query": "Who repaired the station clock?", "k": 10})
        times.append((time.perf_counter() - began) * 1000)
    worker.join()
    if not done:
        raise RuntimeError("the sweep failed")
    count = done[0].purged if name == "purges" else done[0].deleted
    times.sort()
    return {
        name: count,
        f"{name} a second": round(count / seconds[0], 1),
        f"recall during {name}": (times[len(times) // 2], times[int(0.95 * (len(times) - 1))]),
        f"recalls during {name}": len(times),
    }


def _recall(caller: Caller, runs: int) -> tuple[float, float]:
    return measure(lambda _: caller.post("/memory/query", {"query": "Who repaired the station clock?", "k": 10}), runs)


def _megabytes() -> float:
    with superuser() as cursor:
        cursor.execute(
            "select sum(pg_total_relation_size(name::regclass)) from unnest(%s::text[]) name", [list(TABLES)]
        )
        row = cursor.fetchone()
    return round(float(row[0]) / 2**20, 1) if row else 0.0


def _vacuum() -> None:
    with superuser(autocommit=True) as cursor:
        cursor.execute(f"vacuum (analyze) {', '.join(TABLES)}")
