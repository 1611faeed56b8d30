"""`python -m memsync.launcher.workers`: worker processes, some for each queue, so that no queue blocks another.

One process loads everything and forks the workers, so loading happens once and most memory is shared.  Each is a
separate Celery worker with pool ``solo``.  In a pool of several processes they share a pipe, and if one is killed while
holding its lock, all of them block forever.
"""

import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Final

from memsync.hardening import serve_quietly
from memsync.launcher.embedded.errors import Misconfigured
from memsync.launcher.worker_count import worker_processes
from memsync.loading import exit_if_misconfigured, without_collection
from memsync.time_limits import Deadlines, watch

PR_SET_PDEATHSIG: Final = 1
LOOK_SECONDS: Final = 0.1  # between checks for processes that ended or exceeded their time limit
PAUSE_SECONDS: Final = 1.0  # before a process that ended by itself is restarted

logger = logging.getLogger("memsync.launcher.workers")  # it runs as __main__, whose messages are not ours


def queues() -> list[str]:
    """The queue of each process.

    With WORKER_QUEUES: WORKER_PROCESSES processes for these queues.  Otherwise WORKER_PROCESSES for the default queue,
    and one for each of the others.
    """
    from memsync.celery import QUEUES

    count = worker_processes()
    if chosen := os.environ.get("WORKER_QUEUES"):
        return [chosen] * count
    rest, *others = QUEUES
    return [rest] * count + others


def main() -> int:
    """Run workers until told to stop; each then finishes its current task."""
    with without_collection(), exit_if_misconfigured():  # collection would later write to shared memory, too
        import django

        from apps.adapters.instances import make_adapters
        from memsync.celery import app

        django.setup()
        serve_quietly()
        make_adapters()
        app.loader.import_default_modules()
        app.finalize()
    try:
        wanted = queues()
    except Misconfigured as error:
        print(f"memsync: {error}", file=sys.stderr)
        return error.exit_code
    return _keep_running(wanted)


def _keep_running(wanted: Sequence[str]) -> int:
    stopping: list[int] = []
    running: dict[int, int] = {}  # process id to index in wanted
    deadlines = Deadlines(len(wanted))

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)
        for pid in list(running):
            os.kill(pid, signal.SIGTERM)

    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, stop)
    due = dict.fromkeys(range(len(wanted)), 0.0)  # index to the time of its next start
    while running or not stopping:
        for place in [one for one, at in due.items() if at <= time.monotonic() and not stopping]:
            del due[place]
            deadlines[place] = 0.0
            running[_fork(wanted[place], deadlines, place)] = place
        time.sleep(LOOK_SECONDS)
        for pid, place in list(running.items()):
            is_killed = deadlines.is_past(place)
            if is_killed:
                os.kill(pid, signal.SIGKILL)
            ended, _ = os.waitpid(pid, 0 if is_killed else os.WNOHANG)
            if ended:
                del running[pid]
                due[place] = time.monotonic() + (0 if is_killed else PAUSE_SECONDS)
                if is_killed:
                    logger.warning("a worker took too long and was killed", extra={"kind": wanted[place]})
                elif not stopping:
                    logger.warning("a worker ended", extra={"kind": wanted[place]})
    return 0


def _fork(queue: str, deadlines: Deadlines, place: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    watch(deadlines, place)
    code = 1
    try:
        _work(queue, place)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        os._exit(code)


def _work(queue: str, place: int) -> None:
    from memsync.celery import app

    app.worker_main(
        [
            *("--quiet", "worker", "--pool", "solo", "--queues", queue, "--loglevel", "INFO"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            *("--hostname", f"{queue.replace(',', '-')}-{place}@%h"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
