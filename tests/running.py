"""A running ``memsync up``, as a user starts it; and a home that one of them prepared, for others to begin with."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from memsync.launcher.embedded.ports import free_port

OURS = (
    "DATABASE",
    "KEYRING",
    "OPERATOR",
    "CELERY",
    "CACHE",
    "SECRET",
    "DEPLOYMENT",
    "MEMSYNC",
    "DJANGO",
    "KMS",
    "ALLOW_LOCAL_KEK",
    "EMBED",
)


class Up:
    """A running `memsync up --json`, and what it printed when it was ready.

    prepared: a directory of ``prepare_home``; the home begins as a copy of the one in there.
    """

    def __init__(self, home: Path, *arguments: str, prepared: Path | None = None, **environment: str) -> None:
        if prepared:
            subprocess.run(["cp", "-a", prepared / "home", home], check=True)
        self.home = home
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.environment |= {"MEMSYNC_HOME": str(home), **environment}
        self.port = free_port()
        errors = home.parent / "up.stderr"
        command = [sys.executable, "-m", "memsync.cli", "up", "--json", "--port", str(self.port), *arguments]
        with errors.open("ab") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=self.environment)
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            pytest.fail(f"`memsync up` ended: {errors.read_text()[-3000:]}")
        self.ready: dict[str, Any] = json.loads(line)
        if prepared:  # what is shown once was shown then
            first = json.loads((prepared / "ready.json").read_text())
            self.ready |= {name: first[name] for name in ("keys", "operator")}

    def stop(self, deadly: signal.Signals | None = signal.SIGTERM) -> int:
        """The exit code.  deadly: None where it was told to stop elsewhere."""
        if deadly is not None and self.process.poll() is None:
            self.process.send_signal(deadly)
        code = self.process.wait(60)
        assert self.process.stdout
        self.process.stdout.close()
        return code

    def run(self, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "memsync.cli", *arguments]
        environment = self.environment | {"MEMSYNC_HOME": str(home or self.home)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def call(self, path: str, body: dict[str, Any], *, key: str, end_user: str = "alice") -> dict[str, Any]:
        headers = {"X-API-Key": key, "X-End-User-ID": end_user}
        answer = httpx.post(self.ready["url"] + path, json=body, headers=headers, timeout=30, trust_env=False)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    @property
    def owner_url(self) -> str:
        environment = json.loads((self.home / "instance.json").read_text())["environment"]
        return str(environment["DATABASE_OWNER_URL"])

    def ask(self, query: LiteralString) -> Any:
        """One value from the database, as its owner."""
        with psycopg.connect(self.owner_url) as connection:
            row = connection.execute(query).fetchone()
        assert row
        return row[0]

    def do(self, statements: LiteralString) -> None:
        with psycopg.connect(self.owner_url) as connection:
            connection.execute(statements)

    def processes(self) -> dict[str, int]:
        """What runs, the database included; as `memsync status` knows it."""
        state = json.loads((self.home / "instance.json").read_text())
        return {name: part["pid"] for name, part in (state["processes"] | {"database": state["database"]}).items()}

    def log_lines(self) -> Iterator[dict[str, Any]]:
        for file in sorted((self.home / "logs").glob("*.log")):
            for line in file.read_text().splitlines():
                yield {"file": file.name, **json.loads(line)}

    def wait_for_workers(self) -> None:
        """They are started with a lower priority than what a user waits for."""
        from memsync.celery import QUEUES  # sets Django's settings, which scripts/fuzz needs none of

        assert until(lambda: sum(_says_ready(line) for line in self.log_lines()) >= len(QUEUES), 120)


def _says_ready(line: dict[str, Any]) -> bool:
    return line["file"] == "worker.log" and "ready" in line["message"]


def until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def prepare_home(directory: Path) -> Path:
    """A directory inside with the home of an instance that was started and stopped.  The first process makes it."""
    prepared = directory / "prepared"
    with (directory / "prepared.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not (prepared / "ready.json").exists():
            prepared.mkdir()
            up = Up(prepared / "home")
            up.stop()
            (prepared / "home" / "logs" / "worker.log").unlink(missing_ok=True)  # workers that are up say that they end
            (prepared / "ready.json").write_text(json.dumps(up.ready))
    return prepared
