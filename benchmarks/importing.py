"""Import a file while workers are killed: whether each record is stored exactly once, throughput, and memory use.

No record has a client reference.  Every tenth record of the second half names an end user of its own, so that batches
with one and with several end users are covered.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.memories.models import Memory, MemoryVector
from apps.memories.sealing import open_text
from apps.memories.spaces import get_or_create_end_user, list_spaces
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_tenant_scope
from apps.transfers.models.imports import ImportChunk
from benchmarks.instance import Instance
from benchmarks.workers import Workers, held_still

IMPORTER: Final = "importer"
OTHERS: Final = 20
MOST_SECONDS: Final = 4 * 3600.0
LOOK_SECONDS: Final = 0.1

Say = Callable[[str], None]


def run(running: Instance, *, records: int, kills: int, waits_for_vectors: bool, say: Say) -> dict[str, Any]:
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    expected = Counter(_expected(records))
    with (
        httpx.Client(base_url=running.url, headers={"X-API-Key": running.key}, timeout=120) as client,
        held_still(running),
        Workers() as workers,
    ):
        workers.start()
        started = time.monotonic()
        job = _send(client, records)
        accepted = time.monotonic() - started
        say(f"accepted {records:,} records in {accepted:.1f} s")
        done, killed, most_memory = _watch(client, job, workers, kills=kills, say=say)
        seconds = time.monotonic() - started
        say(f"{done['status']} after {seconds:.0f} s")
        embedded_seconds = 0.0
        if waits_for_vectors:
            most_memory = max(most_memory, _wait_for_vectors(scope, workers, say))
            embedded_seconds = time.monotonic() - started
    found, vectors, left = _found(scope)
    missing, twice = expected - found, found - expected
    return {
        "records": records,
        "kills": killed,
        "status": done["status"],
        "created": done["created"],
        "lost": missing.total(),
        "stored more than once": twice.total(),
        "payload left": left,
        "accepted after s": round(accepted, 1),
        "imported after s": round(seconds, 1),
        "records/s with the kills": round(records / seconds, 1),
        "vectors": vectors,
        "all embedded after s": round(embedded_seconds, 1),
        "records/s with embedding": round(records / embedded_seconds, 1) if embedded_seconds else 0.0,
        "most memory of a worker MiB": round(most_memory / 2**20, 1),
        "is_good": not missing and not twice and not left and done["status"] == "completed" and killed == kills,
    }


def _records(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        row = {
            "text": f"Customer {number} bought item {number * 7919 % 100_003} in shop {number % 977} and paid by card.",
            "importance": 0.6,
            "tags": [f"shop{number % 977}"],
            "metadata": {"order": number},
        }
        is_others = number >= count // 2 and number % 10 == 0
        yield {**row, "end_user_id": f"customer{number // 10 % OTHERS}"} if is_others else row


def _expected(count: int) -> Iterator[tuple[str, str]]:
    return ((row.get("end_user_id", IMPORTER), row["text"]) for row in _records(count))


def _send(client: httpx.Client, count: int) -> str:
    content = b"\n".join(json.dumps(row).encode() for row in _records(count))
    response = client.post("/imports", files={"file": ("records.jsonl", content)}, headers={"X-End-User-ID": IMPORTER})
    response.raise_for_status()
    return str(response.json()["id"])


def _watch(
    client: httpx.Client, job: str, workers: Workers, *, kills: int, say: Say
) -> tuple[dict[str, Any], int, int]:
    """(final state of the job, number of kills, peak memory of a worker in bytes)."""
    killed, most_memory, deadline = 0, 0, time.monotonic() + MOST_SECONDS
    while True:
        state: dict[str, Any] = client.get(f"/imports/{job}").json()
        most_memory = max(most_memory, workers.most_memory())
        if state["progress_percentage"] == 100:
            return state, killed, most_memory
        if time.monotonic() > deadline:
            raise RuntimeError(f"not done after {MOST_SECONDS:.0f} s: {state['processed_records']} records")
        if killed < kills and state["processed_records"] >= (killed + 0.5) / kills * state["total_records"]:
            killed += 1
            workers.kill_all()
            say(f"{state['processed_records']:,} of {state['total_records']:,} records, {killed} kills")
        time.sleep(LOOK_SECONDS)


def _wait_for_vectors(scope: Scope, workers: Workers, say: Say) -> int:
    """Wait until no memory waits for its vector; returns the peak memory of a worker in bytes."""
    most_memory, deadline, said_at = 0, time.monotonic() + MOST_SECONDS, 0.0
    while waiting := OutboxEvent.objects.filter(tenant_id=scope.tenant_id, kind="embed").count():
        most_memory = max(most_memory, workers.most_memory())
        if time.monotonic() > deadline:
            raise RuntimeError(f"{waiting} memories wait to be embedded after {MOST_SECONDS:.0f} s")
        if time.monotonic() - said_at > 30:
            said_at = time.monotonic()
            say(f"{waiting:,} memories wait to be embedded")
        time.sleep(1.0)
    return most_memory


def _found(scope: Scope) -> tuple[Counter[tuple[str, str]], int, int]:
    """(decrypted texts by owner, without summaries; number of vectors; number of remaining chunks)."""
    names = {_space_of(scope, name): name for name in (IMPORTER, *(f"customer{n}" for n in range(OTHERS)))}
    found: Counter[tuple[str, str]] = Counter()
    for space in list_spaces(scope):
        if space.pk not in names:
            continue
        cipher = open_space(scope.tenant, space.ref)
        with tenant_transaction(scope):
            rows = Memory.objects.within_tenant(scope).filter(space_id=space.pk).exclude(type="summary")
            rows = rows.only("pk", "text_ct").order_by("pk")
            found.update((names[space.pk], open_text(row, cipher).reveal()) for row in rows.iterator(2_000))
    with tenant_transaction(scope):
        vectors = MemoryVector.objects.within(scope).filter(space_id__in=names).count()
        left = ImportChunk.objects.within(scope).count()
    return found, vectors, left


def _space_of(scope: Scope, name: str) -> int:
    return get_or_create_end_user(scope, name, now=datetime.now(UTC)).id
