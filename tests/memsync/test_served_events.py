"""Event streams of a served instance: resumed by many clients, cut off with their key, and without a thread each."""

import contextlib
import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.running import Up

pytestmark = pytest.mark.e2e

LISTENERS, RECONNECTS, EVENTS = 20, 4, 24  # more listeners than a web process has threads
SECONDS = 60.0


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Up]:
    one = Up(tmp_path_factory.mktemp("events") / "home", "--workers", "1", prepared=prepared_home, EVENT_LISTENERS="25")
    yield one
    one.stop(signal.SIGKILL)  # test_up.py stops one as people do, which takes seconds


class Stream:
    """A client of server-sent events, on a socket of its own."""

    def __init__(self, up: Up, key: str, *, position: str = "") -> None:
        address = urlsplit(up.ready["url"])
        self.position, self.memory_ids, self.rest = position, list[int](), b""
        self.socket = socket.create_connection((address.hostname, address.port), timeout=SECONDS)
        head = f"GET /v1/events/stream?types=memory.created HTTP/1.0\r\nHost: {address.netloc}\r\nX-API-Key: {key}\r\n"
        head += f"Last-Event-ID: {position}\r\n" if position else ""
        self.socket.sendall(head.encode() + b"\r\n")
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(65_536)
        answer, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.status = int(answer.split()[1])
        if self.status == 200 and not position:
            self.read_block()  # the position that it begins with

    def read_block(self) -> bytes:
        """The next block; empty at the end of the stream."""
        while b"\n\n" not in self.rest:
            piece = self.socket.recv(65_536)
            if not piece:
                return b""
            self.rest += piece
        block, _, self.rest = self.rest.partition(b"\n\n")
        if found := re.search(rb"(?m)^id: (\d+)$", block):
            self.position = found[1].decode()
        if found := re.search(rb"(?m)^data: (.*)$", block):
            self.memory_ids.append(json.loads(found[1])["data"]["memory_id"])
        return block

    def read_events(self, count: int) -> None:
        while len(self.memory_ids) < count:
            assert self.read_block()


@pytest.fixture
def key(up: Up) -> str:
    return str(up.ready["keys"]["development"])


def add(up: Up, key: str, number: int) -> int:
    text = {"text": f"The lamp stands in room {number}.", "importance": 0.6, "deduplicate": False}
    return int(up.call("/memory/add", text, key=key)["memory_ids"][0])


def issue(up: Up) -> dict[str, Any]:
    issued = up.run("key", "issue", "--json", "--environment", "development", "--scopes", "memory:read")
    found: dict[str, Any] = json.loads(issued.stdout)
    return found


def test_many_listeners_that_connect_again_miss_nothing_and_get_nothing_twice(up: Up, key: str) -> None:
    def listen(first: Stream) -> list[int]:
        """In RECONNECTS pieces, each broken off in the middle."""
        seen, stream, each = list[int](), first, EVENTS // RECONNECTS
        for piece in range(RECONNECTS):
            left = EVENTS - len(seen) if piece == RECONNECTS - 1 else each
            stream.read_events(left)
            # What came beyond is thrown away, as if the connection had broken before.
            seen += stream.memory_ids[:left]
            stream.socket.close()
            if len(seen) < EVENTS:
                stream = Stream(up, key, position=stream.position)
        return seen

    streams = [Stream(up, key) for _ in range(LISTENERS)]
    with ThreadPoolExecutor(LISTENERS) as pool:
        listening = [pool.submit(listen, stream) for stream in streams]
        added = [add(up, key, number) for number in range(EVENTS)]
        heard = [one.result(SECONDS) for one in listening]

    assert heard == [added] * LISTENERS


def test_a_revoked_key_is_cut_off_within_seconds_and_others_go_on(up: Up, key: str) -> None:
    issued = issue(up)
    gone, stays = Stream(up, issued["key"]), Stream(up, key)
    with contextlib.closing(gone.socket), contextlib.closing(stays.socket):
        up.run("key", "revoke", str(issued["id"]))
        revoked_at = time.monotonic()

        assert gone.read_block() == b""
        took = time.monotonic() - revoked_at
        memory_id = add(up, key, 1)
        stays.read_events(1)

        assert took < 20  # of which the command's own end is a part, on a busy machine
        assert stays.memory_ids == [memory_id]
        refused = Stream(up, issued["key"])
        refused.socket.close()
        assert refused.status == 403


def test_a_silence_is_broken_by_a_comment(up: Up, key: str) -> None:
    stream = Stream(up, key)
    with contextlib.closing(stream.socket):
        block = stream.read_block()

    assert block == b": nothing new\nid: " + stream.position.encode()


def test_one_listener_too_many_is_refused_and_requests_are_answered(up: Up, key: str) -> None:
    with contextlib.ExitStack() as held:
        statuses = []
        for _ in range(26):
            stream = Stream(up, key)
            held.callback(stream.socket.close)
            statuses.append(stream.status)
        answer = httpx.get(f"{up.ready['url']}/health", timeout=SECONDS, trust_env=False)

        assert statuses == [200] * 25 + [429]
        assert answer.status_code == 200
