"""A service on a port of the loopback, with switches for what goes wrong with real ones."""

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from types import TracebackType
from typing import Any, Final, Self


@dataclass(frozen=True, slots=True)
class Request:
    """headers: by their names in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> dict[str, Any]:
        content = json.loads(self.body)
        return content if isinstance(content, dict) else {}


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    status: int
    content: Mapping[str, Any] = field(repr=False)
    location: str = ""


class FakeService:
    """Runs from the making of it until ``close``; best used in a ``with``.

    slow_seconds: how long it waits before it answers.  drip_seconds: how long before each byte of the answer.
    throttled, denied: it answers as the real service when there was too much, or when the caller may not.
    redirect_to: the address of another server, to which it sends everybody.
    fail_next: how many of the next requests fail inside.
    requests: how many came.  calls: how often each operation was asked for.
    ``take_down`` and ``bring_up``: nothing listens in between, and open connections break.
    """

    content_type: str

    def __init__(self) -> None:
        self.slow_seconds = 0.0
        self.drip_seconds = 0.0
        self.throttled = False
        self.denied = False
        self.redirect_to = ""
        self.fail_next = 0
        self.calls: Final[Counter[str]] = Counter()
        self.requests = 0
        self.closing: Final = threading.Event()
        self._server: _Server | None = None
        self._port = 0
        self.bring_up()

    def answer(self, request: Request) -> FakeAnswer:
        """What the service says to a request that reaches it."""
        raise NotImplementedError

    def answer_throttled(self) -> FakeAnswer:
        raise NotImplementedError

    def answer_denied(self) -> FakeAnswer:
        raise NotImplementedError

    def answer_failed(self) -> FakeAnswer:
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def bring_up(self) -> None:
        if self._server is None:
            self._server = _Server(self, self._port)
            self._port = self._server.server_port

    def take_down(self) -> None:
        if self._server is not None:
            self._server.end()
            self._server = None

    def close(self) -> None:
        self.closing.set()
        self.take_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service: FakeService, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.service: Final = service
        self._open: Final[set[socket]] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what these services are for; nothing is printed."""

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            try:
                connection.shutdown(SHUT_RDWR)
            except OSError:
                continue  # the client was quicker


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the second half of an answer waits 40 ms for the first to be acknowledged
    server: _Server

    def do_GET(self) -> None:
        service = self.server.service
        request = Request(
            self.command,
            self.path,
            {name.lower(): value for name, value in self.headers.items()},
            self.rfile.read(int(self.headers.get("Content-Length", 0))),
        )
        service.requests += 1
        service.closing.wait(service.slow_seconds)
        self._send(service, self._answer(service, request))

    def do_POST(self) -> None:
        self.do_GET()

    def _answer(self, service: FakeService, request: Request) -> FakeAnswer:
        if service.fail_next > 0:
            service.fail_next -= 1
            return service.answer_failed()
        if service.redirect_to:
            return FakeAnswer(307, {}, location=service.redirect_to + request.path)
        if service.throttled:
            return service.answer_throttled()
        if service.denied:
            return service.answer_denied()
        return service.answer(request)

    def _send(self, service: FakeService, answer: FakeAnswer) -> None:
        body = json.dumps(answer.content).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", service.content_type)
        self.send_header("Content-Length", str(len(body)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        for byte in body if service.drip_seconds else ():
            if service.closing.wait(service.drip_seconds):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
        if not service.drip_seconds:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class's name
        """Nothing is printed."""
