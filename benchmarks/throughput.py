"""Requests per second of the whole server, compared with an empty view, and the memory of its processes.

The callers run on the same cores as the server, so the ratios mean more than the rates.
"""

import itertools
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from benchmarks.instance import Instance
from benchmarks.latency import Caller, ask_about, sentences

ABSENT: Final = "/nothing-is-here"  # a 404: passes every middleware, but reaches no view and no database
PARTS: Final = (("gunicorn", "web server"), ("celery", "worker and timetable"), ("postgres", "PostgreSQL"))


def run(running: Instance, *, rows: int, callers: int, seconds: float) -> dict[str, Any]:
    """Requests a second by endpoint, their ratio to an empty view, and MiB by process."""
    texts = list(itertools.islice(sentences(), max(rows, 1000)))
    with closing(Caller(running)) as caller:
        for start in range(0, rows, 50):
            items = [{"text": text, "importance": 0.6} for text in texts[start : min(start + 50, rows)]]
            caller.post("/memory/bulk-add", {"items": items, "deduplicate": False})
    numbers = itertools.count()
    asked: dict[str, Callable[[Caller], Any]] = {
        "nothing (an unknown route)": lambda caller: caller.get(ABSENT, expect=404),
        "query": lambda caller: caller.post("/memory/query", {"query": ask_about(random), "k": 10}),
        "add": lambda caller: caller.post(
            "/memory/add", {"text": f"{random.choice(texts)} Note {next(numbers)}.", "importance": 0.6}
        ),
    }
    rates = {name: _rate(running, ask, callers=callers, seconds=seconds) for name, ask in asked.items()}
    trivial, *_ = rates.values()
    return {
        "rows": rows,
        "callers": callers,
        "requests a second": rates,
        "share of a view that does nothing": {name: rate / trivial for name, rate in rates.items()},
        "MiB": memory_of(running, os.environ["MEMSYNC_HOME"]),
    }


def _rate(running: Instance, ask: Callable[[Caller], Any], *, callers: int, seconds: float) -> float:
    """Responses a second over ``callers`` keep-alive connections, after a second of warm-up."""
    counting, done, failed = threading.Event(), threading.Event(), threading.Event()
    counts = [0] * callers

    def call(number: int) -> None:
        try:
            with closing(Caller(running)) as caller:
                while not done.is_set():
                    ask(caller)
                    counts[number] += counting.is_set()
        except BaseException:
            failed.set()
            raise

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(callers)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    counting.set()
    began = time.perf_counter()
    done.wait(seconds)
    took = time.perf_counter() - began
    done.set()
    for thread in threads:
        thread.join()
    if failed.is_set():
        raise RuntimeError("a request failed; what it answered is above")
    return sum(counts) / took


def memory_of(running: Instance, home: str) -> dict[str, dict[str, float]]:
    """By kind of process: how many, their memory (PSS), and that of the largest."""
    found: dict[str, list[float]] = defaultdict(list)
    for pid in _processes(running.pid, home):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            smaps = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # the process has ended
            continue
        kind = next((kind for word, kind in PARTS if word in command), "supervisor")
        found[kind].append(next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Pss:")) / 1024)
    return {
        kind: {"processes": len(sizes), "all": round(sum(sizes), 1), "largest": round(max(sizes), 1)}
        for kind, sizes in sorted(found.items())
    }


def _processes(supervisor: int, home: str) -> Iterator[int]:
    """The supervisor, processes whose command line names this home, and all their descendants."""
    parents, named = {}, {supervisor}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if home.encode() in (entry / "cmdline").read_bytes():
                named.add(int(entry.name))
        except OSError:
            continue
    for pid in parents:
        ancestor = pid
        while ancestor and ancestor not in named:
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            yield pid
