"""Every sender keeps the same promises, whatever the receiver: those of ``apps.adapters.senders.base``.

What an attacker who may choose the address could try is listed in ``apps.adapters.senders.http``, and tested here.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from apps.adapters.senders.addresses import is_public
from apps.adapters.senders.base import AddressRefused, Answered, Sender, SendFailed
from apps.adapters.senders.fake import FakeSender
from apps.adapters.senders.http import MOST_READ, HttpSender
from tests.webhooks.receiver import Receiver, receiving

HEADERS = {"Content-Type": "application/json", "X-Sig": "sha256=00"}
LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture
def sender(receiver: Receiver) -> HttpSender:
    """May reach the loopback, because it was told that it may, and not otherwise."""
    return HttpSender(allow_http=True, networks=LOOPBACK, resolve=receiver.resolve)


@pytest.mark.parametrize("one", [HttpSender(), FakeSender()], ids=["http", "fake"])
def test_they_are_senders(one: Sender) -> None:
    assert isinstance(one, Sender)
    for url, cause in (("http://hooks.example/", "scheme"), ("https://a:b@hooks.example/", "malformed")):
        with pytest.raises(AddressRefused) as refused:
            one.post(url, b"{}", {}, seconds=1)
        assert refused.value.cause == cause


def test_bytes_and_headers_arrive_as_they_are(receiver: Receiver, sender: HttpSender) -> None:
    body = '{"a": "naïve ✓"}'.encode()

    answered = sender.post(receiver.url, body, HEADERS, seconds=5)

    assert answered == Answered(status=200, body=b"ok")
    (one,) = receiver.received
    assert (one.path, one.body) == ("/in?token=xyz", body)
    assert HEADERS.items() <= one.headers.items()
    assert one.headers["Host"] == f"hooks.example:{receiver.port}"


@pytest.mark.parametrize("status", [200, 204, 403, 410, 500])
def test_whatever_the_status_it_is_an_answer(status: int, receiver: Receiver, sender: HttpSender) -> None:
    receiver.status, receiver.body = status, b""

    assert sender.post(receiver.url, b"{}", HEADERS, seconds=5).status == status


def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver, sender: HttpSender) -> None:
    receiver.status, receiver.headers = 307, {"Location": f"http://hooks.example:{receiver.port}/inside"}

    assert sender.post(receiver.url, b"{}", HEADERS, seconds=5).status == 307
    assert [one.path for one in receiver.received] == ["/in?token=xyz"]


def test_of_a_long_answer_the_beginning_is_read(receiver: Receiver, sender: HttpSender) -> None:
    receiver.body = b"x" * 50_000_000

    began = time.monotonic()
    answered = sender.post(receiver.url, b"{}", HEADERS, seconds=5)

    assert answered.body == b"x" * MOST_READ
    assert time.monotonic() - began < 4


def test_a_page_is_read_up_to_its_limit_and_with_its_headers(receiver: Receiver, sender: HttpSender) -> None:
    receiver.headers, receiver.body = {"ETag": '"1"'}, b"x" * 5_000

    got = sender.get(receiver.url, {"If-None-Match": '"0"'}, seconds=5, most_bytes=1_500)

    assert (got.status, got.body, got.headers["etag"]) == (200, b"x" * 1_500, '"1"')
    assert receiver.received[0].headers["If-None-Match"] == '"0"'


def test_no_page_of_a_private_address_is_read(receiver: Receiver) -> None:
    guarded = HttpSender(allow_http=True, resolve=receiver.resolve)

    with pytest.raises(AddressRefused) as refused:
        guarded.get(receiver.url, {}, seconds=5, most_bytes=10)

    assert (refused.value.cause, receiver.received) == ("private", [])


def _silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(3)


def _dripping_headers(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(100):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def _continuing(handler: BaseHTTPRequestHandler) -> None:
    for _ in range(100):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        handler.wfile.flush()
        time.sleep(0.05)


def _dripping_body(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


@pytest.mark.parametrize("write", [_silent, _dripping_headers, _continuing, _dripping_body])
def test_a_receiver_that_takes_its_time_has_no_more_than_is_given(
    write: Any, receiver: Receiver, sender: HttpSender
) -> None:
    receiver.write = write
    began = time.monotonic()

    with pytest.raises(SendFailed) as failed:
        sender.post(receiver.url, b"{}", HEADERS, seconds=0.5)

    assert failed.value.cause == "timeout"
    assert time.monotonic() - began < 1.5
    # Nor does a thread of ours wait on for it.
    deadline = time.monotonic() + 1.5
    while any(thread.name == "bounded call" for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(thread.name == "bounded call" for thread in threading.enumerate())


def _no_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"hello\r\n\r\n")
    handler.close_connection = True


def test_what_is_no_http_is_malformed(receiver: Receiver, sender: HttpSender) -> None:
    receiver.write = _no_http

    with pytest.raises(SendFailed) as failed:
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)

    assert failed.value.cause == "malformed"


def test_nobody_there(receiver: Receiver) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sender = HttpSender(allow_http=True, networks=LOOPBACK, resolve=receiver.resolve)

    with pytest.raises(SendFailed) as failed:
        sender.post(f"http://hooks.example:{port}/", b"{}", HEADERS, seconds=5)

    assert failed.value.cause == "unreachable"


def test_a_name_that_nobody_knows(receiver: Receiver) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror

    sender = HttpSender(allow_http=True, resolve=unknown)

    sender.check(receiver.url)
    with pytest.raises(SendFailed) as failed:
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)
    assert failed.value.cause == "unknown_host"


def test_tls_is_spoken_and_plain_words_are_not_taken_for_it(receiver: Receiver) -> None:
    sender = HttpSender(networks=LOOPBACK, resolve=receiver.resolve)

    with pytest.raises(SendFailed) as failed:
        sender.post(receiver.url.replace("http:", "https:"), b"{}", HEADERS, seconds=5)

    assert failed.value.cause == "tls"
    assert receiver.received == []


INSIDE = (
    "127.0.0.1", "127.255.0.3", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",  # noqa: S104
    "192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
    "::1", "::", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::",
    "2001::1", "2001:db8::1", "3fff::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1",
)  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_no_address_inside_is_reached(address: str, receiver: Receiver) -> None:
    sender = HttpSender(allow_http=True, resolve=lambda *_: [address])

    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(AddressRefused) as refused:
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)
    with pytest.raises(AddressRefused):
        sender.check(receiver.url)
    assert refused.value.cause == "private"
    assert receiver.received == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost"]
)
def test_no_spelling_of_the_loopback_reaches_it(host: str, receiver: Receiver) -> None:
    sender = HttpSender(allow_http=True)

    with pytest.raises((AddressRefused, SendFailed)):
        sender.post(f"http://{host}:{receiver.port}/", b"{}", HEADERS, seconds=5)

    assert receiver.received == []


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_an_address_out_in_the_world_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_one_address_inside_among_several_refuses_them_all(receiver: Receiver) -> None:
    sender = HttpSender(allow_http=True, resolve=lambda *_: ["8.8.8.8", "10.0.0.1"])

    with pytest.raises(AddressRefused):
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)


def test_a_name_that_points_inside_after_it_was_looked_at_is_refused_when_it_is_sent_to(receiver: Receiver) -> None:
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    sender = HttpSender(allow_http=True, resolve=lambda *_: next(answers))

    sender.check(receiver.url)
    with pytest.raises(AddressRefused):
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)

    assert receiver.received == []


def test_the_name_is_looked_up_once_for_each_attempt_and_what_was_looked_at_is_connected_to(
    receiver: Receiver,
) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    sender = HttpSender(allow_http=True, networks=LOOPBACK, resolve=resolve)
    sender.post(receiver.url, b"{}", HEADERS, seconds=5)  # only `resolve` knows this host

    assert asked == ["hooks.example"]


@pytest.mark.parametrize(
    "url",
    [
        "https://", "https:///path", "ftp://hooks.example/", "file:///etc/passwd", "gopher://hooks.example/",
        "//hooks.example/", "hooks.example", "https://hooks.example:99999/", "https://hooks.example/ a",
        "https://hooks.example/\r\nX: y", "https://a@hooks.example/", "https://:b@hooks.example/",
        "https://hooks.example/#f", "https://höoks.example/", "https://hooks.example/ü", "https://hooks%2eexample/",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    asked: list[str] = []
    sender = HttpSender(resolve=lambda host, _: asked.append(host) or ["8.8.8.8"])  # type: ignore[func-returns-value]

    with pytest.raises(AddressRefused):
        sender.check(url)

    assert asked == []


def test_plain_http_is_refused_unless_it_is_allowed(receiver: Receiver) -> None:
    with pytest.raises(AddressRefused) as refused:
        HttpSender(networks=LOOPBACK, resolve=receiver.resolve).post(receiver.url, b"{}", HEADERS, seconds=5)

    assert refused.value.cause == "scheme"
    assert receiver.received == []


def test_no_proxy_of_ours_is_asked(receiver: Receiver, sender: HttpSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert sender.post(receiver.url, b"{}", HEADERS, seconds=5).status == 200


def test_a_failure_says_nothing_of_what_was_sent(receiver: Receiver, sender: HttpSender) -> None:
    receiver.write = _no_http

    with pytest.raises(SendFailed) as failed:
        sender.post(receiver.url, b"{}", HEADERS, seconds=5)

    assert str(failed.value) == "malformed"
    assert failed.value.__cause__ is failed.value.__context__ is None
