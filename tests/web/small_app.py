"""A small application behind the real web worker, and gunicorn's settings for it: little patience, few threads.

gunicorn --config python:tests.web.small_app tests.web.small_app:application
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gunicorn import util  # type: ignore[import-untyped]

from memsync import connections, gunicorn_conf, web_worker

worker_class = gunicorn_conf.worker_class
workers = 1
threads = 2
worker_connections = 30
keepalive = 20
graceful_timeout = 10
control_socket_disable = True
header_map = getattr(gunicorn_conf, "header_map", "drop")  # gunicorn's own, unless ours says otherwise

LARGE = 8 * 1024 * 1024  # more than any kernel takes for a client that does not read
PIECE = b"x" * 65_536
given: Counter[str] = Counter()  # bytes of each stream, by its name
closed: set[str] = set()  # streams that were told that they are over
feeds: dict[str, "Feed"] = {}  # of responses that are held open, by their name


def post_fork(server: Any, worker: Any) -> None:
    connections.PATIENCE_SECONDS = web_worker.LINGER_SECONDS = float(os.environ["PATIENCE"])
    web_worker.QUEUE_SECONDS = 1.0
    util.close_graceful = partial(util.close_graceful, timeout=connections.PATIENCE_SECONDS)  # in gunicorn's own loop


def application(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
    path, name = environ["PATH_INFO"], environ["QUERY_STRING"]
    if path == "/stream":
        start("200 OK", [("Content-Type", "text/plain")])
        return Stream(name)
    if path == "/hold":
        feeds[name] = Feed()
        environ[web_worker.HOLD](feeds[name])
        start("200 OK", [("Content-Type", "text/plain")])
        return []
    if path == "/fail":  # holds the response, and then it becomes an error
        environ[web_worker.HOLD](feeds.setdefault(name, Feed()))
        start("503 Service Unavailable", [("Content-Type", "text/plain"), ("Content-Length", "4")])
        return [b"fail"]
    if path == "/say":
        feeds[name].say(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        body = b"said"
    elif path == "/held":
        body = b"%d" % (not feeds[name].is_closed)
    elif path == "/large":
        body = b"x" * LARGE
    elif path == "/unread":
        body = b"not read"
    elif path == "/all":
        body = environ["wsgi.input"].read()
    elif path == "/headers":
        body = " ".join(f"{key}={environ[key]}" for key in sorted(environ) if key.startswith("HTTP_X_")).encode()
    elif path == "/given":
        body = f"{given[name]} {int(name in closed)}".encode()
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        body = f"{environ['REQUEST_METHOD']} {len(body)} {sum(body)}".encode()
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


class Stream:
    """LARGE bytes in pieces, and how many of them were asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(LARGE // len(PIECE)):
            given[self.name] += len(PIECE)
            yield PIECE

    def close(self) -> None:
        closed.add(self.name)


class Feed:
    """What is said to it; an empty text ends it."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.is_closed = False
        self._said: deque[bytes | None] = deque([b"begun "])

    def say(self, text: bytes) -> None:
        self._said.append(text or None)
        self.wake()

    def take(self) -> bytes | None:
        return self._said.popleft() if self._said else b""

    def close(self) -> None:
        self.is_closed = True
