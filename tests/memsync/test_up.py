"""`memsync up` as a stranger runs it: an empty directory, one command, a memory that is still there tomorrow."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memsync.launcher.child_processes import MARK
from memsync.launcher.embedded.ports import free_port
from memsync.ops.smoke_test import is_healthy
from tests.running import Up, until

pytestmark = pytest.mark.e2e
JOBS = int(os.environ.get("KILLED_JOBS", "400"))  # a multiple of 50
BUSY = 180.0  # seconds for what takes a few, where the machine does much else


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    running: list[Up] = []

    def start(*arguments: str, home: Path = tmp_path / "home", prepared: Path | None = None, **environment: str) -> Up:
        running.append(Up(home, *arguments, prepared=prepared, **environment))
        return running[-1]

    yield start
    for up in running:
        up.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Callable[[], Up]]:
    """The instance of this module's tests, started when one asks; another one if a test has ended it."""
    running: list[Up] = []

    def find() -> Up:
        if not running or running[-1].process.poll() is not None:
            running.append(Up(tmp_path_factory.mktemp("up") / "home", prepared=prepared_home))
        return running[-1]

    yield find
    for up in running:
        up.stop(signal.SIGKILL)


def left_of(home: Path) -> list[str]:
    """The command lines of what still works for this home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"{MARK}={home} " in command or (str(home) in command and "postgres" in command):
            found.append(command)
    return found


def has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def texts(answer: dict[str, Any]) -> list[str]:
    return [memory["text"] for memory in answer["memories"]]


def said_in(up: Up, rule: str) -> Any:
    rules = json.loads(up.run("retention", "show", "--json").stdout)
    return next(one["said"] for one in rules if one["rule"] == rule)


MOVED = "I moved to Lisbon in May and I cycle to work along the river."
QUESTION = {"query": "How do I get to work?", "k": 3}


def test_a_stranger_gets_a_working_memory_that_outlives_a_restart(start: Callable[..., Up]) -> None:
    first = start()
    keys = first.ready["keys"]
    added = first.call("/memory/add", {"text": MOVED}, key=keys["production"])
    found = first.call("/memory/query", QUESTION, key=keys["production"])

    assert (added["text"], set(keys)) == (MOVED, {"production", "staging", "development"})
    assert MOVED in texts(found)
    assert texts(first.call("/memory/query", QUESTION, key=keys["staging"])) == []

    assert "kept for good" in first.ready["retention"]
    assert (added["retention_expires_at"], said_in(first, "active_days")) == (None, "keep")

    state = first.run("status", "--json")
    assert (state.returncode, json.loads(state.stdout)["healthy"]) == (0, True)
    assert not any(secret in state.stdout for secret in ("password", "postgres://"))
    in_same_home = first.run("up", "--port", str(free_port()))
    assert (in_same_home.returncode, "memsync down" in in_same_home.stderr) == (5, True)
    on_same_port = first.run("up", "--port", str(first.port), home=first.home.parent / "another")
    assert (on_same_port.returncode, str(first.port) in on_same_port.stderr) == (3, True)

    assert first.run("down").returncode == 0
    assert first.stop(None) == 0
    assert left_of(first.home) == []
    assert first.run("status").returncode == 1
    assert "Lisbon" not in "".join(path.read_text() for path in (first.home / "logs").iterdir())

    (first.home / "kek.json").rename(first.home / "elsewhere.json")
    without_key = first.run("up", "--port", str(free_port()))
    assert (without_key.returncode, "kek.json" in without_key.stderr) == (6, True)
    (first.home / "kek.json").touch(mode=0o600)
    with_empty_key = first.run("up", "--port", str(free_port()))
    assert (with_empty_key.returncode, f"{first.home}/kek.json is not a keyring" in with_empty_key.stderr) == (8, True)
    (first.home / "elsewhere.json").rename(first.home / "kek.json")

    second = start("--host", "0.0.0.0", RETENTION_DAYS="30", ALLOWED_HOSTS="memory.example.com")  # noqa: S104
    assert second.ready["url"] == f"http://127.0.0.1:{second.port}"
    assert texts(second.call("/memory/query", QUESTION, key=keys["production"])) == texts(found)
    assert "30 days after they were last said or recalled" in second.ready["retention"]
    assert said_in(second, "active_days") == 30
    assert (second.ready["tenant"], second.ready["project"]) == (first.ready["tenant"], first.ready["project"])
    assert second.ready["keys"] == dict.fromkeys(keys)  # shown once
    assert second.ready["operator"] == {**first.ready["operator"], "password": None, "enrolment_code": None}
    assert second.stop(signal.SIGINT) == 0
    assert left_of(second.home) == []


def test_a_worker_killed_among_many_jobs_loses_none_and_does_none_twice(shared: Callable[[], Up]) -> None:
    up = shared()
    key = up.ready["keys"]["production"]
    others = up.ask("select count(*) from memories_memoryvector")
    for batch in range(JOBS // 50):
        items = [{"text": sentence(50 * batch + n), "importance": 0.6} for n in range(50)]
        assert (
            up.call("/memory/bulk-add", {"items": items, "deduplicate": False}, key=key, end_user="bob")["created"]
            == 50
        )
    assert until(lambda: up.ask("select count(*) from outbox_outboxevent") == 0, BUSY)
    up.do(TALLY)

    up.call("/memory/refresh", {}, key=key, end_user="bob")
    waiting = "select count(*) from outbox_outboxevent where kind = 'embed'"
    for left in (JOBS * 7 // 10, JOBS // 3):
        assert until(lambda left=left: 0 < up.ask(waiting) < left, BUSY)
        os.killpg(up.processes()["worker"], signal.SIGKILL)

    assert until(lambda: up.ask("select count(*) from outbox_outboxevent") == 0, BUSY)
    embedded = up.ask("select array[count(*), count(distinct memory_id)] from memories_memoryvector")
    assert up.ask("select array[count(*), count(distinct memory_id)] from tally") == [JOBS, JOBS]
    assert embedded == [JOBS + others, JOBS + others]


# Counts what was committed: a job that is undone with its worker leaves no trace.
TALLY = """
create table tally (memory_id bigint);
create function tell() returns trigger language plpgsql security definer as
    'begin insert into tally values (new.memory_id); return new; end';
create trigger tell after insert on memories_memoryvector for each row execute function tell();
"""


def sentence(n: int) -> str:
    return f"On day {n} I noted that parcel {n * 7919 % 10007} went to shelf {n * 104729 % 9973} of the storehouse."


def test_without_a_broker_adds_are_stored_and_found_by_their_words(
    start: Callable[..., Up], prepared_home: Path
) -> None:
    up = start(prepared=prepared_home, CELERY_BROKER_URL="amqp://nobody:nothing@127.0.0.1:1//")
    key = up.ready["keys"]["production"]

    began = time.monotonic()
    added = up.call("/memory/bulk-add", {"items": [{"text": MOVED, "importance": 0.6}]}, key=key)
    seconds = time.monotonic() - began

    assert added["created"] == 1
    assert MOVED in texts(up.call("/memory/query", QUESTION, key=key))
    assert seconds < 3


def test_doctor_finds_it_healthy_until_its_worker_stops_and_its_key_is_open(shared: Callable[[], Up]) -> None:
    up = shared()
    up.wait_for_workers()
    assert until(lambda: up.run("doctor", "--patience=10").returncode == 0, BUSY)  # beat may still be importing

    # Stopped, not killed: the supervisor would have started it again before anybody looked.
    worker = up.processes()["worker"]
    assert until(lambda: stops_without_a_lock(up, worker))
    try:
        stopped = up.run("doctor", "--json", "--patience=0.5")
    finally:
        os.killpg(worker, signal.SIGCONT)
    (up.home / "kek.json").chmod(0o644)
    try:
        unguarded = up.run("doctor", "--json", "--patience=0.5")
        assert until(lambda: "(unhealthy: keyring)" in up.run("status").stdout)
        refused = up.run("key", "issue", "--name", "none")
    finally:
        (up.home / "kek.json").chmod(0o600)

    assert (stopped.returncode, failed(stopped.stdout)) == (1, {"worker", "queues"})
    assert (unguarded.returncode, failed(unguarded.stdout) >= {"files", "key provider", "keys"}) == (1, True)
    assert (refused.returncode, f"{up.home}/kek.json is open to others" in refused.stderr) == (1, True)


def stops_without_a_lock(up: Up, worker: int) -> bool:
    """Stops the worker; lets it go on if it would hold a lock, for which the doctor would wait."""
    os.killpg(worker, signal.SIGSTOP)
    time.sleep(0.1)  # what it sent is done by then
    if up.ask("select count(*) from pg_stat_activity where state like 'idle in transaction%'") == 0:
        return True
    os.killpg(worker, signal.SIGCONT)
    return False


def failed(answer: str) -> set[str]:
    return {finding["part"] for finding in json.loads(answer)["findings"] if finding["state"] == "fail"}


def test_nothing_is_lost_when_each_part_and_then_all_of_it_is_killed(
    shared: Callable[[], Up], start: Callable[..., Up]
) -> None:
    up = shared()
    key = up.ready["keys"]["production"]
    up.call("/memory/add", {"text": MOVED}, key=key)
    before = up.processes()

    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    assert until(lambda: set(up.processes().values()).isdisjoint(before.values()))
    assert until(lambda: not has_members(before["web"]))  # which would answer until they see that they are orphans
    assert until(lambda: is_healthy(up.ready["url"]))
    assert up.run("status").returncode == 0
    assert MOVED in texts(up.call("/memory/query", QUESTION, key=key))

    up.stop(signal.SIGKILL)

    assert until(lambda: left_of(up.home) == [])
    again = start("--reissue", home=up.home)
    assert MOVED in texts(again.call("/memory/query", QUESTION, key=again.ready["keys"]["production"]))
    assert set(again.ready["keys"].values()).isdisjoint([*up.ready["keys"].values(), None])
    assert again.ready["operator"]["password"] not in (None, up.ready["operator"]["password"])
