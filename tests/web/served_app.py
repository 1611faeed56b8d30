"""gunicorn with this product's worker and a small application, and how a client on a plain socket talks to it."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memsync.launcher.embedded.ports import free_port
from tests.web import small_app

ESTABLISHED = 1  # of the kernel's states
THREADS = small_app.threads
MORE = 3 * THREADS  # than there are threads
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
SAYS_GET = b"GET 0 0"


class Server:
    """gunicorn with our worker and a small application."""

    def __init__(self, patience: float, log: Path) -> None:
        self.port, self.log = free_port(), log
        command = [sys.executable, "-m", "gunicorn", "--config", "python:tests.web.small_app"]
        command += ["--bind", f"127.0.0.1:{self.port}", "tests.web.small_app:application"]
        with log.open("wb") as errors:
            environment = os.environ | {"PATIENCE": str(patience)}
            self.process = subprocess.Popen(command, stderr=errors, env=environment, cwd=Path(__file__).parents[2])
        until(self.is_up)

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def state(self, connection: socket.socket) -> int:
        """The state of its end of a connection, as the kernel counts them; 0 for none."""
        ports = (self.port, connection.getsockname()[1])
        rows = (row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:])
        states = {tuple(int(end.partition(":")[2], 16) for end in row[1:3]): int(row[3], 16) for row in rows}
        return states.get(ports, 0)

    def connect(self, sent: bytes = b"", *, window: int | None = None, source: str = "127.0.0.1") -> socket.socket:
        """A connection on which this was sent.  window: bytes that its reader takes before it reads."""
        connection = socket.socket()
        connection.bind((source, 0))
        if window is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(sent)
        return connection

    def ask(self, request: bytes = GET) -> bytes:
        """The body of an answer, over a connection of its own."""
        with self.connect(request) as connection:
            return body_of(connection)

    def given(self, name: bytes) -> tuple[int, bool]:
        """Bytes that the stream of this name gave so far, and whether it was told of its end."""
        size, is_over = self.ask(b"GET /given?%b HTTP/1.1\r\nHost: x\r\n\r\n" % name).split()
        return int(size), is_over == b"1"

    def stop(self) -> int:
        """The exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()


def until(is_so: Callable[[], bool], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def head_of(connection: socket.socket) -> bytes:
    """The head of an answer; nothing of what follows is read."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and (piece := connection.recv(1)):
        head += piece
    return head


def body_of(connection: socket.socket) -> bytes:
    head = head_of(connection)
    assert b" 200 " in head.partition(b"\r\n")[0], head
    size = next(int(line.split()[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:"))
    body = b""
    while len(body) < size and (piece := connection.recv(size - len(body))):
        body += piece
    return body


def rest_of(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            said += piece
    return said


def is_open(connection: socket.socket) -> bool:
    """Has the server neither answered nor closed?"""
    return not select.select([connection], [], [], 0)[0]


def post(length: int, body: bytes = b"", *, path: bytes = b"/x", more: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n%b" % (path, length, more, body)
