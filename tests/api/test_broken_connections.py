"""Uploads that crawl, stop or lie about their length, over a real socket: no client waits, nothing is half-written."""

import contextlib
import json
import select
import signal
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import httpx
import pytest

from memsync.connections import PATIENCE_SECONDS, WHOLE_BYTES
from tests.forms import form
from tests.running import Up

pytestmark = pytest.mark.e2e

FACT = b"The boiler room key hangs behind the pantry door in the kitchen. " * 40
LONG = FACT * (1 + WHOLE_BYTES // len(FACT))  # a thread reads it as it comes in
CRAWLERS = 40  # more than there are threads


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Up]:
    fake = {"EMBEDDER_BACKEND": "apps.adapters.embedders.fake.FakeEmbedder", "EMBEDDER_OPTIONS": "{}"}
    running = Up(tmp_path_factory.mktemp("connections") / "home", prepared=prepared_home, **fake)
    yield running
    running.stop(signal.SIGKILL)  # test_up.py stops one as people do, which takes seconds


def begin(up: Up, path: str, body: bytes, content_type: str, *, length: int) -> socket.socket:
    """A connection on which a request with this much of its body was sent.  length: what its header says."""
    connection = socket.create_connection(("127.0.0.1", up.port), timeout=20)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{up.port}\r\nX-API-Key: {up.ready['keys']['development']}\r\n"
        f"X-End-User-ID: alice\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def written(up: Up) -> int:
    return int(up.ask("select (select count(*) from memories_memory) + (select count(*) from transfers_importjob)"))


@pytest.mark.parametrize("content", [FACT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("path", ["/memory/upload", "/imports"])
def test_upload_that_stops_halfway_leaves_nothing(path: str, content: bytes, up: Up) -> None:
    body, content_type = form(content)
    before = written(up)

    with begin(up, path, body[: len(body) // 2], content_type, length=len(body)) as connection:
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(65536)

    assert not answer or b" 400 " in answer.partition(b"\r\n")[0], answer
    assert written(up) == before


def test_body_longer_than_it_said_is_cut_there_and_refused(up: Up) -> None:
    body, content_type = form(FACT)
    before = written(up)

    with begin(up, "/memory/upload", body, content_type, length=len(body) // 2) as connection:
        answer = HTTPResponse(connection)
        answer.begin()
        said = json.loads(answer.read())

    assert (answer.status, said["error"]["code"]) == (400, "BODY_CUT")
    assert written(up) == before


def test_uploads_that_fall_silent_are_given_up(up: Up) -> None:
    before = written(up)

    with contextlib.ExitStack() as silent:
        waiting = []
        for content in (FACT, LONG):  # both at once: each is waited for as long
            body, content_type = form(content)
            waiting.append(silent.enter_context(begin(up, "/memory/upload", body[:50], content_type, length=len(body))))
        answers = [given_up(connection) for connection in waiting]

    assert answers == [408, 400]
    assert written(up) == before


def given_up(connection: socket.socket) -> int:
    connection.settimeout(PATIENCE_SECONDS + 45)
    answer = HTTPResponse(connection)
    answer.begin()
    return answer.status


def test_nobody_waits_for_uploads_that_crawl(up: Up) -> None:
    body, content_type = form(FACT)
    before = written(up)
    with contextlib.ExitStack() as crawling:
        uploads = [
            crawling.enter_context(begin(up, "/memory/upload", body[:50], content_type, length=len(body)))
            for _ in range(CRAWLERS)
        ]

        answer = httpx.get(f"{up.ready['url']}/health", timeout=20, trust_env=False)

        assert answer.status_code == 200
        assert not select.select(uploads, [], [], 0)[0]  # which it has not given up: it does without a thread for them
    assert written(up) == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memory/add", 401),
        ("/memory/upload", 401),
        ("/imports", 401),
        ("/org/projects", 401),
        ("/auth/login", 413),
        ("/auth/signup", 413),
        ("/app/sign-in", 413),
        ("/admin/login/", 413),
    ],
)
def test_nobody_reads_a_long_body_of_a_stranger(path: str, status: int, up: Up) -> None:
    """Read as it comes in, it would hold one of the few threads that do that for as long as a stranger likes."""
    _, content_type = form(FACT) if path in ("/memory/upload", "/imports") else (b"", "application/json")
    with socket.create_connection(("127.0.0.1", up.port), timeout=20) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{up.port}\r\nContent-Type: {content_type}\r\n"
        connection.sendall(f"{head}Content-Length: {WHOLE_BYTES + 1}\r\n\r\n".encode())

        answer = HTTPResponse(connection)
        answer.begin()

    assert answer.status == status
