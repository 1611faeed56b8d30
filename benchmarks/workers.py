"""Workers that a benchmark starts and kills, while the instance's own are suspended."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.instance import Instance
from memsync.celery import QUEUES

WORKERS: Final = 2


class Workers:
    """Starts workers with one process each.  All of them end with the context."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        self._kills = 0
        home = Path(os.environ["MEMSYNC_HOME"])
        made = {
            name: value for name, value in instance_state()["environment"].items() if not name.endswith("_OWNER_URL")
        }
        self._environment = {**os.environ, **made, "ROTATION_WORKERS": str(WORKERS), "LOG_LEVEL": "ERROR"}
        self._environment |= {"WORKER_QUEUES": ",".join(QUEUES), "WORKER_PROCESSES": "1"}
        self._log = (home / "logs" / "benchmark-workers.log").open("ab")

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._log.close()

    def start(self, count: int = WORKERS) -> None:
        self._running += [self._spawn() for _ in range(count)]

    def kill_one(self) -> None:
        """Kill alternately a whole worker, or only its process; both are restarted immediately."""
        self._kills += 1
        number = random.randrange(len(self._running))
        worker = self._running[number]
        children = children_of(worker.pid)
        if self._kills % 2 and children:
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return
        _end(worker)
        self._running[number] = self._spawn()

    def kill_all(self) -> None:
        """Kill all workers with their processes; they are restarted immediately."""
        count = len(self._running)
        self.stop()
        self.start(count)

    def most_memory(self) -> int:
        """Peak memory in bytes of any running worker process."""
        pids = [pid for worker in self._running for pid in (worker.pid, *children_of(worker.pid))]
        return max(map(_peak_bytes, pids), default=0)

    def stop(self) -> None:
        for worker in self._running:
            _end(worker)
        self._running = []

    def _spawn(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "memsync.launcher.workers"]
        return subprocess.Popen(  # noqa: S603  (our own)
            command, env=self._environment, stdout=self._log, stderr=self._log, start_new_session=True
        )


def _end(worker: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


@contextlib.contextmanager
def held_still(running: Instance) -> Iterator[None]:
    """Suspend the instance's own workers: they would take over the work of those that are killed."""
    pid = instance_state()["processes"]["worker"]["pid"]
    os.killpg(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(pid, signal.SIGCONT)


def instance_state() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(os.environ["MEMSYNC_HOME"]) / "instance.json").read_text())
    return found
