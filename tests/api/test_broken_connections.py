"""Uploads that crawl, stop or lie about their length, over a real socket: nobody waits, nothing is half-written."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPResponse

import httpx
import pytest

from memsync.web_worker import STALL_SECONDS
from tests.forms import form
from tests.running import Up

pytestmark = pytest.mark.e2e

FACT = b"The boiler room key hangs behind the pantry door in the kitchen. " * 40
CRAWLERS = 4


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    fake = {"EMBEDDER_BACKEND": "apps.adapters.embedders.fake.FakeEmbedder", "EMBEDDER_OPTIONS": "{}"}
    running = Up(tmp_path_factory.mktemp("connections") / "home", **fake)
    yield running
    running.stop()


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
    return int(up.ask("select (select count(*) from memories_memory) + (select count(*) from imports_importjob)"))


@pytest.mark.parametrize("path", ["/memory/upload", "/imports"])
def test_upload_that_stops_halfway_leaves_nothing(path: str, up: Up) -> None:
    body, content_type = form(FACT)
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


def test_an_upload_that_falls_silent_is_given_up(up: Up) -> None:
    body, content_type = form(FACT)
    before = written(up)

    with begin(up, "/memory/upload", body[:50], content_type, length=len(body)) as connection:
        connection.settimeout(STALL_SECONDS + 20)
        answer = connection.recv(65536)

    assert not answer or b" 400 " in answer.partition(b"\r\n")[0], answer
    assert written(up) == before


def test_nobody_waits_for_uploads_that_crawl(up: Up) -> None:
    body, content_type = form(FACT)
    before = written(up)
    with contextlib.ExitStack() as crawling:
        for _ in range(CRAWLERS):
            crawling.enter_context(begin(up, "/memory/upload", body[:50], content_type, length=len(body)))
        started = time.monotonic()

        answer = httpx.get(f"{up.ready['url']}/health", timeout=20, trust_env=False)

        assert (answer.status_code, time.monotonic() - started < 10) == (200, True)
    assert written(up) == before
