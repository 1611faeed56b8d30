"""A client's connection to the web server.  Threads do not wait for clients, with one exception.

A thread gets a request once it has arrived completely, and leaves the unsent part of its response to the event loop
(``memsync.web_worker``).  The exception is a request of more than WHOLE_BYTES, whose body a thread reads as it arrives;
a caller without a credential is refused before that.
"""

import re
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:

    class TConn:
        cfg: Any
        client: Any
        parser: Any
        server: Any

        def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None: ...
        def init(self) -> None: ...
        def close(self, graceful: bool = False) -> None: ...

else:
    from gunicorn.workers.gthread import TConn

PATIENCE_SECONDS: float = 15.0  # initial time limit of a client; bytes sent or read extend it
BYTES_PER_SECOND: Final = 8 * 1024  # bytes that extend it by a second, to at most PATIENCE_SECONDS from now
LONG_BYTES_PER_SECOND: Final = 64 * 1024  # the same where a thread waits for the body
WHOLE_BYTES: Final = 256 * 1024  # of head and body; a larger request goes to a thread before its body is complete
HEAD_BYTES: Final = 64 * 1024  # of a head; gunicorn's own limits are lower per line and higher in total
LINE_BYTES: Final = 8 * 1024  # of a request line; gunicorn refuses at half of that
AHEAD_BYTES: Final = 256 * 1024  # unsent bytes of a streamed response at which the stream is paused

HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*(?=\r\n)", re.IGNORECASE)
_EXPECT: Final = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class HeadTooLong(Exception):
    """The head of a request is longer than HEAD_BYTES."""


class Patience:
    """The deadline of a client.  A request of n bytes takes at most PATIENCE_SECONDS + n / rate."""

    def __init__(self, rate: float = BYTES_PER_SECOND, *, seconds: float | None = None) -> None:
        self.rate = rate
        self.until = time.monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)

    def earn(self, size: int) -> None:
        self.until = min(self.until + size / self.rate, time.monotonic() + PATIENCE_SECONDS)


class ClientSocket(socket.socket):
    """The socket that gunicorn's parser and response use in a thread.

    patience: deadline of a body that the thread reads as it arrives; None if the whole request was received.
    has_given_up: the body ended early, so the start of the next request is unknown and the connection is not reused.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.patience: Patience | None = None
        self.has_given_up = False
        self._unsent: deque[memoryview] = deque()

    @property
    def unsent(self) -> int:
        """Bytes of the response that are buffered because the client has not read the earlier ones."""
        return sum(map(len, self._unsent))

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Data from the client.  Empty, as if the connection were closed, if the client exceeds its deadline."""
        left = self.patience.until - time.monotonic() if self.patience else 0
        poll = select.poll()
        poll.register(self, select.POLLIN)
        if left <= 0 or not poll.poll(left * 1000):
            self.has_given_up = True
            return b""
        piece = super().recv(size, flags)
        if self.patience:
            self.patience.earn(len(piece))
        return piece

    def take(self) -> bytes:
        """The bytes that have arrived; empty if the client has closed.  Raises BlockingIOError if none have."""
        return super().recv(WHOLE_BYTES, socket.MSG_DONTWAIT)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send what the client accepts now, and buffer the rest for ``flush``."""
        if len(data):
            self._unsent.append(memoryview(data))
        self.flush()

    def flush(self) -> int:
        """Send buffered bytes without blocking; returns how many were sent.  Raises OSError if the client is gone."""
        sent = 0
        while self._unsent:
            first = self._unsent.popleft()
            try:
                size = self.send(first, socket.MSG_DONTWAIT)
            except BlockingIOError:
                size = 0
            sent += size
            if size < len(first):
                self._unsent.appendleft(first[size:])
                break
        return sent


@dataclass(slots=True)
class PendingAnswer:
    """A response that is being sent.  pieces: the parts that the application has yet to produce, in order."""

    response: Any
    body: Any
    pieces: Iterator[bytes]


class Feed(Protocol):
    """What a held response goes on with.  wake: set by the server, to be called from any thread when there is more."""

    wake: Callable[[], None]

    def take(self) -> bytes | None:
        """The next bytes, empty if there are none yet, and None at the end.  Does not block."""

    def close(self) -> None:
        """The client has left, or the response has ended.  Does not block."""


class Connection(TConn):
    """State of a client's connection in the event loop.

    received: bytes of the next request.  expected: its size according to its head, None until the head is complete.
    late: called when ``patience`` has run out.  feed, held: of a response that is held open.
    """

    sock: ClientSocket

    def __init__(self, cfg: Any, accepted: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, ClientSocket(accepted), client, server)
        self.data_ready = True  # for gunicorn: do not wait in a thread for the first byte
        self.peer = client[0] if isinstance(client, tuple) else ""
        self.received = bytearray()
        self.expected: int | None = None
        self.patience = Patience()
        self.answer: PendingAnswer | None = None
        self.feed: Feed | None = None
        self.held: Any = None
        self.has_long_place = False
        self.is_watched = False
        self.late: Callable[[Connection], None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request or response is in progress."""
        return not self.received and not self.sock.unsent and self.answer is None

    @property
    def is_long(self) -> bool:
        return self.expected is not None and self.expected > WHOLE_BYTES

    @property
    def is_ready(self) -> bool:
        """Whether the request can be given to a thread."""
        return self.is_long or (self.expected is not None and len(self.received) >= self.expected)

    def add(self, piece: bytes) -> None:
        """Append received bytes.  Raises HeadTooLong."""
        if not self.received:
            self.patience = Patience()
        self.received += piece
        self.patience.earn(len(piece))
        if self.expected is None:
            self._look_at_head()

    def _look_at_head(self) -> None:
        self.expected = size_of(self.received)
        if self.expected is None and len(self.received) > HEAD_BYTES:
            raise HeadTooLong
        # Answer "Expect: 100-continue" here: a thread would do it, but gets the request only when it is complete.
        if self.expected is not None and not self.is_ready and (asks := _EXPECT.search(self.received)):
            del self.received[asks.start() : asks.end()]
            self.expected -= asks.end() - asks.start()
            self.sock.sendall(_CONTINUE)

    def hand_over(self) -> None:
        """Pass the received bytes to gunicorn's parser.  Called in the thread that serves the request."""
        self.init()
        self.parser.unreader.unread(bytes(self.received))
        self.received = bytearray()
        self.sock.patience = Patience(LONG_BYTES_PER_SECOND) if self.is_long else None

    def end_answer(self) -> None:
        """Close the response body, so that the application stops producing it."""
        answer, self.answer = self.answer, None
        if answer is not None and hasattr(answer.body, "close"):
            answer.body.close()

    def end_feed(self) -> None:
        feed, self.feed, self.held = self.feed, None, None
        if feed is not None:
            feed.close()

    def take_back(self) -> None:
        """Take over the bytes read beyond the request: they begin the next one."""
        self.expected = None
        self.received = bytearray()
        beyond = self.parser.unreader.take_buffered()
        self.patience = Patience(seconds=self.cfg.keepalive)
        if beyond:
            self.add(beyond)


def size_of(received: bytearray) -> int | None:
    """Size in bytes of the request that begins here, head and body; None until its head is complete.

    It only decides when a thread gets the request; gunicorn's parser interprets it and refuses more.  Requests that the
    parser refuses immediately, or reads in chunks, count with the bytes received so far.
    """
    end = received.find(HEAD_END)
    if end < 0:
        is_broken = received.count(b"\n") != received.count(b"\r\n")
        is_line_too_long = len(received) > LINE_BYTES and b"\r\n" not in received
        return len(received) if is_broken or is_line_too_long else None
    lengths = _LENGTH.findall(received, 0, end + 2)
    return end + len(HEAD_END) + (int(lengths[0]) if len(lengths) == 1 else 0)
