"""Responses that the web server holds open for what comes later: without a thread, and only while there is a client."""

import contextlib
import signal
import socket
from pathlib import Path

from tests.web.served_app import ESTABLISHED, MORE, SAYS_GET, Server, head_of, is_open, post, rest_of, until

HOLD = b"GET /hold?%b HTTP/1.1\r\nHost: x\r\n\r\n"


def chunk_of(connection: socket.socket) -> bytes:
    """The next chunk; empty for the last one."""
    size = b""
    while not size.endswith(b"\r\n"):
        size += connection.recv(1)
    left, chunk = int(size, 16) + 2, b""
    while len(chunk) < left:
        chunk += connection.recv(left - len(chunk))
    return chunk[:-2]


def begin(server: Server, name: bytes) -> socket.socket:
    """A held response whose first piece was read."""
    connection = server.connect(HOLD % name)
    assert b" 200 " in head_of(connection)
    assert chunk_of(connection) == b"begun "
    return connection


def say(server: Server, name: bytes, text: bytes) -> None:
    assert server.ask(post(len(text), text, path=b"/say?" + name)) == b"said"


def is_held(server: Server, name: bytes) -> bool:
    return server.ask(b"GET /held?%b HTTP/1.1\r\nHost: x\r\n\r\n" % name) == b"1"


def test_held_responses_take_no_thread_and_get_what_is_said_later(patient: Server) -> None:
    with contextlib.ExitStack() as held:
        names = [b"n%d" % number for number in range(MORE)]
        connections = [held.enter_context(begin(patient, name)) for name in names]

        assert patient.ask() == SAYS_GET
        assert all(is_open(connection) for connection in connections)
        for name, connection in zip(names, connections, strict=True):
            say(patient, name, b"hello " + name)
            assert chunk_of(connection) == b"hello " + name


def test_the_end_of_a_feed_ends_the_response(patient: Server) -> None:
    with begin(patient, b"ends") as connection:
        say(patient, b"ends", b"last")
        say(patient, b"ends", b"")

        assert chunk_of(connection) == b"last"
        assert chunk_of(connection) == b""
        assert rest_of(connection) == b""
    assert not is_held(patient, b"ends")


def test_a_client_that_leaves_closes_its_feed(patient: Server) -> None:
    connection = begin(patient, b"leaves")
    assert is_held(patient, b"leaves")

    connection.close()

    until(lambda: not is_held(patient, b"leaves"))


def test_held_responses_outlast_the_patience_with_clients(strict: Server) -> None:
    with begin(strict, b"silent") as connection, strict.connect() as idle:
        until(lambda: strict.state(idle) != ESTABLISHED)  # by now its patience has run out
        say(strict, b"silent", b"still here")

        assert chunk_of(connection) == b"still here"


def test_a_client_that_does_not_read_is_cut_off(strict: Server) -> None:
    with strict.connect(HOLD % b"deaf", window=4096) as connection:
        until(lambda: b"begun" in connection.recv(4096, socket.MSG_PEEK))
        say(strict, b"deaf", b"x" * 200_000)
        for _ in range(20):
            say(strict, b"deaf", b"x" * 200_000)

        until(lambda: not is_held(strict, b"deaf"))


def test_an_answer_that_becomes_an_error_is_not_held(patient: Server) -> None:
    with patient.connect(
        b"GET /fail?failed HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    ) as connection:
        assert b" 503 " in head_of(connection)
        assert connection.recv(4) == b"fail"
        assert b" 200 " in head_of(connection)  # the connection serves the next request

    assert not is_held(patient, b"failed")


def test_a_stopping_worker_ends_held_responses_at_once(tmp_path: Path) -> None:
    server = Server(120, tmp_path / "log")
    with begin(server, b"stops") as connection:
        server.process.send_signal(signal.SIGTERM)

        assert chunk_of(connection) == b""
        assert rest_of(connection) == b""
        assert server.stop() == 0
