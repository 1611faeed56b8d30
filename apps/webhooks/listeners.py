"""Open event streams of a process, and the one thread that reads for all of them.

A listener waits without a thread and without a database connection: the web server holds its socket
(``memsync.web_worker``).  The thread reads each listening tenant's log twice a second and leaves every listener what is
new for it.  It reads no further for a listener that has not taken what it was left, so memory does not grow with what a
slow client has yet to read; a client that reads nothing is disconnected by the web server.
"""

import logging
import threading
import time
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connections

from apps.apikeys.selectors import Authenticated, authenticate_again
from apps.core.errors import Forbidden, LimitReached, Unauthenticated
from apps.crypto.services import DecryptError
from apps.memories.spaces import find_end_user
from apps.projects.scope import Scope
from apps.webhooks import event_log
from apps.webhooks.event_log import NOBODY, EventFilter, LoggedEvent, LogState

logger = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.5  # between two looks at the log
SOON_SECONDS: Final = 0.1  # the same while a listener is catching up
CHECK_SECONDS: Final = 3.0  # between two looks at the keys
HEARTBEAT_SECONDS: Final = 15.0  # of silence
RETRY_MS: Final = 3_000  # after which a client connects again
BATCH: Final = 500  # events that a listener is left at a time
RESET: Final = b"event: reset\ndata: {}\n\n"  # what followed its position is not kept any more

Clock = Callable[[], datetime]


class TooManyListeners(LimitReached):
    """This tenant has as many open event streams as it may (EVENT_LISTENERS): close some, or share one."""

    code = "TOO_MANY_LISTENERS"


class Listener:
    """One open stream.  The thread leaves bytes, the web server takes them.

    position: up to which the log was read for it.  wake: called when there is something to take.
    """

    def __init__(
        self, scope: Scope, key: Authenticated, only: EventFilter, *, position: int, end_user: str | None
    ) -> None:
        self.scope = scope
        self.key = key
        self.only = only
        self.position = position
        self.end_user = end_user
        self.wake: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None
        self._left: deque[bytes] = deque([b"retry: %d\nid: %d\n\n" % (RETRY_MS, position)])
        self._is_over = False
        self._left_at = time.monotonic()

    @property
    def is_waiting(self) -> bool:
        """Whether it has taken all that it was left, and goes on."""
        return not self._left and not self._is_over

    def take(self) -> bytes | None:
        """What is left for it, maybe nothing; None at the end of the stream."""
        try:
            return self._left.popleft()
        except IndexError:
            return None if self._is_over else b""

    def close(self) -> None:
        """Nobody takes any more."""
        self.on_close()

    def end(self, last: bytes = b"") -> None:
        """End the stream, with these bytes."""
        self.leave(last)
        self._is_over = True  # after that: or the web server could see the end first
        self.wake()

    def leave(self, frames: bytes) -> None:
        if frames:
            self._left.append(frames)
            self._left_at = time.monotonic()
            self.wake()

    def leave_heartbeat(self) -> None:
        """After a silence: shows that the connection works, and the position up to which there was nothing for it."""
        if self.is_waiting and time.monotonic() - self._left_at >= HEARTBEAT_SECONDS:
            self.leave(b": nothing new\nid: %d\n\n" % self.position)

    def know_end_user(self) -> None:
        """Look for the end user's space if there was none so far; the stream ends if it cannot be trusted.

        After new events were read, one of which may be their first.
        """
        if self.end_user is None or self.only.space_id != NOBODY:
            return
        try:
            space = find_end_user(self.scope, self.end_user)
        except DecryptError:
            self.end()
        else:
            self.only = replace(self.only, space_id=space.id if space else NOBODY)


class Hub:
    """The listeners of this process.  Its thread runs while there are any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._listeners: dict[Listener, None] = {}
        self._thread: threading.Thread | None = None
        self._checks_at = 0.0

    def add(self, listener: Listener) -> None:
        """Raises TooManyListeners."""
        tenant_id = listener.scope.tenant_id
        with self._lock:
            if sum(one.scope.tenant_id == tenant_id for one in self._listeners) >= settings.EVENT_LISTENERS:
                raise TooManyListeners(retry_after=RETRY_MS / 1000)
            self._listeners[listener] = None
            listener.on_close = lambda: self._remove(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="listeners", daemon=True)
                self._thread.start()

    def turn(self) -> bool:
        """Look at the keys, if it is time, and leave every listener what is new; returns whether there is more."""
        tenants: dict[int, list[Listener]] = defaultdict(list)
        with self._lock:
            for one in self._listeners:
                tenants[one.scope.tenant_id].append(one)
        checks, has_more = time.monotonic() >= self._checks_at, False
        if checks:
            self._checks_at = time.monotonic() + CHECK_SECONDS
        for tenant_id, listeners in tenants.items():
            try:
                if checks:
                    self._check(listeners)
                has_more |= serve(listeners, event_log.read_state(listeners[0].scope))
            except Exception as error:  # noqa: BLE001  (whatever it is: the next turn tries again, and others do not wait)
                logger.warning("listeners were not served", extra={"tenant": tenant_id, "error": type(error).__name__})
                for connection in connections.all(initialized_only=True):
                    connection.close_if_unusable_or_obsolete()
        return has_more

    def _check(self, listeners: Sequence[Listener]) -> None:
        """End the streams whose key may no longer read them, and keep the log recorded for the others."""
        now = self._clock()
        by_key: dict[Authenticated, list[Listener]] = defaultdict(list)
        for one in listeners:
            by_key[one.key].append(one)
        for key, group in by_key.items():
            try:
                again = authenticate_again(key.scope, now=now)
                is_same = key in (again, again.named(key.environment))  # as it is, or as the request limited it
            except (Unauthenticated, Forbidden):
                is_same = False
            if not is_same:
                for one in group:
                    one.end()
        event_log.keep_recording(listeners[0].scope, now=now)

    def _remove(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.pop(listener, None)

    def _run(self) -> None:
        try:
            while self._has_listeners():
                time.sleep(SOON_SECONDS if self.turn() else TICK_SECONDS)
        finally:
            connections.close_all()

    def _has_listeners(self) -> bool:
        with self._lock:
            if not self._listeners:
                self._thread = None
            return bool(self._listeners)


def serve_first(listener: Listener, state: LogState) -> None:
    """Leave a new listener what it has missed: in its own request, so that even short connections get on."""
    listener.know_end_user()
    page = event_log.read_page(listener.scope, state, after=listener.position, limit=BATCH, only=listener.only)
    listener.position = page.position
    listener.leave(b"".join(event.frame for event in page.events))


def serve(listeners: Iterable[Listener], state: LogState) -> bool:
    """Leave listeners of one tenant what is new for them; returns whether there is more."""
    batch, has_more = EventBatch(), not state.is_complete
    for one in sorted((one for one in listeners if one.is_waiting), key=lambda one: one.position):
        if one.position < state.dropped:
            one.end(RESET)
        elif one.position < state.position:
            if one.position >= batch.end:  # one batch serves all whose positions are in it
                page = event_log.read_page(one.scope, state, after=one.position, limit=BATCH)
                batch = EventBatch(page.events, end=page.position)
            one.know_end_user()
            frames = batch.frames(one.only, after=one.position)
            one.position = batch.end
            one.leave(frames)
            has_more |= one.position < state.position
        one.leave_heartbeat()
    return has_more


class EventBatch:
    """Successive events of a tenant.  end: the position of the last one."""

    def __init__(self, events: Sequence[LoggedEvent] = (), *, end: int = 0) -> None:
        self.end = end
        self._events = events
        self._frames: dict[tuple[EventFilter, int], bytes] = {}

    def frames(self, only: EventFilter, *, after: int) -> bytes:
        """Those that are wanted, as bytes that listeners share who want the same."""
        if (only, after) not in self._frames:
            following = self._events[bisect_right(self._events, after, key=lambda event: event.position) :]
            self._frames[only, after] = b"".join(event.frame for event in following if only.matches(event))
        return self._frames[only, after]
