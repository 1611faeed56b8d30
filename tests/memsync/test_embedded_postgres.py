"""The embedded server: it starts quickly, has one owner, says what is wrong, and loses nothing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from memsync.launcher.embedded import postgres
from memsync.launcher.embedded.errors import AlreadyRunning, DiskFull, PortInUse, RootRefused, UnusableDirectory
from memsync.launcher.embedded.ports import free_port
from memsync.launcher.embedded.postgres import EmbeddedPostgres
from memsync.launcher.embedded.subprocesses import Identity
from tests import running


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "home" / "postgres"


@pytest.fixture
def server(directory: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(directory)
    yield server
    server.stop()


def ask(server: EmbeddedPostgres, query: str) -> object:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[arg-type]
    assert row
    return row[0]


def do(server: EmbeddedPostgres, statement: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


until = partial(running.until, seconds=10.0)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class TestStarting:
    def test_an_empty_directory_becomes_a_server_with_a_password(self, server: EmbeddedPostgres) -> None:
        server.start()

        assert str(ask(server, "show server_version")).startswith("18")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url("postgres", password="wrong"))

    def test_it_listens_on_the_loopback_only_and_hides_its_files(
        self, server: EmbeddedPostgres, directory: Path
    ) -> None:
        server.start()

        assert ask(server, "show listen_addresses") == "127.0.0.1"
        assert (directory.stat().st_mode & 0o777, (directory / "superuser").stat().st_mode & 0o777) == (0o700, 0o600)

    def test_no_value_reaches_its_log(self, server: EmbeddedPostgres, directory: Path) -> None:
        server.start()

        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute("create table word (word text primary key)")
            connection.execute("insert into word values ('xylophone')")
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute("insert into word values ('xylophone')")

        logged = (directory / "log" / "postgres.json").read_text()
        assert "ready to accept connections" in logged
        assert "xylophone" not in logged

    def test_a_second_start_keeps_the_data(self, server: EmbeddedPostgres, directory: Path) -> None:
        server.start()
        do(server, "create table kept as select 7 as n")
        server.stop()

        again = EmbeddedPostgres(directory)
        again.start()

        try:
            assert ask(again, "select n from kept") == 7
        finally:
            again.stop()

    def test_stopping_leaves_no_process(self, server: EmbeddedPostgres) -> None:
        server.start()
        pid = server.pid
        assert pid

        server.stop()

        assert not is_alive(pid)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another identity")
    def test_without_user_namespaces_root_uses_an_unprivileged_account(
        self, server: EmbeddedPostgres, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory.mkdir(parents=True)
        directory.parent.chmod(0o700)
        refuse_namespaces(monkeypatch)

        server.start()

        assert (directory / "data").stat().st_uid != 0
        assert directory.parent.stat().st_mode & 0o777 == 0o700
        assert ask(server, "select 1") == 1

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another identity")
    def test_root_without_any_other_identity_is_told_what_to_do(
        self, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "unprivileged_accounts", list)

        with pytest.raises(RootRefused, match="ordinary user"):
            server.start()


def refuse_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = postgres.spawn

    def refusing(command: list[str], *, identity: Identity, **options: object) -> object:
        return spawn(["/bin/false"] if identity.namespace else command, identity=identity, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(postgres, "spawn", refusing)


class TestRefusing:
    def test_a_second_owner_is_refused_while_the_first_lives(self, server: EmbeddedPostgres, directory: Path) -> None:
        server.start()

        with pytest.raises(AlreadyRunning, match=str(os.getpid())):
            EmbeddedPostgres(directory).start()

        assert ask(server, "select 1") == 1

    def test_a_port_in_use_is_named(self, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]

            with pytest.raises(PortInUse, match=str(port)):
                EmbeddedPostgres(directory, port=port).start()

    def test_a_chosen_port_is_used(self, directory: Path) -> None:
        server = EmbeddedPostgres(directory, port=free_port())

        server.start()

        try:
            assert ask(server, "select 1") == 1
        finally:
            server.stop()

    def test_a_full_disk_is_seen_before_anything_is_made(
        self, server: EmbeddedPostgres, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as full:
            full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1024 * 1024))

            with pytest.raises(DiskFull, match="free some space"):
                server.start()

        assert not (directory / "data").exists()
        server.start()  # the refusal released the lock

    def test_a_directory_of_something_else_is_left_alone(self, server: EmbeddedPostgres, directory: Path) -> None:
        (directory / "data").mkdir(parents=True)
        (directory / "data" / "thesis.txt").write_text("all my work")

        with pytest.raises(UnusableDirectory, match="Nothing was changed"):
            server.start()

        assert (directory / "data" / "thesis.txt").read_text() == "all my work"

    def test_a_home_that_is_a_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "home").write_text("")

        with pytest.raises(UnusableDirectory, match="home"):
            EmbeddedPostgres(tmp_path / "home" / "postgres").start()


class TestRecovering:
    def test_a_half_made_directory_is_made_again(self, server: EmbeddedPostgres, directory: Path) -> None:
        (directory / "data.making" / "base").mkdir(parents=True)
        (directory / "superuser").write_text("made before the crash")

        server.start()

        assert ask(server, "select 1") == 1
        assert not (directory / "data.making").exists()

    def test_a_stale_pid_file_is_no_obstacle_even_if_its_number_lives(
        self, server: EmbeddedPostgres, directory: Path
    ) -> None:
        server.start()
        server.stop()
        (directory / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{directory / 'data'}\n0\n1\n\n127.0.0.1\n")

        server.start()

        assert ask(server, "select 1") == 1

    def test_killing_the_server_loses_nothing_that_was_committed(self, server: EmbeddedPostgres) -> None:
        server.start()
        do(server, "create table kept as select n from generate_series(1, 20000) as n")
        assert server.pid
        os.kill(server.pid, signal.SIGKILL)
        assert until(lambda: not server.is_running)

        server.start()

        assert ask(server, "select count(*) from kept") == 20_000

    def test_killing_the_owner_stops_the_server_and_frees_the_directory(
        self, server: EmbeddedPostgres, directory: Path
    ) -> None:
        program = (
            "import sys, time; from pathlib import Path;"
            "from memsync.launcher.embedded.postgres import EmbeddedPostgres;"
            "server = EmbeddedPostgres(Path(sys.argv[1])); server.start();"
            "print(server.pid, flush=True); time.sleep(60)"
        )
        owner = subprocess.Popen([sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE)
        assert owner.stdout
        pid = int(owner.stdout.readline())

        owner.kill()
        owner.communicate()

        assert until(lambda: not is_alive(pid))
        server.start()
        assert ask(server, "select 1") == 1
