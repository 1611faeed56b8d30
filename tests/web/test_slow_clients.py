"""Clients that send slowly, read slowly, or do neither: each test tries to take the web server's threads with them.

A web process of two threads behind a real socket.  Where others are answered, the slow ones are seen to be still there:
the server has not got rid of them, it does without a thread for them.
"""

import contextlib
import signal
import socket
import time
from pathlib import Path

import pytest

from memsync.connections import BYTES_PER_SECOND, HEAD_BYTES, PATIENCE_SECONDS, WHOLE_BYTES, Patience, size_of
from memsync.web_worker import UNSENT_BYTES
from tests.web import small_app
from tests.web.served_app import (
    ESTABLISHED,
    GET,
    MORE,
    SAYS_GET,
    THREADS,
    Server,
    body_of,
    head_of,
    is_open,
    post,
    rest_of,
    until,
)

# -- no thread waits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"G",
        b"GET /x HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        post(1000, b"x"),
        post(WHOLE_BYTES - 1000, b"x"),
    ],
    ids=["nothing", "a byte", "half a head", "a byte of a body", "a byte of a larger body"],
)
def test_requests_that_do_not_end_hold_no_thread(patient: Server, begun: bytes) -> None:
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(begun)) for _ in range(MORE)]

        said = patient.ask()

        assert said == SAYS_GET
        assert all(is_open(connection) for connection in connections)


def test_nor_do_those_that_go_on_a_byte_at_a_time(patient: Server) -> None:
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(post(1000))) for _ in range(MORE)]

        for _ in range(20):
            for connection in connections:
                connection.sendall(b"x")
            assert patient.ask() == SAYS_GET

        assert all(is_open(connection) for connection in connections)


def test_nor_do_those_that_wait_to_be_asked_for_the_body(patient: Server) -> None:
    begun = post(5, more=b"Expect: 100-continue\r\n")
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(begun)) for _ in range(MORE)]
        asked = [head_of(connection) for connection in connections]

        said = patient.ask()

        assert said == SAYS_GET
        assert asked == [b"HTTP/1.1 100 Continue\r\n\r\n"] * MORE
        assert all(is_open(connection) for connection in connections)
        connections[0].sendall(b"hello")
        assert body_of(connections[0]) == b"POST 5 532"


def test_a_body_in_chunks_is_not_waited_for(patient: Server) -> None:
    begun = b"POST /unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(begun)) for _ in range(MORE)]

        said = patient.ask()

        assert said == SAYS_GET
        assert [body_of(connection) for connection in connections] == [b"not read"] * MORE


def test_nor_is_it_where_somebody_reads_it(patient: Server) -> None:
    begun = b"POST /all HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(begun)) for _ in range(MORE)]

        said = patient.ask()

        assert said == SAYS_GET
        assert [rest_of(connection) for connection in connections] == [b""] * MORE


def test_what_nobody_reads_of_a_long_body_is_not_waited_for(patient: Server) -> None:
    with patient.connect(post(WHOLE_BYTES + 1, b"x", path=b"/unread")) as connection:
        said = body_of(connection)

        assert said == b"not read"
        assert rest_of(connection) == b""


def test_long_bodies_take_no_more_than_half_of_the_threads(patient: Server) -> None:
    begun = post(WHOLE_BYTES + 1, b"x")
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(begun)) for _ in range(MORE)]

        said = patient.ask()

        assert said == SAYS_GET
        assert all(is_open(connection) for connection in connections)
        # Who waits for a place is turned away in time, with when to come again; one is still read.
        until(lambda: len([one for one in connections if is_open(one)]) == THREADS // 2)
        answers = [rest_of(one) for one in connections if not is_open(one)]
        assert all(b" 503 " in answer and b"Retry-After: 5" in answer for answer in answers), answers


def test_a_place_for_long_bodies_is_given_back(patient: Server) -> None:
    body = b"x" * (WHOLE_BYTES + 1)
    with contextlib.ExitStack() as some:
        first, second = (some.enter_context(patient.connect(post(len(body), b"x"))) for _ in range(2))

        for connection in (first, second):
            connection.sendall(body[1:])

        assert {body_of(first), body_of(second)} == {b"POST %d %d" % (len(body), sum(body))}


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
def test_readers_that_do_not_read_hold_no_thread(patient: Server, path: bytes) -> None:
    request = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(request, window=4096)) for _ in range(MORE)]
        for connection in connections:
            assert head_of(connection).startswith(b"HTTP/1.1 200 ")

        assert patient.ask() == SAYS_GET
        # Nothing was cut off: who reads after all, is given all of it.
        assert len(rest_after(connections[0], small_app.LARGE)) >= small_app.LARGE


def rest_after(connection: socket.socket, size: int) -> bytes:
    said = bytearray()
    while len(said) < size and (piece := connection.recv(1 << 20)):
        said += piece
    return bytes(said)


def test_a_stream_is_paused_while_its_reader_is_behind(patient: Server) -> None:
    with patient.connect(b"GET /stream?paused HTTP/1.1\r\nHost: x\r\n\r\n", window=4096) as connection:
        assert head_of(connection).startswith(b"HTTP/1.1 200 ")

        until(lambda: patient.given(b"paused") == patient.given(b"paused") != (0, False))
        given, _ = patient.given(b"paused")

        assert 0 < given < small_app.LARGE * 3 // 4


def test_who_goes_away_in_the_middle_of_a_stream_ends_it(patient: Server) -> None:
    with patient.connect(b"GET /stream?left HTTP/1.1\r\nHost: x\r\n\r\n", window=4096) as connection:
        assert head_of(connection).startswith(b"HTTP/1.1 200 ")

    until(lambda: patient.given(b"left")[1])

    assert patient.given(b"left")[0] < small_app.LARGE


def test_nobody_waits_for_those_who_leave_a_closed_connection_open(patient: Server) -> None:
    """gunicorn's own loop stands still for two seconds for each of them, which is two minutes here."""
    request = b"GET /x HTTP/1.0\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(patient.connect(request)) for _ in range(MORE)]
        assert [body_of(connection) for connection in connections] == [SAYS_GET] * MORE

        said = patient.ask()

        assert said == SAYS_GET


# -- but not for ever --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [b"GET /x HTTP/1.1\r\nX-Slow: ", post(1000, b"x")], ids=["head", "body"])
def test_a_request_that_does_not_come_is_refused(strict: Server, begun: bytes) -> None:
    with strict.connect(begun) as connection:
        answer = rest_of(connection)

    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"The request took too long to arrive." in answer
    assert b"X-Slow" not in answer


def test_sending_a_byte_now_and_then_does_not_put_it_off(strict: Server) -> None:
    with strict.connect(post(1000)) as connection:
        until(lambda: not drip(connection), seconds=30)

        assert rest_of(connection).startswith(b"HTTP/1.1 408 ")


def drip(connection: socket.socket) -> bool:
    """Whether it is still open after one more byte."""
    connection.sendall(b"x")
    return is_open(connection)


def test_who_says_nothing_is_closed_without_a_word(strict: Server) -> None:
    with strict.connect() as connection:
        assert rest_of(connection) == b""


def test_a_long_body_that_does_not_come_ends_as_a_short_one(strict: Server) -> None:
    """The application is told of the end; the connection is not used again."""
    with strict.connect(post(WHOLE_BYTES + 1, b"xy")) as connection:
        said = body_of(connection)
        connection.sendall(GET)  # which is still of the body
        more = rest_of(connection)

    assert (said, more) == (b"POST 2 %d" % sum(b"xy"), b"")


def test_what_readers_leave_unread_has_a_limit_for_all_together(patient: Server) -> None:
    """Beyond it the client that has read for longest is cut off, and no other client is answered less for it."""
    request = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as slow:
        count = UNSENT_BYTES // small_app.LARGE + 8
        connections = [slow.enter_context(patient.connect(request, window=4096)) for _ in range(count)]
        for connection in connections:
            assert head_of(connection).startswith(b"HTTP/1.1 200 ")

        until(lambda: patient.state(connections[0]) != ESTABLISHED)

        assert patient.state(connections[-1]) == ESTABLISHED
        assert patient.ask() == SAYS_GET


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
def test_a_reader_that_does_not_read_is_cut_off(strict: Server, path: bytes) -> None:
    with strict.connect(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path, window=4096) as connection:
        assert head_of(connection).startswith(b"HTTP/1.1 200 ")

        until(lambda: strict.state(connection) != ESTABLISHED)

        assert len(rest_of(connection)) < small_app.LARGE


def test_when_all_connections_are_taken_the_longest_idle_makes_room(patient: Server) -> None:
    with contextlib.ExitStack() as idle:
        connections = [idle.enter_context(patient.connect()) for _ in range(small_app.worker_connections + 5)]

        said = patient.ask()

        assert said == SAYS_GET
        assert not is_open(connections[0])
        assert is_open(connections[-1])


def test_room_is_made_by_the_address_with_the_most_connections(patient: Server) -> None:
    with patient.connect() as first, contextlib.ExitStack() as idle:
        for _ in range(small_app.worker_connections):
            idle.enter_context(patient.connect(source="127.0.0.2"))

        assert patient.ask() == SAYS_GET
        assert is_open(first)


def test_a_stopping_worker_answers_what_is_under_way_and_waits_for_nobody_else(tmp_path: Path) -> None:
    server = Server(120, tmp_path / "log")
    try:
        with server.connect() as idle, server.connect(post(5, b"he")) as busy:
            assert server.ask() == SAYS_GET
            server.process.send_signal(signal.SIGTERM)
            assert rest_of(idle) == b""

            busy.sendall(b"llo")

            assert rest_of(busy).endswith(b"POST 5 532")
    finally:
        code = server.stop()
    assert code == 0


# -- and everybody else notices nothing --------------------------------------------------------------------------------


def test_requests_sent_together_are_answered_in_order(patient: Server) -> None:
    with patient.connect(GET + post(5, b"hello") + GET) as connection:
        said = [body_of(connection) for _ in range(3)]

    assert said == [SAYS_GET, b"POST 5 532", SAYS_GET]


def test_a_request_may_come_in_any_pieces(patient: Server) -> None:
    request = post(5, b"hello", more=b"X-More: yes\r\n")
    with patient.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        for place in range(len(request)):
            connection.sendall(request[place : place + 1])

        assert body_of(connection) == b"POST 5 532"


@pytest.mark.parametrize("size", [0, 1, WHOLE_BYTES - 200, WHOLE_BYTES, WHOLE_BYTES + 1, 20 * WHOLE_BYTES])
@pytest.mark.parametrize("more", [b"", b"Expect: 100-continue\r\n"], ids=["", "expects"])
def test_bodies_of_any_length_come_whole(patient: Server, size: int, more: bytes) -> None:
    body = b"y" * size
    with patient.connect(post(size, body, more=more) + GET) as connection:
        answer = b""
        while not answer.endswith(SAYS_GET):
            answer += connection.recv(65_536)

    assert b"POST %d %d" % (size, sum(body)) in answer


def test_a_body_that_nobody_reads_does_not_become_the_next_request(patient: Server) -> None:
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    with patient.connect(post(len(hidden), hidden, path=b"/unread") + GET) as connection:
        said = [body_of(connection), body_of(connection)]

    assert said == [b"not read", SAYS_GET]


def test_who_sends_a_long_body_that_nobody_reads_still_sees_the_answer(patient: Server) -> None:
    body = b"x" * (20 * WHOLE_BYTES)
    with patient.connect(post(len(body), body, path=b"/unread")) as connection:
        answer = rest_of(connection)

    assert answer.endswith(b"not read")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /x HTTP/1.1\nHost: x\n\n", b"400"),
        (b"GET /" + b"x" * 9_000, b"414"),
        (b"GET /x HTTP/1.1\r\n" + b"X-Many: x\r\n" * (HEAD_BYTES // 8), b"431"),
        (post(5, b"hello", more=b"Content-Length: 6\r\n"), b"400"),
        (b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\n", b"400"),
        (post(5, b"0\r\n\r\n", more=b"Transfer-Encoding: chunked\r\n"), b"400"),
        (b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", b"501"),
        (b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", b"400"),
    ],
    ids=["bare LF", "long address", "long head", "two lengths", "odd length", "not HTTP", "length and chunks",
         "odd encoding", "blank before colon"],
)  # fmt: skip
def test_what_is_no_request_is_refused_at_once(patient: Server, request_: bytes, status: bytes) -> None:
    with patient.connect(request_) as connection:
        assert rest_of(connection).startswith(b"HTTP/1.1 " + status)


def test_header_with_underscores_is_dropped(patient: Server) -> None:
    """So that it does not stand for a header that a proxy before this looked at."""
    more = b"X_Tenant_ID: other\r\nX-End-User-ID: alice\r\n"
    with patient.connect(post(0, path=b"/headers", more=more)) as connection:
        assert body_of(connection) == b"HTTP_X_END_USER_ID=alice"


@pytest.mark.parametrize("name", [b"X-End-User-ID", b"x-api-key", b"Authorization", b"X-Project-ID", b"X-Environment"])
def test_a_header_that_says_for_whom_is_refused_if_it_is_given_twice(patient: Server, name: bytes) -> None:
    """A proxy that adds one would otherwise have memories stored for a third person, "alice,bob"."""
    more = b"%s: alice\r\n%s: bob\r\n" % (name, name)
    with patient.connect(post(0, path=b"/headers", more=more)) as connection:
        assert rest_of(connection).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("received", "size"),
    [
        (b"", None),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", None),
        (GET, len(GET)),
        (GET + b"more", len(GET)),
        (post(10), len(post(10)) + 10),
        (b"POST / HTTP/1.1\r\ncontent-LENGTH:\t7 \r\n\r\n", 46),
        (post(10, more=b"Content-Length: 9\r\n"), len(post(10, more=b"Content-Length: 9\r\n"))),
        (b"GET / HTTP/1.1\r\nX: \r\n\r\nContent-Length: 5\r\n", 23),
        (b"GET / HTTP/1.1\nHost: x\r\n", 24),
    ],
)
def test_size_of_a_request(received: bytes, size: int | None) -> None:
    assert size_of(bytearray(received)) == size


def test_patience_grows_with_what_is_sent_and_never_beyond_what_it_was() -> None:
    begun = time.monotonic()
    patience = Patience(seconds=1)

    patience.earn(2 * BYTES_PER_SECOND)
    earned = patience.until - begun
    patience.earn(1_000_000 * BYTES_PER_SECOND)
    most = patience.until - time.monotonic()

    assert 3 <= earned < PATIENCE_SECONDS
    assert most <= PATIENCE_SECONDS
