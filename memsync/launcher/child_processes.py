"""Child processes of `memsync up`: started, logged as JSON lines, restarted when they die, stopped in time."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from memsync.launcher.embedded.subprocesses import spawn

MARK = "MEMSYNC_CHILD_OF"  # marks every child's command line with its MEMSYNC_HOME
LONGEST_WAIT = 30.0
GONE_SECONDS = 5.0  # how long to wait until killed processes are gone
STEADY_SECONDS = 60.0  # uptime after which the restart delay is reset
LOG_BYTES = 20 * 1024 * 1024
SHOWN = {"warning", "error", "critical"}


def python(home: Path) -> list[str]:
    """The beginning of a child's command, with a mark that Python ignores and `end_leftovers` looks for.

    The mark is on the command line because other processes cannot read the environment of a hardened process.
    """
    return [sys.executable, "-X", f"{MARK}={home}"]


class Log:
    """A log file of JSON lines, with at most one older file.  Warnings also go to stderr."""

    def __init__(self, path: Path, component: str) -> None:
        self.path = path
        self.component = component
        self.last: list[str] = []

    def write(self, line: str, *, quote: bool) -> None:
        """Log a line that a process printed; a line that is not a JSON object is wrapped in one.

        quote: keep the text of such a line.  False once the process serves: a traceback may repeat user input.
        """
        try:
            said: dict[str, Any] = json.loads(line)
            said["level"]
        except (ValueError, TypeError, KeyError):
            said = {"level": "info", "message": line if quote else f"{len(line)} characters that were not JSON"}
        entry = {"component": self.component, "time": datetime.now(UTC).isoformat(timespec="milliseconds")} | said
        self.last = [*self.last[-19:], str(entry.get("message", ""))]
        self._roll()
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        if entry["level"] in SHOWN:
            print(json.dumps(entry), file=sys.stderr)

    def _roll(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_size > LOG_BYTES:
                self.path.replace(self.path.with_suffix(".log.1"))


class Child:
    """A child process that ends with the supervisor, and is restarted with growing delays if it dies by itself."""

    def __init__(
        self, name: str, command: list[str], environment: Mapping[str, str], log: Log, *, niceness: int = 0
    ) -> None:
        self.name = name
        self.niceness = niceness
        self.command = command
        self.environment = environment
        self.log = log
        self.restarts = 0
        self.is_starting = True  # until the supervisor has seen it work; its plain output is then quoted in the log
        self._process: subprocess.Popen[bytes] | None = None
        self._wait = 0.5
        self._started_at = 0.0
        self._restart_at: float | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self._process = spawn(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=Path(__file__).resolve().parents[2],
            environment=self.environment,
            deadly=signal.SIGTERM,
            niceness=self.niceness,
        )
        self._started_at = time.monotonic()
        self._restart_at = None
        threading.Thread(target=self._pump, args=(self._process.stdout,), daemon=True).start()

    def tend(self) -> bool:
        """Restart the process if it is dead and its delay is over.  True if it was restarted."""
        now = time.monotonic()
        if self.is_alive:
            if now - self._started_at > STEADY_SECONDS:
                self._wait = 0.5
            return False
        if self._restart_at is None:
            code = self._process.returncode if self._process else None
            self.log.write(json.dumps({"level": "warning", "message": f"ended with {code}; restarting"}), quote=True)
            self._restart_at = now + self._wait
            self._wait = min(self._wait * 2, LONGEST_WAIT)
        if now < self._restart_at:
            return False
        self.restarts += 1
        self.start()
        return True

    def stop(self, patience: float) -> None:
        """Send SIGTERM, wait, then kill the process and all that it started."""
        if not self._process:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        # Kill the whole process group, which the child leads, and wait until it is gone.
        deadline = time.monotonic() + 1.0
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while True:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.poll()
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
        self._process.wait()

    def _pump(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                text = line.decode(errors="replace").rstrip()
                if text:
                    with contextlib.suppress(OSError):  # a full disk must not stop reading the pipe
                        self.log.write(text, quote=self.is_starting)


def end_leftovers(home: Path) -> int:
    """Kill the processes that a killed supervisor of this home left behind, and wait until their ports are free.

    Call it only while holding the home's lock.
    """
    mark = f"{MARK}={home}".encode()
    ended = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in command.read_bytes().split(b"\0"):
                os.kill(int(command.parent.name), signal.SIGKILL)
                ended.append(command.parent)
        except (OSError, ValueError):
            continue  # process has ended, or belongs to another user
    deadline = time.monotonic() + GONE_SECONDS
    while any(_may_hold_ports(process) for process in ended) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(ended)


def _may_hold_ports(process: Path) -> bool:
    """process: its directory in /proc.  A zombie, whose exit code was not collected, holds no ports."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
