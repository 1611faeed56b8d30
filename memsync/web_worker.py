"""gunicorn worker whose event loop waits for clients, and whose error responses quote nothing.

gthread gives a connection to a thread once it is accepted, and the thread waits for its client: as many slow clients as
threads block it.  Here the loop receives requests and gives them to threads when they are complete
(``memsync.connections``).  It also sends the rest of responses to slow clients, and closes connections, for which
gthread's loop waits two seconds each.  A stream is paused while its client is behind.

The application may also let the loop hold a response open, with a feed of bytes that arrive later (``HOLD``).

gunicorn answers malformed requests itself, so they never reach Django.  Its own response and log line repeat the header
or request line that it could not parse, which may contain a user's text or key.
"""

import errno
import logging
import math
import selectors
import socket
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from gunicorn import util  # type: ignore[import-untyped]  # it ships no types
from gunicorn.http import wsgi  # type: ignore[import-untyped]

from memsync.connections import AHEAD_BYTES, WHOLE_BYTES, Connection, Feed, HeadTooLong, Patience, PendingAnswer
from memsync.refusals import FAILED, RequestSlow, TooManyLong, answer_to, refusal, refuse_repeated

if TYPE_CHECKING:

    class ThreadWorker:
        alive: bool
        cfg: Any
        max_requests: int
        method_queue: Any
        nr: int
        nr_conns: int
        poller: selectors.DefaultSelector
        tpool: Any
        worker_connections: int
        wsgi: Callable[..., Any]

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def enqueue_req(self, conn: Connection) -> None: ...
        def handle(self, conn: Connection) -> object: ...

else:
    from gunicorn.workers.gthread import ThreadWorker

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.25  # seconds between checks for late clients
TELL_SECONDS: Final = 60.0  # seconds between log lines about too many connections
LINGER_SECONDS: Final = 2.0  # for a client to read the last response before the connection is closed
QUEUE_SECONDS: Final = 15.0  # that a large request waits for a thread
UNSENT_BYTES: Final = 64 * 1024 * 1024  # per process; above it, the clients that have read for longest are disconnected
PAUSED: Final = object()  # returned by ``handle`` for a stream whose client is behind
HELD: Final = object()  # the same for a response that goes on with what its feed receives
# In the environment of a request: a function that takes a ``Feed``.  If the answer is 200, the response goes on with
# the feed's bytes after its body, without a thread.
HOLD: Final = "memsync.hold"

NO_FILES: Final = {errno.EMFILE, errno.ENFILE}
GONE: Final = {errno.EAGAIN, errno.ECONNABORTED, errno.EPROTO}


class QuietWorker(ThreadWorker):
    """A worker whose connections are each in ``waiting``, used only by the event loop, or with one thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}  # in order of waiting time, longest first
        self.long_places: int = max(1, self.cfg.threads // 2)
        self.long_queue: deque[Connection] = deque()
        self.looks_again_at = 0.0
        self.tells_again_at = 0.0

    # -- receiving requests -------------------------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno in NO_FILES:
                self._make_room()
            elif error.errno not in GONE:
                raise
            return
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        conn = Connection(self.cfg, accepted, client, listener.getsockname())
        self._watch(conn, selectors.EVENT_READ, self._take, late=self._give_up)
        self._take(conn)

    def _take(self, conn: Connection) -> None:
        """Receive what the client has sent."""
        try:
            piece = conn.sock.take()
            if piece:
                conn.add(piece)
        except BlockingIOError:
            return
        except HeadTooLong as error:
            self._refuse(conn, error)
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(conn)
        elif conn.is_ready:
            self._start(conn)

    def _start(self, conn: Connection) -> None:
        """Give the request to a thread; a large one waits until fewer than half of the threads read large ones."""
        self._unwatch(conn)
        if not conn.is_long:
            self.enqueue_req(conn)
        elif self.long_places:
            self.long_places -= 1
            conn.has_long_place = True
            self.enqueue_req(conn)
        else:
            conn.patience = Patience(seconds=QUEUE_SECONDS)
            self.long_queue.append(conn)
            self._watch(conn, 0, self._drop, late=self._turn_away)

    def _give_up(self, conn: Connection) -> None:
        """Disconnect a client that is late; it gets an error response only if its request has begun."""
        if conn.received:
            self._refuse(conn, RequestSlow())
        else:
            self._drop(conn)

    def _turn_away(self, conn: Connection) -> None:
        self._refuse(conn, TooManyLong())

    def _refuse(self, conn: Connection, error: Exception) -> None:
        self._unwatch(conn)
        self.handle_error(None, conn.sock, conn.client, error)
        self._send(conn, self._linger)

    # -- sending responses --------------------------------------------------------------------------------------------

    def finish_request(self, conn: Connection, future: Future[object]) -> None:
        """Continue with a connection after its thread has finished; called by gunicorn in the loop."""
        result = False if future.cancelled() or future.exception() else future.result()
        if conn.has_long_place:
            conn.has_long_place = False
            self.long_places += 1
            if self.long_queue:
                self._start(self.long_queue.popleft())
        if result is HELD:
            self._send(conn, self._hold)
        else:
            self._send(conn, self.enqueue_req if result is PAUSED else self._await_next if result else self._linger)

    def _send(self, conn: Connection, then: Callable[[Connection], None]) -> None:
        """Send what the client accepts now, the rest later, and then call ``then``."""
        try:
            conn.patience.earn(conn.sock.flush())
        except OSError:
            self._drop(conn)
            return
        if not conn.sock.unsent:
            self._unwatch(conn)
            then(conn)
        elif conn not in self.waiting:
            conn.patience = Patience()
            self._watch(conn, selectors.EVENT_WRITE, partial(self._send, then=then), late=self._drop)

    def _await_next(self, conn: Connection) -> None:
        """Wait for the next request on a keep-alive connection."""
        self._watch(conn, selectors.EVENT_READ, self._take, late=self._give_up)
        try:
            conn.take_back()
        except HeadTooLong as error:
            self._refuse(conn, error)
            return
        except OSError:
            self._drop(conn)
            return
        if conn.is_ready:
            self._start(conn)

    def _linger(self, conn: Connection) -> None:
        """Close, once the client has had time to read what was sent (RFC 9112, section 9.6)."""
        conn.patience = Patience(seconds=LINGER_SECONDS)
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(conn)
        else:
            self._watch(conn, selectors.EVENT_READ, self._ignore, late=self._drop)

    def _ignore(self, conn: Connection) -> None:
        """Discard what a refused client still sends: an immediate close could keep it from reading the response."""
        try:
            if conn.sock.take():
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(conn)

    # -- responses that are held open ---------------------------------------------------------------------------------

    def _hold(self, conn: Connection) -> None:
        """Send what the feed has, and then wait for more, or for the client to leave."""
        assert conn.feed is not None  # noqa: S101  (HELD says so)
        piece = conn.feed.take() if self.alive else None
        try:
            if piece:
                conn.held.write(piece)
            elif piece is None:
                conn.held.close()
        except OSError:
            self._drop(conn)
            return
        if piece is None:
            conn.end_feed()
            self._send(conn, self._linger)
        elif piece:
            self._send(conn, self._hold)
        else:
            conn.patience = Patience(seconds=math.inf)
            self._watch(conn, selectors.EVENT_READ, self._ignore, late=self._drop)

    def _wake(self, conn: Connection) -> None:
        """Go on with a held response, unless its client has yet to read what came before: ``_send`` goes on then."""
        if conn.feed is not None and conn in self.waiting and not conn.sock.unsent:
            self._unwatch(conn)
            self._hold(conn)

    # -- waiting connections ------------------------------------------------------------------------------------------

    def _watch(
        self,
        conn: Connection,
        events: int,
        then: Callable[[Connection], None],
        *,
        late: Callable[[Connection], None],
    ) -> None:
        """Call ``then`` when the client can be read from or written to, and ``late`` when its patience has run out."""
        conn.late = late
        conn.is_watched = bool(events)
        self.waiting[conn] = None
        if events:
            # gunicorn's loop calls the data that is registered with the socket.
            self.poller.register(conn.sock, events, lambda _: then(conn))

    def _unwatch(self, conn: Connection) -> None:
        self.waiting.pop(conn, None)
        if conn.is_watched:
            conn.is_watched = False
            self.poller.unregister(conn.sock)

    def _drop(self, conn: Connection) -> None:
        self._unwatch(conn)
        if conn in self.long_queue:
            self.long_queue.remove(conn)
        conn.end_feed()
        if conn.answer is not None:
            self.tpool.submit(conn.end_answer)  # in a thread, because it may query the database
        conn.close()
        self.nr_conns -= 1

    def _make_room(self) -> None:
        """Close the longest-waiting connection of the address with the most connections."""
        crowds = Counter(conn.peer for conn in self.waiting)
        if crowds:
            (peer, count), *_ = crowds.most_common(1)
            self._drop(next(conn for conn in self.waiting if conn.peer == peer))
            if time.monotonic() >= self.tells_again_at:
                self.tells_again_at = time.monotonic() + TELL_SECONDS
                logger.warning("connections are closed to make room for others", extra={"count": count})

    def murder_pending(self) -> None:
        """Hook that gunicorn calls after each turn of its loop: handle late clients and limit unsent bytes."""
        now = time.monotonic()
        if now < self.looks_again_at:
            return
        self.looks_again_at = now + LOOK_SECONDS
        for conn in [conn for conn in self.waiting if conn.patience.until <= now]:
            if conn in self.waiting and conn.late:
                conn.late(conn)
        readers = [conn for conn in self.waiting if conn.sock.unsent]
        unsent = sum(conn.sock.unsent for conn in readers)
        for conn in readers:
            if unsent <= UNSENT_BYTES:
                break
            unsent -= conn.sock.unsent
            self._drop(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Hook that gunicorn calls when a worker stops: close the connections that are still open."""
        for conn in list(self.waiting) if force else ():
            self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """Hook that gunicorn calls first when a worker stops: idle connections wait no longer than the deadline, and
        held responses end."""
        for conn in list(self.waiting):
            if conn.feed is not None:
                self._wake(conn)
            elif conn.is_idle:
                conn.patience.until = min(conn.patience.until, deadline)

    # -- in threads ---------------------------------------------------------------------------------------------------

    def handle(self, conn: Connection) -> object:
        if conn.answer is None:
            conn.hand_over()
            return super().handle(conn)
        try:
            return self._keepalive_after(conn, self._answer(conn, conn.answer))
        except OSError:
            logger.debug("nobody reads the rest of the answer")
        except Exception:
            logger.exception("an answer ended too early")
        return False

    def handle_request(self, req: Any, conn: Connection) -> object:
        """gunicorn's method without its access log, and with a pause if the client is slow to read."""
        refuse_repeated(req.headers)
        response, environ = wsgi.create(req, conn.sock, conn.client, conn.server, self.cfg)
        environ["wsgi.multithread"] = True
        environ[HOLD] = partial(self._take_feed, conn)
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            logger.info("this web process has answered as many requests as it may; another takes its place")
            self.alive = False
        if not self.alive:
            response.force_close()
        body = self.wsgi(environ, response.start_response)
        conn.answer = PendingAnswer(response, body, iter(body))
        try:
            return self._answer(conn, conn.answer)
        except OSError:
            raise
        except (Exception, SystemExit):
            if not response.headers_sent:
                raise
            logger.exception("an answer ended too early")
            return False

    def _answer(self, conn: Connection, answer: PendingAnswer) -> object:
        """Write the response.  Returns whether the connection can be reused, or PAUSED if the client is behind."""
        is_paused = False
        try:
            for piece in answer.pieces:
                answer.response.write(piece)
                if is_paused := conn.sock.unsent > AHEAD_BYTES:
                    return PAUSED
            if conn.feed is not None and answer.response.status_code == HTTPStatus.OK:
                conn.held = answer.response
                return HELD
            conn.end_feed()  # of an answer that became an error
            answer.response.close()
        finally:
            if not is_paused:
                conn.end_answer()
        return not answer.response.should_close()

    def _take_feed(self, conn: Connection, feed: Feed) -> None:
        feed.wake = lambda: self.method_queue.defer(self._wake, conn)
        conn.feed = feed

    def _keepalive_after(self, conn: Connection, result: object) -> object:
        if result is not True:
            return result
        conn.sock.patience = None  # do not wait for a body that the application did not read
        return bool(conn.parser.finish_body(max_bytes=WHOLE_BYTES)) and not conn.sock.has_given_up

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        status, reason, message = answer_to(exc)
        request_id = uuid.uuid4().hex
        logger.warning(
            "a request did not reach the application",
            exc_info=exc if status == FAILED[0] else None,
            extra={"status": status, "error": type(exc).__name__, "request_id": request_id},
        )
        try:
            util.write_nonblock(client, refusal(status, reason, message, request_id=request_id))
        except OSError:
            logger.debug("nobody waited for the refusal")
