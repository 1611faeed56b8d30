"""A real receiver at the other end: what docs/webhooks.md says to its author holds, also when a worker is killed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import orjson
import pytest
from django.db import connections

from apps.adapters.senders.http import HttpSender
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.webhooks import deliveries, dispatcher, services
from memsync.testing.databases import PASSWORD
from tests.webhooks.conftest import make_endpoint, remember
from tests.webhooks.receiver import Receiver, receiving

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)
ROOT = Path(__file__).resolve().parents[2]
MANY = 60
# Loads everything once; each worker is a child of it, which has no connection before.
WORKERS = """
import os, sys, time
from datetime import UTC, datetime
import django
django.setup()
from apps.adapters.senders.http import HttpSender
from apps.webhooks import dispatcher
dispatcher.GRACE_SECONDS = 1.0
while sys.stdin.readline():
    pid = os.fork()
    if not pid:
        sender = HttpSender(allow_http=True, networks=("127.0.0.0/8",), resolve=lambda *_: ["127.0.0.1"])
        while True:
            dispatcher.work(seconds=60, clock=lambda: datetime.now(UTC), sender=sender)
            time.sleep(0.1)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("over", flush=True)
"""


def documented() -> Callable[..., bool]:
    """The receiver's half, as docs/webhooks.md has it."""
    page = (ROOT / "docs/webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Callable[..., bool]] = {}
    exec(code, names)  # noqa: S102  (ours)
    return names["is_ours"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture
def sender(receiver: Receiver, settings: object) -> HttpSender:
    return HttpSender(allow_http=True, networks=("127.0.0.0/8",), resolve=receiver.resolve)


@pytest.fixture
def endpoint(
    admin: Scope, receiver: Receiver, sender: HttpSender, monkeypatch: pytest.MonkeyPatch
) -> services.OpenedEndpoint:
    monkeypatch.setattr(services, "get_sender", lambda: sender)
    return make_endpoint(admin, url=receiver.url, wanted=["memory.created"])


def work(sender: HttpSender, *, seconds: float = 0.5) -> int:
    return dispatcher.work(seconds=seconds, clock=lambda: datetime.now(UTC), sender=sender)


def test_what_the_documentation_checks_is_what_we_sign(
    scope: Scope, endpoint: services.OpenedEndpoint, receiver: Receiver, sender: HttpSender
) -> None:
    remember(scope, "The heron nests by the lock.")
    work(sender)

    (one,) = receiver.received
    is_ours, secret = documented(), endpoint.secret or ""
    assert is_ours(secret, one.headers, one.body)
    assert not is_ours(secret, one.headers, one.body + b" ")
    assert not is_ours("whsec_another", one.headers, one.body)
    assert not is_ours(secret, one.headers | {"X-MemorySync-Timestamp": "1795435200"}, one.body)
    assert not is_ours(secret, one.headers, one.body, tolerance=-1)
    assert orjson.loads(one.body)["type"] == one.headers["X-MemorySync-Event"] == "memory.created"


def test_a_receiver_that_knows_the_old_secret_alone_takes_what_the_new_one_signs(
    admin: Scope, scope: Scope, endpoint: services.OpenedEndpoint, receiver: Receiver, sender: HttpSender
) -> None:
    renewed = services.rotate_secret(admin, endpoint.row.pk, now=datetime.now(UTC))
    remember(scope, "The heron nests by the lock.")
    work(sender)

    (one,) = receiver.received
    assert documented()(endpoint.secret, one.headers, one.body)
    assert documented()(renewed.secret, one.headers, one.body)


def test_a_redirect_inside_is_not_followed_and_tried_again(
    admin: Scope, scope: Scope, endpoint: services.OpenedEndpoint, receiver: Receiver, sender: HttpSender
) -> None:
    receiver.status, receiver.headers = 302, {"Location": "http://169.254.169.254/latest/meta-data/"}

    remember(scope, "The heron nests by the lock.")
    work(sender)

    (row,) = deliveries.page(admin, number=1, size=5, now=datetime.now(UTC)).deliveries
    assert (row.row.status, row.row.status_code) == ("retrying", 302)
    assert len(receiver.received) == 1


def test_a_name_that_points_inside_by_now_is_not_sent_to(
    admin: Scope, scope: Scope, endpoint: services.OpenedEndpoint, receiver: Receiver
) -> None:
    remember(scope, "The heron nests by the lock.")

    work(HttpSender(allow_http=True, resolve=receiver.resolve))  # its answer is the loopback, which is not allowed

    (row,) = deliveries.page(admin, number=1, size=5, now=datetime.now(UTC)).deliveries
    assert (row.row.status, row.row.error, receiver.received) == ("retrying", "refused_private", [])


def test_a_slow_receiver_holds_up_itself_alone(
    admin: Scope,
    scope: Scope,
    endpoint: services.OpenedEndpoint,
    receiver: Receiver,
    sender: HttpSender,
    settings: object,
) -> None:
    settings.WEBHOOK_SECONDS = 0.5  # type: ignore[attr-defined]
    receiver.write = lambda _: time.sleep(2)
    with receiving() as quick:
        make_endpoint(admin, url=quick.url, wanted=["memory.created"])
        for number in range(10):
            remember(scope, f"Parcel {number} went to harbour office {number}.")

        began = time.monotonic()
        work(sender, seconds=3)

        assert len(quick.received) == 10
        assert max(one.at for one in quick.received) - began < 3


def _url(alias: str) -> str:
    settings = connections[alias].settings_dict
    return f"postgres://{settings['USER']}:{PASSWORD}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"


@contextmanager
def _workers() -> Iterator[Callable[[], Callable[[], None]]]:
    """What starts a worker and returns what kills it."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": _url("default"),
        "OPERATOR_DATABASE_URL": _url("operator"),
        "KEYRING_URL": _url("keyring"),
        "WEBHOOK_SECONDS": "2",
        "PYTHONPATH": str(ROOT),
    }
    parent = subprocess.Popen(
        [sys.executable, "-c", WORKERS],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        start_new_session=True,
    )  # fmt: skip
    asks, says = parent.stdin, parent.stdout
    assert asks is not None
    assert says is not None

    def start() -> Callable[[], None]:
        asks.write("start\n")
        worker = int(says.readline())

        def kill() -> None:
            os.kill(worker, signal.SIGKILL)
            assert says.readline() == "over\n"

        return kill

    with parent:
        try:
            yield start
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.e2e
def test_workers_that_are_killed_lose_nothing_and_what_comes_twice_has_the_same_event_id(
    admin: Scope, scope: Scope, endpoint: services.OpenedEndpoint, receiver: Receiver
) -> None:
    now = datetime.now(UTC)
    for start in range(0, MANY, 20):
        remember(scope, *(f"Parcel {n} went to harbour office {n}." for n in range(start, start + 20)), now=now)
    expected = OutboxEvent.objects.filter(kind="webhook.event").count()
    assert expected == MANY
    receiver.write = _slowly

    kills = 0
    deadline = time.monotonic() + 90
    with _workers() as start:
        while OutboxEvent.objects.filter(kind__startswith="webhook").exists():
            assert time.monotonic() < deadline, "took too long"
            kill = start()
            seen, until = len(receiver.received), time.monotonic() + 20
            wanted = seen + 10 if kills < 3 else 10_000
            while len(receiver.received) < wanted and time.monotonic() < until:
                if not OutboxEvent.objects.filter(kind__startswith="webhook").exists():
                    break
                time.sleep(0.02)
            kill()
            kills += 1

    told = Counter(one.headers["X-MemorySync-Event-ID"] for one in receiver.received)
    memories = Counter(orjson.loads(one.body)["data"]["memory_id"] for one in receiver.received)
    assert kills >= 4
    assert len(told) == len(memories) == expected
    assert sorted(told.values()) == sorted(memories.values())
    page = deliveries.page(admin, number=1, size=100, now=datetime.now(UTC))
    assert {one.row.status for one in page.deliveries} == {"delivered"}
    assert page.total == expected


def _slowly(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.2)
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
