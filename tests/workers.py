"""Real workers on the databases of a test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connections

from memsync.testing.databases import PASSWORD

ROOT = Path(__file__).resolve().parents[1]


def _url(alias: str) -> str:
    settings = connections[alias].settings_dict
    return f"postgres://{settings['USER']}:{PASSWORD}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"


@contextmanager
def worker(
    broker: str, *, queues: str = "celery,files,upkeep", settings: str = "tests.settings", processes: int = 2
) -> Iterator[subprocess.Popen[bytes]]:
    """The real worker, each of its processes taking from all of these queues.  Ended with everything it started."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": settings,
        "DATABASE_URL": _url("default"),
        "OPERATOR_DATABASE_URL": _url("operator"),
        "KEYRING_URL": _url("keyring"),
        "CELERY_BROKER_URL": broker,
        "PYTHONPATH": str(ROOT),
        "WORKER_QUEUES": queues,
        "WORKER_PROCESSES": str(processes),
    }
    command = [sys.executable, "-m", "memsync.launcher.workers"]
    started = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        yield started
    finally:
        kill(started)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the worker and its pool, as when the machine loses power."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
