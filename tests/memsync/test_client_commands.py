"""`memsync add`, `ask`, `import`, `export`, `open`, `logs` and `mcp`, of a person beside a running `memsync up`."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memsync.client import commands, importing
from memsync.client.server import own_key
from tests.running import Up

pytestmark = pytest.mark.e2e

HAZELNUTS = "I am allergic to hazelnuts."
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Up]:
    one = Up(tmp_path_factory.mktemp("client") / "home", "--workers", "1", prepared=prepared_home)
    yield one
    one.stop(signal.SIGKILL)  # test_up.py stops one as people do, which takes seconds


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command as on the command line: its exit code, output and errors.  given: standard input."""
    for name in ("MEMSYNC_URL", "MEMSYNC_API_KEY", "MEMSYNC_END_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMSYNC_HOME", str(up.home))

    def call(*arguments: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code = commands.main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_text_is_stored_and_answers_a_question_with_the_instance_s_own_key(run: Run) -> None:
    stored = run("add", *HAZELNUTS.split(), "--end-user", "алиса", "--tag", "health", "--json")
    small_talk = run("add", "ok thanks!", "--end-user", "алиса")
    shown = run("ask", "Which", "food", "would make me ill?", "--end-user", "алиса")
    answer = run("ask", "Which food would make me ill?", "--end-user", "алиса", "--tag", "health", "--json", "-k", "1")
    other = run("ask", "Which food would make me ill?", "--end-user", "bob")

    memory = json.loads(stored[1])
    assert (stored[0], memory["text"], memory["tags"]) == (0, HAZELNUTS, ["health"])
    assert small_talk == (0, "Not stored: no_high_value_content\n", "")
    assert shown[0] == 0
    assert shown[1].startswith(f"1. {HAZELNUTS}\n   memory {memory['id']}, ")
    assert [one["id"] for one in json.loads(answer[1])["memories"]] == [memory["id"]]
    assert other == (0, "", "memsync: nothing found\n")


def test_texts_and_questions_come_from_standard_input(run: Run) -> None:
    stored = run("add", "--end-user", "carol", given="The bus to the airport\nleaves at ten past six.\n")
    context = run("ask", "-", "--context", "--end-user", "carol", given="When does the bus leave?")
    answer = run("ask", "--answer", "--end-user", "carol", given="When does the bus leave?")
    reranked = run("ask", "--rerank", "--json", "--end-user", "carol", given="When does the bus leave?")
    empty = run("add", "--end-user", "carol", given=" \n")

    assert stored[0] == 0
    assert "rerank" in json.loads(reranked[1])["routing"]["legs"]
    assert "ten past six" in context[1]
    assert "ten past six" in answer[1].splitlines()[0]
    assert empty == (2, "", "memsync: the text is empty\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("add", "x", "--end-user", ""), 2, "missing --end-user or MEMSYNC_END_USER"),
        (("add", "x", "--end-user", "a", "--url", "http://127.0.0.1:9"), 2, "missing --key or MEMSYNC_API_KEY"),
        (("add", "x", "--end-user", "a", "--url", "ftp://host", "--key", "k"), 2, "is no address of a server"),
        (("ask", "x", "--end-user", "a", "--url", "http://127.0.0.1:9", "--key", "k"), 3, "cannot be reached"),
        (("ask", "x", "--end-user", "a", "--key", "ms_dev_x"), 1, "INVALID_API_KEY"),
        (("add", HAZELNUTS, "--end-user", "a", "--occurred-at", "yesterday"), 1, "occurred_at: must be a time"),
        (("ask", "x", "--answer", "--as-of", "2026-01-01", "--end-user", "a"), 2, "cannot be combined with --as-of"),
        (("import", "/nowhere.json"), 1, "cannot be read: No such file"),
        (("export", "--end-user", "a", "--to", "/nowhere/file"), 1, "cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_with_its_exit_code(
    run: Run, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run(*arguments)

    assert done[0] == code
    assert said in done[2]
    assert done[2].startswith("memsync: ")
    assert done[2].count("\n") == 1


@pytest.mark.parametrize("arguments", [("add", "--importance", "2"), ("ask", "-k", "0"), ("add", "--metadata", "[]")])
def test_arguments_are_checked(run: Run, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)

    assert ended.value.code == 2


def test_the_instance_s_key_goes_to_no_other_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_key().startswith("ms_dev_")
    monkeypatch.setenv("MEMSYNC_URL", "http://127.0.0.1:9")

    assert run("ask", "x", "--end-user", "a")[::2] == (2, "memsync: missing --key or MEMSYNC_API_KEY\n")


def test_an_export_is_written_once_and_imported_for_another(run: Run, tmp_path: Path) -> None:
    run("add", HAZELNUTS, "--end-user", "dora")
    file = tmp_path / "dora.json"

    written = run("export", "--end-user", "dora", "--to", str(file), "--json")
    again = run("export", "--end-user", "dora", "--to", str(file))
    printed = run("export", "--end-user", "dora")
    previewed = run("import", str(file), "--dry-run")
    refused = run("import", str(file), "--end-user", "erik")
    imported = run("import", str(file), "--end-user", "erik", "--yes", "--json")
    repeated = run("import", "-", "--end-user", "erik", "--yes", "--json", given=file.read_text())

    assert json.loads(written[1])["count"] == 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert (again[0], "exists" in again[2], [one.name for one in tmp_path.iterdir()]) == (1, True, ["dora.json"])
    assert [one["text"] for one in json.loads(printed[1])["memories"]] == [HAZELNUTS]
    assert previewed[1].splitlines()[1:3] == ["  1 × memory", "  1 name no end user"]
    assert (refused[0], "add --yes" in refused[2]) == (2, True)
    assert json.loads(imported[1]).items() >= {"created": 1, "rejected": 0, "complete": True}.items()
    assert json.loads(repeated[1]).items() >= {"created": 0, "already_imported": 1}.items()
    assert HAZELNUTS in run("ask", "What am I allergic to?", "--end-user", "erik")[1]


def test_a_file_is_sent_in_parts_and_errors_name_their_record(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PART_BYTES", 200)
    records: list[dict[str, Any]] = [
        {"text": f"The box number {number} is on shelf {number + 10}.", "importance": 0.7} for number in range(6)
    ]
    records[4]["importance"] = 7
    file = tmp_path / "boxes.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records))

    done = run("import", str(file), "--end-user", "frank", "--yes", "--json")
    shown = run("import", str(file), "--end-user", "frank", "--yes")

    answer = json.loads(done[1])
    assert (done[0], answer["created"], answer["rejected"], len(answer["jobs"])) == (1, 5, 1, 2)
    assert [one["record"] for one in answer["errors"]] == [5]
    assert "importance" in answer["errors"][0]["reason"]
    assert "  record 5: importance" in shown[1]


def test_the_console_s_address_is_one_where_passkeys_work(run: Run, up: Up) -> None:
    assert run("open")[1] == f"http://localhost:{up.port}/app/\n"
    assert run("open", "api", "--url", "https://memory.example.org/")[1] == "https://memory.example.org/docs\n"


def test_logs_are_shown_by_part_level_and_number(run: Run) -> None:
    whole = run("logs", "-n", "1000")
    web = run("logs", "web", "--json", "-n", "2")
    serious = run("logs", "--level", "critical")

    assert "web" in whole[1]
    assert "worker" in whole[1]
    assert whole[1].splitlines() == sorted(whole[1].splitlines(), key=lambda line: line[:23])
    assert [json.loads(line)["component"] for line in web[1].splitlines()] == ["web", "web"]
    assert serious[:2] == (0, "")


def test_logs_are_followed(up: Up) -> None:
    command = [sys.executable, "-m", "memsync.cli", "logs", "web", "-n", "1", "--follow"]
    process = subprocess.Popen(command, env=up.environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        process.stdout.readline()
        with (up.home / "logs" / "web.log").open("a") as log:
            log.write('{"component": "web", "time": "2026-01-01", "level": "info", "message": "a new line"}\n')

        assert "a new line" in process.stdout.readline()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def test_mcp_uses_the_instance_s_own_key(up: Up) -> None:
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}\n'
    command = [sys.executable, "-m", "memsync.cli", "mcp", "--end-user", "alice"]
    environment = {name: value for name, value in up.environment.items() if name != "MEMSYNC_API_KEY"}

    done = subprocess.run(command, input=asked, env=environment, capture_output=True, timeout=60, check=True)

    assert len(json.loads(done.stdout)["result"]["tools"]) == 14


def test_the_command_line_starts_them_without_settings(tmp_path: Path) -> None:
    environment = {"PATH": os.defpath, "MEMSYNC_HOME": str(tmp_path), "PYTHONPATH": os.getcwd()}

    for arguments, code in ((("ask", "--help"), 0), (("logs",), 1), (("add", "text"), 2)):
        command = [sys.executable, "-m", "memsync.cli", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
