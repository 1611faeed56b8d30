"""The instance to measure: a running one, or a temporary one started with `memsync up`."""

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
    """url, key: for HTTP calls in its development environment.  tenant: for service calls in this process.

    pid: of its supervisor.
    """

    url: str
    key: str
    tenant: str
    pid: int


@contextmanager
def instance(**settings: str) -> Iterator[Instance]:
    """A fresh instance in a temporary home; Django in this process uses the same databases and keys.

    settings: environment variables for the instance and this process.  The instance is stopped and removed at the end.
    Raises RuntimeError if it does not start.
    """
    # On a busy machine files may still be in use when the directory is removed; that must not discard the results.
    with tempfile.TemporaryDirectory(prefix="memsync-bench-", ignore_cleanup_errors=True) as home:
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
        settings = {"RECALL_CACHE_SECONDS": "0"} | settings  # measure searches, not the cache
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
    """A superuser's cursor on one of the instance's databases, which bypasses row-level security."""
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
