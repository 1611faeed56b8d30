"""Effect of abuse on other callers: slow connections, expensive documents, and password guessing."""

import contextlib
import http.client
import io
import itertools
import random
import socket
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

from docx import Document

from benchmarks import lockout
from benchmarks.instance import Instance
from benchmarks.latency import END_USER, Caller, ask_about, sentences

IDLE: Final = 40
DRIPPING: Final = 17
BOMBERS: Final = 2
HEALTH_P99_MS: Final = 500.0
GROWTH: Final = 2.0  # maximum growth of the other callers' p95
ROUNDS: Final = 3  # alternately with and without abuse, because the machine's load varies
ROWS: Final = 300


def run(running: Instance, *, seconds: float, say: Callable[[str], object]) -> dict[str, Any]:
    """Figures of each kind of abuse.  seconds: of each kind, and as long without it.  is_good: every limit was met."""
    say("slow connections")
    slow = _slow_connections(running, seconds=seconds)
    say("documents")
    documents = _documents(running, seconds=seconds)
    say("guesses at a password")
    guesses = lockout.run(running)
    return {
        "slow connections": slow,
        "documents": documents,
        "guesses": guesses,
        "is_good": slow["health p99 ms"] <= HEALTH_P99_MS
        and max(documents["growth of the p95"].values()) <= GROWTH
        and guesses["owner gets in"],
    }


# -- connections -------------------------------------------------------------------------------------------------------


def _slow_connections(running: Instance, *, seconds: float) -> dict[str, Any]:
    """Latency of ``/health`` on new connections, with IDLE silent ones and DRIPPING that send a byte a second."""
    quiet = _health(running, seconds)
    with _held_open(running) as opened:
        slow = _health(running, seconds)
        reopened = opened()
    return {
        "idle": IDLE,
        "dripping": DRIPPING,
        "opened again when they were closed": reopened,
        "asked": len(slow),
        "health p50 ms": _percentile(slow, 50),
        "health p99 ms": _percentile(slow, 99),
        "health p99 ms without them": _percentile(quiet, 99),
    }


@contextlib.contextmanager
def _held_open(running: Instance) -> Iterator[Callable[[], int]]:
    """Keep slow connections open, reopening those that the server closes; yields a counter of reopenings."""
    address = urlsplit(running.url)
    place = (address.hostname or "", address.port or 80)
    begun = [
        b"",
        b"GET /health HTTP/1.1\r\nHost: %b\r\nX-Slow: " % place[0].encode(),
        b"POST /auth/login HTTP/1.1\r\nHost: %b\r\nContent-Length: 60000\r\n\r\n" % place[0].encode(),
    ]
    heads = [begun[0]] * IDLE + [begun[1 + number % 2] for number in range(DRIPPING)]
    done, times = threading.Event(), itertools.count()
    opened = threading.Barrier(len(heads) + 1)

    def hold(head: bytes) -> None:
        is_first = True
        while not done.is_set():
            next(times)
            with contextlib.suppress(OSError), socket.create_connection(place, timeout=10) as connection:
                connection.sendall(head)
                connection.setblocking(False)
                if is_first:
                    is_first = False
                    opened.wait()
                while not done.wait(1) and _is_open(connection):
                    if head:
                        connection.send(b"x")

    threads = [threading.Thread(target=hold, args=(head,), daemon=True) for head in heads]
    for thread in threads:
        thread.start()
    opened.wait()
    try:
        yield lambda: next(times) - len(heads)
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _is_open(connection: socket.socket) -> bool:
    """Whether the server has neither answered nor closed the connection."""
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    return False


def _health(running: Instance, seconds: float) -> list[float]:
    """Latencies in milliseconds; a request without response within ten seconds counts with that time."""
    address = urlsplit(running.url)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.perf_counter()
        with (
            closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)) as connection,
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", "/health")
            connection.getresponse().read()
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.02)
    return times


# -- documents ---------------------------------------------------------------------------------------------------------


def _documents(running: Instance, *, seconds: float) -> dict[str, Any]:
    """Latency of one caller's queries and adds, while BOMBERS upload expensive documents without pause."""
    texts = list(itertools.islice(sentences(), ROWS))
    with closing(Caller(running)) as caller:
        for start in range(0, ROWS, 50):
            caller.post("/memory/bulk-add", {"items": [{"text": text} for text in texts[start : start + 50]]})
    quiet: dict[str, list[float]] = {"query": [], "add": []}
    busy: dict[str, list[float]] = {"query": [], "add": []}
    answers: Counter[int] = Counter()
    for _ in range(ROUNDS):
        _ask(running, quiet, seconds / ROUNDS)
        with _bombs(running, answers):
            _ask(running, busy, seconds / ROUNDS)
    return {
        "bombs at once": BOMBERS,
        "answers to bombs": {str(status): count for status, count in sorted(answers.items())},
        "p95 ms": {name: _percentile(times, 95) for name, times in quiet.items()},
        "p95 ms with bombs": {name: _percentile(times, 95) for name, times in busy.items()},
        "growth of the p95": {
            name: _percentile(busy[name], 95) / _percentile(times, 95) for name, times in quiet.items()
        },
    }


def _ask(running: Instance, times: dict[str, list[float]], seconds: float) -> None:
    numbers, said = itertools.count(random.randrange(10**9)), sentences()
    with closing(Caller(running)) as caller:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, path, body in (
                ("query", "/memory/query", {"query": ask_about(random), "k": 10}),
                ("add", "/memory/add", {"text": f"{next(said)} Note {next(numbers)}."}),
            ):
                started = time.perf_counter()
                caller.post(path, body)
                times[name].append((time.perf_counter() - started) * 1000)


@contextlib.contextmanager
def _bombs(running: Instance, answers: Counter[int]) -> Iterator[None]:
    """Upload expensive documents in the background.  answers: number of responses by status."""
    address = urlsplit(running.url)
    bombs = [_form(name, content) for name, content in _bomb_files().items()]
    done, counting = threading.Event(), threading.Lock()

    def send(number: int) -> None:
        for body, content_type in itertools.islice(itertools.cycle(bombs), number, None):
            if done.is_set():
                return
            headers = {"X-API-Key": running.key, "X-End-User-ID": END_USER, "Content-Type": content_type}
            with closing(http.client.HTTPConnection(address.hostname or "", address.port)) as connection:
                connection.request("POST", "/memory/upload", body, headers)
                answer = connection.getresponse()
                answer.read()
            with counting:
                answers[answer.status] += 1

    threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(BOMBERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def _bomb_files() -> dict[str, bytes]:
    """Small or medium files at the limit of parsing cost: nested elements, attributes, a very wide cell."""
    return {
        "nested.html": b"<div>" * 400_000,
        "attributes.html": b"<p " + b"".join(b"a%d " % number for number in range(400_000)) + b">",
        "wide.docx": _wide_cell(40_000_000),
    }


def _wide_cell(columns: int) -> bytes:
    document, plain = Document(), io.BytesIO()
    document.add_table(rows=1, cols=1).cell(0, 0).text = "x"
    document.save(plain)
    wide = io.BytesIO()
    with zipfile.ZipFile(plain) as before, zipfile.ZipFile(wide, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            content = before.read(name)
            span = b'<w:gridSpan w:val="%d"/></w:tcPr>' % columns
            after.writestr(name, content.replace(b"</w:tcPr>", span) if name == "word/document.xml" else content)
    return wide.getvalue()


def _form(name: str, content: bytes) -> tuple[bytes, str]:
    """The body of a form with this file, and its content type."""
    head = f'--bomb\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + b"\r\n--bomb--\r\n", "multipart/form-data; boundary=bomb"


def _percentile(times: list[float], percent: int) -> float:
    """The nearest-rank percentile."""
    return sorted(times)[max(0, -(-len(times) * percent // 100) - 1)]
