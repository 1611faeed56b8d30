"""An instance to measure: the one that runs, or a throw-away one that `memsync up` starts for the occasion."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import psycopg
from psycopg import Cursor

from memsync.launcher.embedded.ports import free_port


@dataclass(frozen=True, slots=True)
class Instance:
    """url, key: to call it over HTTP in its development environment.  tenant: to call its services in this process.
    pid: of what supervises its processes."""

    url: str
    key: str
    tenant: str
    pid: int


@contextmanager
def instance(**settings: str) -> Iterator[Instance]:
    """A fresh instance in a temporary home, with Django in this process set up to share its databases and keys.

    settings: for its environment and for this process's.  Stopped and removed at the end.  Raises RuntimeError when it
    does not start.
    """
    # A busy machine may still be stopping it when the directory goes, which is no reason to lose what was measured.
    with tempfile.TemporaryDirectory(prefix="memsync-bench-", ignore_cleanup_errors=True) as home:
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
        settings = {"RECALL_CACHE_SECONDS": "0"} | settings  # what is measured is the search, not the keeping
        environment |= {"MEMSYNC_HOME": home, **settings}
        command = [sys.executable, "-m", "memsync.cli", "up", "--json", "--port", str(free_port())]
        log = Path(home) / "up.log"
        with log.open("wb") as errors:
            up = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)  # noqa: S603
        try:
            assert up.stdout is not None
            line = up.stdout.readline()
            if not line:
                raise RuntimeError(f"`memsync up` did not start:\n{log.read_text()[-2000:]}")
            ready = json.loads(line)
            os.environ.update(
                MEMSYNC_HOME=home, DJANGO_SETTINGS_MODULE="memsync.settings", LOG_LEVEL="ERROR", **settings
            )
            django.setup()
            yield Instance(url=ready["url"], key=ready["keys"]["development"], tenant=ready["tenant"], pid=up.pid)
        finally:
            up.terminate()
            up.wait(120)


@contextmanager
def superuser(*, autocommit: bool = False, alias: str = "default") -> Iterator[Cursor[Any]]:
    """A cursor on one of the running instance's databases that no row-level security holds."""
    from django.conf import settings

    home, main = Path(os.environ["MEMSYNC_HOME"]), settings.DATABASES[alias]
    password = (home / "postgres" / "superuser").read_text().strip()
    with (
        psycopg.connect(
            user="postgres", password=password, host=main["HOST"], port=main["PORT"], dbname=main["NAME"],
            autocommit=autocommit,
        ) as connection,
        connection.cursor() as cursor,
    ):  # fmt: skip
        yield cursor
