"""`memsync up`: set up and run all services with one command, starting from an empty directory.

    lock the home, create its secrets, start PostgreSQL, prepare the databases, start web server, worker and beat,
    store and recall a test memory, print address and keys, then keep everything running until told to stop.

No Django in this process: it starts immediately, and `down` and `status` answer immediately.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from memsync import instance
from memsync.launcher.child_processes import Child, Log, end_leftovers, python
from memsync.launcher.embedded.errors import EmbeddedError, Misconfigured, StartFailed, UnusableDirectory
from memsync.launcher.embedded.lock_file import lock
from memsync.launcher.embedded.ports import refuse_taken_port
from memsync.launcher.embedded.postgres import EmbeddedPostgres
from memsync.launcher.embedded.subprocesses import spawn
from memsync.launcher.embedded_databases import connections_needed, create_databases, database_urls
from memsync.launcher.secret_files import make_secrets
from memsync.ops import smoke_test

READY_SECONDS = 90.0
PATIENCE = {"web": 15.0, "worker": 30.0, "beat": 5.0}  # seconds to finish in; also the order of stopping
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  listened on, and where this machine then asks
NICENESS = {"worker": 5, "beat": 5}  # requests take precedence, at the start and under load


class Interrupted(Exception):
    """A stop was requested while starting."""


class Supervisor:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.begun = time.monotonic()
        self.home = instance.home()
        self.url = f"http://{_for_url(WILDCARDS.get(options.host, options.host))}:{options.port}"
        self.server: EmbeddedPostgres | None = None
        self.children: dict[str, Child] = {}
        self.secrets: dict[str, Any] = {}
        self.environment: dict[str, str] = {}
        self.stopping = threading.Event()
        self.hurry = False
        self._asked_at = 0.0
        self._lock: Any = None
        self._said: dict[str, Any] = {}

    # -- the steps, in order --------------------------------------------------------------------------------------

    def run(self) -> int:
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sign, self._on_signal)
        try:
            self._open_home()
            self._start_database()
            answer = self._prepare(["--reissue"] if self.options.reissue else [])
            self._start_children()
            self._wait_until_healthy()
            self._see_a_memory_come_back()
            self._say_ready(answer)
            self._keep_running()
        except Interrupted:
            self.say("Stopping")
        finally:
            self._stop()
        return 0

    def open_databases(self) -> dict[str, str]:
        """Start only the databases; returns the environment that names them.  Call `close` afterwards."""
        self._open_home()
        self._start_database()
        return self.environment

    def close(self) -> None:
        self._stop()

    def _open_home(self) -> None:
        os.umask(0o077)
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.home.chmod(0o700)
            for folder in ("logs", "static"):
                (self.home / folder).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise UnusableDirectory(f"{self.home} cannot be used: {error.strerror}.") from error
        self._lock = lock(self.home / "lock")
        end_leftovers(self.home)
        refuse_taken_port(self.options.host, self.options.port)
        self.secrets = make_secrets(self.home)

    def _start_database(self) -> None:
        """Start the embedded server, unless the environment configures other databases."""
        made = {"MEMSYNC_HOME": str(self.home)}
        if not instance.given("SECRET_KEY"):
            made["SECRET_KEY"] = self.secrets["SECRET_KEY"]
        if not instance.given("RETENTION_DAYS"):
            made["RETENTION_DAYS"] = "0"  # on one's own machine memories are kept forever unless configured otherwise
        if instance.given("DATABASE_URL"):
            missing = [name for name in ("KEYRING_URL", "CELERY_BROKER_URL") if not instance.given(name)]
            if missing:
                raise Misconfigured(
                    f"With DATABASE_URL set nothing is embedded: set {' and '.join(missing)} too, or unset it."
                )
        else:
            if not instance.given("DEPLOYMENT_ID"):
                made["DEPLOYMENT_ID"] = self.secrets["DEPLOYMENT_ID"]
            if not instance.given("ALLOW_LOCAL_KEK"):
                made["ALLOW_LOCAL_KEK"] = "1"  # the data is stored beside the key file anyway
            if not instance.given("SIGNUP"):
                made["SIGNUP"] = "1"
            made |= self._embedded_urls()
        self.environment = made

    def _embedded_urls(self) -> dict[str, str]:
        server = self.server = EmbeddedPostgres(
            self.home / "postgres", max_connections=connections_needed(self.options.workers)
        )
        server.start(self.say)
        passwords = self.secrets["passwords"]
        create_databases(server, passwords)
        return database_urls(server, passwords)

    def _prepare(self, arguments: list[str]) -> dict[str, Any]:
        """Run `memsync prepare`, the only child that connects as the databases' owner; returns its JSON output."""
        self._check_stopping()
        self.say("Preparing the databases and the embedding model")
        if not self.secrets.get("probe_key"):
            arguments = [*arguments, "--probe-key"]
        child = spawn(
            [*python(self.home), "-m", "memsync.cli", "prepare", "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=_root(),
            environment=os.environ | self.environment,
            deadly=signal.SIGTERM,
        )
        log = Log(self.home / "logs" / "prepare.log", "prepare")
        with self._ending(child):
            answers, errors = child.communicate()
        for line in errors.decode(errors="replace").splitlines():
            log.write(line, quote=True)
        self._check_stopping()
        if child.returncode != 0:
            raise StartFailed(f"The databases could not be prepared: {' '.join(log.last[-1:])} (see {log.path})")
        answer: dict[str, Any] = json.loads(answers.splitlines()[-1])
        if "probe_key" in answer:
            self.secrets["probe_key"] = answer["probe_key"]
        if key := answer["keys"]["development"]:
            self.secrets["development_key"] = key  # of commands that run here (ADR 0058)
        # The keys cannot be shown twice: keep them until they have been printed, in case this start fails.
        if answer["operator"]["password"]:
            self.secrets["not_shown"] = {name: answer[name] for name in ("keys", "operator", "owner")}
        instance.write(self.home / instance.SECRETS_FILE, self.secrets)
        answer.update(self.secrets.get("not_shown", {}))
        return answer

    def _start_children(self) -> None:
        serving = self._serving_environment()
        for name, command in self._commands().items():
            log = Log(self.home / "logs" / f"{name}.log", name)
            child = Child(name, command, serving, log, niceness=NICENESS.get(name, 0))
            self.children[name] = child
            child.start()
        self._write_instance()

    def _serving_environment(self) -> dict[str, str]:
        given = os.environ | self.environment
        serving = {name: value for name, value in given.items() if not name.endswith(("_OWNER_URL", "_OWNER_URL_FILE"))}
        serving["DJANGO_SETTINGS_MODULE"] = "memsync.settings"
        own = f"127.0.0.1,localhost,[::1],{_for_url(self.options.host)}"  # this process and commands ask there
        serving["ALLOWED_HOSTS"] = f"{own},{given.get('ALLOWED_HOSTS', '')}"
        return serving

    def _commands(self) -> dict[str, list[str]]:
        run, celery = [*python(self.home), "-m"], ["celery", "--app", "memsync.celery", "--quiet"]
        return {
            "web": [
                *(*run, "gunicorn", "memsync.wsgi:application", "--config", "python:memsync.gunicorn_conf"),
                *("--bind", f"{_for_url(self.options.host)}:{self.options.port}"),
                *("--workers", str(self.options.workers), "--no-control-socket"),
            ],
            "worker": [*run, "memsync.launcher.workers"],
            "beat": [
                *(*run, *celery, "beat", "--loglevel", "WARNING", "--pidfile", ""),
                *("--schedule", str(self.home / "beat-schedule")),
            ],
        }

    def _wait_until_healthy(self) -> None:
        self.say("Starting web server, worker and beat")
        deadline = time.monotonic() + READY_SECONDS
        while not smoke_test.is_healthy(self.url):
            self._check_stopping()
            self._check_children()
            if time.monotonic() > deadline:
                raise StartFailed(
                    f"No answer from {self.url}/health in {READY_SECONDS:.0f} s: see {self.home / 'logs'}"
                )
            self.stopping.wait(0.05)

    def _see_a_memory_come_back(self) -> None:
        self.say("Adding a memory and asking for it")
        try:
            try:
                smoke_test.add_and_query(self.url, self.secrets["probe_key"])
            except smoke_test.SmokeTestRefused:  # the key is revoked, or from a database that was replaced
                self._prepare(["--probe-key"])
                smoke_test.add_and_query(self.url, self.secrets["probe_key"])
        except smoke_test.ProbeFailed as error:
            raise StartFailed(f"{error} (see {self.home / 'logs'})") from error
        self._check_stopping()
        self._check_children()
        for child in self.children.values():
            child.is_starting = False

    def _keep_running(self) -> None:
        while not self.stopping.wait(0.2):
            started = sum(child.tend() for child in self.children.values())
            if self.server and not self.server.is_running:
                self.say("The database ended; starting it again", always=True)
                with contextlib.suppress(EmbeddedError):  # the next round tries again
                    self.server.start(self.say)
                    started += 1
            if started:
                self._write_instance()

    def _stop(self) -> None:
        for name, patience in PATIENCE.items():
            if name in self.children:
                self.children[name].stop(0.0 if self.hurry else patience)
        if self.server:
            self.server.stop()
        if self._lock:
            (self.home / instance.INSTANCE_FILE).unlink(missing_ok=True)
            self._lock.close()

    # -- output -------------------------------------------------------------------------------------------------------

    def say(self, sentence: str, *, always: bool = False) -> None:
        if always or not self.options.json or sys.stderr.isatty():
            print(f"memsync: {sentence}", file=sys.stderr, flush=True)

    def _say_ready(self, answer: dict[str, Any]) -> None:
        said = {
            "url": self.url,
            "tenant": answer["tenant"],
            "project": answer["project"],
            "keys": answer["keys"],
            "operator": answer["operator"],
            "owner": answer["owner"],
            "retention": answer["retention"],
            "started_in_s": round(time.monotonic() - self.begun, 2),
        }
        if self.options.json:
            print(json.dumps(said), flush=True)
        else:
            from memsync.launcher.welcome import show

            show(said, home=self.home)
        if self.options.host in WILDCARDS and not instance.given("ALLOWED_HOSTS"):
            self.say(
                "Other machines get a 400: set ALLOWED_HOSTS to the names and addresses that they reach this one by, "
                "such as ALLOWED_HOSTS=memory.example.com,192.0.2.7, and start again",
                always=True,
            )
        if self.secrets.pop("not_shown", None):
            instance.write(self.home / instance.SECRETS_FILE, self.secrets)

    def _write_instance(self) -> None:
        instance.write(
            self.home / instance.INSTANCE_FILE,
            {
                "pid": os.getpid(),
                "url": self.url,
                "database": {"embedded": self.server is not None, "pid": self.server.pid if self.server else None},
                "processes": {
                    name: {"pid": child.pid, "restarts": child.restarts} for name, child in self.children.items()
                },
                "environment": self.environment,
            },
        )

    # -- interruptions --------------------------------------------------------------------------------------------

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A second request stops immediately; but `uv run` forwards a Ctrl-C that the terminal has already sent to us.
        now = time.monotonic()
        if not self.stopping.is_set():
            self._asked_at = now
        self.hurry = now - self._asked_at > 1.0
        self.stopping.set()

    def _check_stopping(self) -> None:
        if self.stopping.is_set():
            raise Interrupted

    def _check_children(self) -> None:
        for child in self.children.values():
            if not child.is_alive:
                raise StartFailed(
                    f"{child.name} ended while starting: {' '.join(child.log.last[-1:])} ({child.log.path})"
                )

    @contextlib.contextmanager
    def _ending(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Terminate the process if a stop is requested while we wait for it."""

        def watch() -> None:
            while process.poll() is None:
                if self.stopping.wait(0.1):
                    process.terminate()
                    return

        threading.Thread(target=watch, daemon=True).start()
        yield


def _for_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _root() -> Path:
    return Path(__file__).resolve().parents[2]
