"""`memsync` where nothing runs and nothing is set: what a stranger types first."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memsync import instance
from memsync.launcher import welcome
from memsync.launcher.embedded.ports import free_port

KEY = "ms_dev_Im6Rlkos8Vj_" + "a" * 49
SAID: dict[str, Any] = {
    "url": "http://127.0.0.1:8000",
    "tenant": "default",
    "project": "proj_588ee79199afae54",
    "keys": {"production": KEY, "staging": KEY, "development": KEY},
    "operator": {"email": "operator@memsync.local", "password": "sheNP7LBdctZWNV--BAr", "enrolment_code": "8G2K-41QX"},
    "owner": {"email": "owner@memsync.local", "password": "a7Xk2pQvLmZt-W9_cRdE", "enrolment_code": "P7MR-9D3T"},
    "retention": "Memories are kept for good: none is deleted because of its age.",
    "started_in_s": 5.0,
}


def memsync(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "MEMSYNC_HOME": str(home), "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-m", "memsync.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [("key", "issue", "--help"), ("tenant", "-h"), ("demo", "--help"), ("help",)])
def test_help_is_there_before_anything_runs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told = memsync(*arguments, home=tmp_path)

    assert told.returncode == 0, told.stderr
    assert arguments[0] in told.stdout
    assert "demo" in told.stdout or arguments[0] != "help"


def test_version_is_memsyncs_own(tmp_path: Path) -> None:
    assert memsync("--version", home=tmp_path).stdout.startswith("0.")


def test_unknown_command_is_not_taken_for_one_that_lacks_a_database(tmp_path: Path) -> None:
    assert "there is no command 'tenants'" in memsync("tenants", home=tmp_path).stderr
    assert "Start it with `memsync up`" in memsync("tenant", "list", home=tmp_path).stderr


@pytest.mark.parametrize("arguments", [("--port", "70000"), ("--port", "0"), ("--workers", "0")])
def test_number_that_cannot_be_is_not_understood(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told = memsync("up", *arguments, home=tmp_path / "home")

    assert told.returncode == 2
    assert "is no number from 1 to" in told.stderr
    assert not (tmp_path / "home").exists()


def test_damaged_file_of_an_instance_is_named_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / instance.SECRETS_FILE).write_text('{"SECRET_KEY"')

    told = memsync("up", "--port", str(free_port()), home=tmp_path)

    assert told.returncode == 6
    assert "is damaged" in told.stderr
    assert (tmp_path / instance.SECRETS_FILE).read_text() == '{"SECRET_KEY"'


def test_damaged_instance_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / instance.INSTANCE_FILE).write_text("{")

    assert "Start it with `memsync up`" in memsync("key", "list", home=tmp_path).stderr


def test_secrets_are_shown_unbroken_and_nothing_follows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    welcome.show(SAID, home=tmp_path)

    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith(KEY) for line in lines) == 3
    assert any(line.endswith("sheNP7LBdctZWNV--BAr") for line in lines)
    assert any(line.endswith("a7Xk2pQvLmZt-W9_cRdE") for line in lines)
    assert any(line.endswith("P7MR-9D3T") for line in lines)
    assert any("http://localhost:8000/app/" in line for line in lines)
    assert any("Memories are kept for good" in line for line in lines)


@pytest.mark.parametrize(("uv", "command"), [("/usr/bin/uv", "uv run memsync"), ("", "memsync")])
def test_commands_are_named_as_this_one_was_started(
    uv: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV", uv)

    welcome.show(SAID, home=tmp_path)

    said = capsys.readouterr().out
    assert f"`{command} key issue`" in said
    assert f"`{command} up --reissue`" in said
