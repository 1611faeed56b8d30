"""Throughput of single and bulk adds, compared with bare writes in the same run, and eight writers of one slot."""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final

from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.imported import ImportedMemory
from apps.ingest.services import remember
from apps.memories.models import Memory
from benchmarks import population
from benchmarks.instance import Instance
from benchmarks.latency import Caller, ask_about, bare_write, measure, scope_of, sentences
from benchmarks.workers import held_still

BATCH: Final = 1_000  # per transaction
BULK: Final = 50  # the maximum per request
WRITERS: Final = 8
CITIES: Final = ("Lisbon", "Porto", "Ghent", "Utrecht", "Riga", "Turin", "Bergen", "Graz", "Lyon", "Cork")


def run(running: Instance, *, rows: int, runs: int) -> dict[str, Any]:
    """Figures: milliseconds (p50, p95) of single adds, rows a second in bulk, ratios, and whether the slot is right."""
    said = sentences()
    with closing(Caller(running)) as caller:
        add = measure(lambda _: caller.post("/memory/add", {"text": next(said), "importance": 0.6}), runs)
        # Before the first ANALYZE, foreign key checks use plans made for empty tables.
        population.settle()
        scope = scope_of(running)
        embedder = get_embedder()
        embed = measure(lambda _: embedder.embed([next(said)]), runs)
        write = bare_write(scope, [ask_about(random) for _ in range(runs)], runs)
        bulk = _rate(rows, BULK, lambda count: caller.post(
            "/memory/bulk-add",
            {"items": [{"text": text, "importance": 0.6} for text in itertools.islice(said, count)],
             "deduplicate": False},
        ))  # fmt: skip
    with held_still(running):  # otherwise the worker computes vectors on the same cores
        pipeline = _rate(rows, BATCH, lambda count: remember(
            scope, list(_proposals(said, count)), embeds_later=True, now=datetime.now(UTC)
        ))  # fmt: skip
        typed = _rate(rows, BATCH, lambda count: remember(
            scope, list(_typed(said, count)), embeds_later=True, now=datetime.now(UTC)
        ))  # fmt: skip
        plain = _rate(rows, BATCH, lambda count: population.fill(scope, count, said, embeds=False, notes=True))
    return {
        "milliseconds": {"add over HTTP": add, "embed alone": embed, "bare write alone": write},
        "add / (embed + bare write)": round(add[0] / (embed[0] + write[0]), 2),
        "rows a second": {
            f"bulk-add over HTTP, {BULK} a request, with vectors": round(bulk, 1),
            f"the pipeline, {BATCH:,} a transaction, vectors later": round(pipeline, 1),
            f"the pipeline, {BATCH:,} of a given type, vectors later": round(typed, 1),
            f"bare: sealed and written, {BATCH:,} a transaction, no vectors": round(plain, 1),
        },
        "pipeline / bare": round(pipeline / plain, 3),
        "pipeline of a given type / bare": round(typed / plain, 3),
        "one slot": _one_slot(running),
    }


def _proposals(said: Iterator[str], count: int) -> Iterator[Proposal]:
    return (Proposal(text=Plaintext(text), importance=0.6) for text in itertools.islice(said, count))


def _typed(said: Iterator[str], count: int) -> Iterator[Proposal]:
    """Proposals as from an import of exported memories: rules only check them against policy."""
    kept = ImportedMemory(type="event", key=None, since=datetime.now(UTC))
    return (
        Proposal(text=Plaintext(text), source_kind="import", importance=0.6, kept=kept)
        for text in itertools.islice(said, count)
    )


def _rate(rows: int, batch: int, write: Callable[[int], object]) -> float:
    write(batch)  # warm up caches and statistics
    began = time.perf_counter()
    for start in range(0, rows, batch):
        write(min(batch, rows - start))
    return rows / (time.perf_counter() - began)


def _one_slot(running: Instance) -> dict[str, Any]:
    """Eight writers concurrently and repeatedly state the home of one end user."""

    def write(number: int) -> None:
        with closing(Caller(running, end_user="mover")) as caller:
            for turn in range(10):
                city = CITIES[(number + turn) % len(CITIES)]
                caller.post("/memory/add", {"text": f"I live in {city}.", "importance": 0.6})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    scope = scope_of(running, "mover")
    with tenant_transaction(scope):
        held = Memory.objects.within(scope).filter(space_id=scope.space.id, slot__isnull=False)
        current = held.filter(validity="current").count()
        dangling = held.exclude(validity="current").filter(superseded_by=None).count()
        return {
            "writers": WRITERS, "adds a second": round(WRITERS * 10 / seconds, 1), "rows": held.count(),
            "current": current, "replaced by nobody": dangling, "is_good": current == 1 and dangling == 0,
        }  # fmt: skip
