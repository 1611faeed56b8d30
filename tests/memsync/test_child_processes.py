"""The supervisor's children: what is kept of their output, and what happens when they die."""

import json
import os
import re
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from memsync.launcher.child_processes import Child, Log, end_leftovers, python
from memsync.launcher.embedded.ports import free_port, refuse_taken_port
from tests import running


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "web.log", "web")


def lines(log: Log) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.path.read_text().splitlines()]


def child(program: str, log: Log, *, home: str = "/homes/another") -> Child:
    return Child("web", [*python(Path(home)), "-c", program], os.environ, log)


until = partial(running.until, seconds=10.0)
SLEEP = "import time; time.sleep(60)"


class TestLog:
    def test_json_is_kept_and_named(self, log: Log) -> None:
        log.write('{"level": "info", "message": "ready"}', quote=False)

        assert lines(log)[0] | {"time": ""} == {"component": "web", "time": "", "level": "info", "message": "ready"}

    def test_other_text_is_quoted_while_starting_and_counted_afterwards(self, log: Log) -> None:
        log.write("ImportError: no module", quote=True)
        log.write("ValueError: 'my diary'", quote=False)

        assert [line["message"] for line in lines(log)] == [
            "ImportError: no module",
            "22 characters that were not JSON",
        ]

    def test_warnings_are_repeated_on_stderr(self, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
        log.write('{"level": "info", "message": "calm"}', quote=False)
        log.write('{"level": "warning", "message": "slow"}', quote=False)

        assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["slow"]

    def test_a_long_log_is_rolled(self, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memsync.launcher.child_processes.LOG_BYTES", 10)

        log.write('{"level": "info", "message": "first"}', quote=False)
        log.write('{"level": "info", "message": "second"}', quote=False)

        assert [line["message"] for line in lines(log)] == ["second"]
        assert "first" in log.path.with_suffix(".log.1").read_text()


class TestChild:
    def test_it_keeps_out_of_dumps_and_is_found_all_the_same(self, log: Log) -> None:
        program = (
            f"from memsync.hardening import keep_out_of_dumps; keep_out_of_dumps(); print('up', flush=True); {SLEEP}"
        )
        shy = child(program, log, home="/homes/mine")
        shy.start()
        assert until(log.path.exists)
        limits = Path(f"/proc/{shy.pid}/limits").read_text()

        ended = end_leftovers(Path("/homes/mine"))

        assert ended == 1
        assert re.search(r"Max core file size +0 +0 ", limits)
        shy.stop(1)

    def test_what_it_prints_is_logged(self, log: Log) -> None:
        speaker = child("print('hello')", log)

        speaker.start()

        assert until(lambda: log.path.exists() and lines(log)[0]["message"] == "hello")
        speaker.stop(1)

    def test_it_comes_back_when_it_dies(self, log: Log) -> None:
        sleeper = child(SLEEP, log)
        sleeper.start()
        first = sleeper.pid
        assert first
        os.kill(first, signal.SIGKILL)

        assert until(sleeper.tend)

        assert sleeper.is_alive
        assert (sleeper.restarts, sleeper.pid != first) == (1, True)
        sleeper.stop(1)

    def test_it_is_ended_when_it_does_not_stop_by_itself(self, log: Log) -> None:
        stubborn = child(
            f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); {SLEEP}", log
        )
        stubborn.start()
        assert until(log.path.exists)

        stubborn.stop(0.1)

        assert not stubborn.is_alive

    def test_port_of_a_leftover_is_free_once_it_is_ended(self, log: Log) -> None:
        port = free_port()
        slow_to_die = "held = bytearray(200_000_000)"
        listen = f"import socket, time; {slow_to_die}; held_too = socket.create_server(('127.0.0.1', {port}))"
        mine = child(f"{listen}; print('listening', flush=True); time.sleep(60)", log, home="/homes/mine")
        mine.start()
        assert until(lambda: log.path.exists())

        end_leftovers(Path("/homes/mine"))

        refuse_taken_port("127.0.0.1", port)
        mine.stop(1)

    def test_leftovers_of_one_home_are_ended_and_no_others(self, log: Log) -> None:
        mine, other = child(SLEEP, log, home="/homes/mine"), child(SLEEP, log, home="/homes/other")
        mine.start()
        other.start()
        time.sleep(0.1)

        ended = end_leftovers(Path("/homes/mine"))

        assert ended == 1
        assert until(lambda: not mine.is_alive)
        assert other.is_alive
        mine.stop(1)
        other.stop(1)
