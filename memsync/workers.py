"""`python -m memsync.workers`: a worker for each queue, so that none waits behind another.

They are forked from one process that has loaded everything: so it is loaded once, and most of its memory is shared.
"""

import ctypes
import gc
import logging
import os
import signal
import sys
import time
from types import FrameType
from typing import Final

from memsync.process import serve_quietly

PR_SET_PDEATHSIG: Final = 1
PAUSE_SECONDS: Final = 1.0  # before one that ended is started again

logger = logging.getLogger(__name__)


def processes() -> dict[str, int]:
    """How many pieces of work of each queue are done at once."""
    from memsync.celery import QUEUES

    rest, *others = QUEUES
    return {rest: int(os.environ.get("WORKER_PROCESSES", "2")), **dict.fromkeys(others, 1)}


def main() -> int:
    """Until told to stop; then each finishes what it is at."""
    import django

    from memsync.celery import app

    django.setup()
    serve_quietly()
    app.loader.import_default_modules()
    app.finalize()
    gc.collect()
    gc.freeze()  # or looking for garbage would write to memory that is shared
    stopping: list[int] = []
    running: dict[int, str] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)
        for pid in list(running):
            os.kill(pid, number)

    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, stop)
    counts = processes()
    waiting = list(counts)
    while (waiting and not stopping) or running:
        if not stopping:
            for queue in waiting:
                running[_fork(queue, counts[queue])] = queue
            waiting = []
        pid, _ = os.wait()
        waiting = [running.pop(pid)]
        if not stopping:
            logger.warning("a worker ended", extra={"kind": waiting[0]})
            time.sleep(PAUSE_SECONDS)
    return 0


def _fork(queue: str, count: int) -> int:
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
    code = 1
    try:
        _work(queue, count)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        os._exit(code)


def _work(queue: str, count: int) -> None:
    from memsync.celery import app

    app.worker_main(
        [
            *("--quiet", "worker", "--pool", "prefork", "--concurrency", str(count), "--queues", queue),
            *("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"),
            *("--hostname", f"{queue}@%h"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
