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
    broker: str, *arguments: str, settings: str = "tests.settings", processes: int = 2
) -> Iterator[subprocess.Popen[bytes]]:
    """The real worker.  Ended with everything it started.  arguments: more of them for Celery."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": settings,
        "DATABASE_URL": _url("default"),
        "OPERATOR_DATABASE_URL": _url("operator"),
        "KEYRING_URL": _url("keyring"),
        "CELERY_BROKER_URL": broker,
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "celery", "--app", "memsync.celery", "--quiet", "worker", "--pool", "prefork",
               "--concurrency", str(processes), "--loglevel", "INFO", "--without-gossip", "--without-mingle",
               "--without-heartbeat", *arguments]  # fmt: skip
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
