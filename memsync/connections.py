"""A client's connection to the web server.  No thread waits for its client: not for a request, not for an answer.

A thread gets a request when it is whole, and leaves an answer that the client does not take yet to the event loop
(``memsync.web_worker``).  The exception is a body of more than WHOLE_BYTES, which a thread reads as it comes in: a
caller without a credential is refused before that.
"""

import re
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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

PATIENCE_SECONDS: float = 15.0  # that a client may take; what it sends or reads meanwhile earns it more
BYTES_PER_SECOND: Final = 8 * 1024  # earn a second more, up to PATIENCE_SECONDS from then
LONG_BYTES_PER_SECOND: Final = 64 * 1024  # the same where a thread waits
WHOLE_BYTES: Final = 256 * 1024  # of a request, head and body, that is taken in before a thread gets it
HEAD_BYTES: Final = 64 * 1024  # of a head: gunicorn's own limits are lower for a line, higher for all
LINE_BYTES: Final = 8 * 1024  # of a first line: gunicorn refuses one of half as many
AHEAD_BYTES: Final = 256 * 1024  # of a stream that its reader has not taken: then it is paused

HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*(?=\r\n)", re.IGNORECASE)
_EXPECT: Final = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class HeadTooLong(Exception):
    """The head of a request has more than HEAD_BYTES."""


class Patience:
    """Until when a client is waited for.  A request of n bytes takes PATIENCE_SECONDS + n / rate at the longest."""

    def __init__(self, rate: float = BYTES_PER_SECOND, *, seconds: float | None = None) -> None:
        self.rate = rate
        self.until = time.monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)

    def earn(self, size: int) -> None:
        self.until = min(self.until + size / self.rate, time.monotonic() + PATIENCE_SECONDS)


class ClientSocket(socket.socket):
    """What gunicorn's parser and answer read from and write to, in a thread.

    patience: for a body that the thread reads as it comes in; None for a request that is here whole, of which
    nothing more is waited for.  has_given_up: less came than the request announced, so that where the next one begins
    is not known.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.patience: Patience | None = None
        self.has_given_up = False
        self._unsent: deque[memoryview] = deque()

    @property
    def unsent(self) -> int:
        """Bytes of the answer that wait for the client to take what was sent before."""
        return sum(map(len, self._unsent))

    def recv(self, size: int, flags: int = 0) -> bytes:
        """What the client sent, once it has; nothing, as if it had closed the connection, when it takes too long."""
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
        """What has arrived; nothing when the client has closed.  Raises BlockingIOError when there is nothing yet."""
        return super().recv(WHOLE_BYTES, socket.MSG_DONTWAIT)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send what the client takes now, and keep the rest for ``flush``."""
        if len(data):
            self._unsent.append(memoryview(data))
        self.flush()

    def flush(self) -> int:
        """How many bytes the client took now.  Raises OSError when it is gone."""
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
    """An answer that is being sent.  pieces: what the application still has to give, in order."""

    response: Any
    body: Any
    pieces: Iterator[bytes]


class Connection(TConn):
    """What the event loop knows of a client.

    received: of the next request.  expected: its size, as its head says, or None while the head is not whole.
    late: what to do when ``patience`` is over.
    """

    sock: ClientSocket

    def __init__(self, cfg: Any, accepted: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, ClientSocket(accepted), client, server)
        self.data_ready = True  # to gunicorn: do not wait in a thread for the first byte
        self.peer = client[0] if isinstance(client, tuple) else ""
        self.received = bytearray()
        self.expected: int | None = None
        self.patience = Patience()
        self.answer: PendingAnswer | None = None
        self.has_long_place = False
        self.is_watched = False
        self.late: Callable[[Connection], None] | None = None

    @property
    def is_idle(self) -> bool:
        """Is nothing under way?"""
        return not self.received and not self.sock.unsent and self.answer is None

    @property
    def is_long(self) -> bool:
        return self.expected is not None and self.expected > WHOLE_BYTES

    @property
    def is_ready(self) -> bool:
        """May a thread have the request?"""
        return self.is_long or (self.expected is not None and len(self.received) >= self.expected)

    def add(self, piece: bytes) -> None:
        """More of the request.  Raises HeadTooLong."""
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
        # Who waits to be asked for the body is asked here: a thread, which would, gets the request when it is whole.
        if self.expected is not None and not self.is_ready and (asks := _EXPECT.search(self.received)):
            del self.received[asks.start() : asks.end()]
            self.expected -= asks.end() - asks.start()
            self.sock.sendall(_CONTINUE)

    def hand_over(self) -> None:
        """Give gunicorn's parser what was received, in the thread that serves it."""
        self.init()
        self.parser.unreader.unread(bytes(self.received))
        self.received = bytearray()
        self.sock.patience = Patience(LONG_BYTES_PER_SECOND) if self.is_long else None

    def end_answer(self) -> None:
        """Tell the application that no more of it will be sent."""
        answer, self.answer = self.answer, None
        if answer is not None and hasattr(answer.body, "close"):
            answer.body.close()

    def take_back(self) -> None:
        """What was read beyond the request: the beginning of the next one."""
        self.expected = None
        self.received = bytearray()
        beyond = self.parser.unreader.take_buffered()
        self.patience = Patience(seconds=self.cfg.keepalive)
        if beyond:
            self.add(beyond)


def size_of(received: bytearray) -> int | None:
    """Bytes of the request that begins here, head and body; None while its head is not whole.

    It only says when a thread gets the request: what the request means is for gunicorn's parser to say, which refuses
    more.  What that refuses at sight, or would not read to its end (a body in chunks), has the size that is here.
    """
    end = received.find(HEAD_END)
    if end < 0:
        is_broken = received.count(b"\n") != received.count(b"\r\n")
        is_line_too_long = len(received) > LINE_BYTES and b"\r\n" not in received
        return len(received) if is_broken or is_line_too_long else None
    lengths = _LENGTH.findall(received, 0, end + 2)
    return end + len(HEAD_END) + (int(lengths[0]) if len(lengths) == 1 else 0)
