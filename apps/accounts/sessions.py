"""Lifetime and list of browser sessions: a session ends when it is idle too long, and after a maximum age.

Session values besides Django's own: a name, which survives changes of the key; when it was opened and last used, in
seconds since 1970; and the browser and network that opened it.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from apps.accounts.models import BrowserSession, User
from apps.accounts.session_store import SessionStore, digest_of
from apps.audit.origin import current

NAME: Final = "name"
OPENED_AT: Final = "opened_at"
SEEN_AT: Final = "seen_at"
CLIENT: Final = "client"
NETWORK: Final = "network"
NOTED_EVERY_SECONDS: Final = 60  # not on every request, to save writes
_MOST_CLIENT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A browser in which a user is signed in.  client: its user agent.  network: of its address."""

    client: str
    network: str
    opened_at: datetime
    seen_at: datetime
    is_current: bool


def begin(request: HttpRequest, *, now: datetime) -> None:
    """Called right after sign-in."""
    session = request.session
    session[NAME] = secrets.token_urlsafe(16)
    session[OPENED_AT] = session[SEEN_AT] = now.timestamp()
    session[CLIENT] = request.headers.get("User-Agent", "")[:_MOST_CLIENT]
    session[NETWORK] = current().network


def is_over(session: SessionBase, *, now: datetime) -> bool:
    """Whether a signed-in session is idle for too long or too old.  A session without an opening time is over."""
    if SESSION_KEY not in session:
        return False
    idle = now.timestamp() - session.get(SEEN_AT, 0.0)
    age = now.timestamp() - session.get(OPENED_AT, 0.0)
    return bool(idle > settings.SESSION_IDLE_SECONDS or age > settings.SESSION_MAX_SECONDS)


def note_use(session: SessionBase, *, now: datetime) -> None:
    if SESSION_KEY in session and now.timestamp() - session.get(SEEN_AT, 0.0) >= NOTED_EVERY_SECONDS:
        session[SEEN_AT] = now.timestamp()


def renew(request: HttpRequest) -> None:
    """Change the session's key, so that a previously leaked key is useless."""
    request.session.cycle_key()


def list_sessions(request: HttpRequest, person: User, *, now: datetime) -> list[OpenSession]:
    """The user's active sessions that match the current password, oldest first."""
    here = digest_of(request.session.session_key or "")
    found = []
    for row in BrowserSession.objects.filter(user=person, expires_at__gt=now).order_by("pk"):
        session = SessionStore()
        session.update(session.decode(row.data))
        is_theirs = constant_time_compare(session.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash())
        if is_theirs and not is_over(session, now=now):
            found.append(_opened(session, is_current=bytes(row.digest) == here))
    return found


def end_others(request: HttpRequest, person: User) -> int:
    """End every session of this user except the current one; returns the number of deleted rows."""
    others = BrowserSession.objects.filter(user=person).exclude(digest=digest_of(request.session.session_key or ""))
    return int(others.delete()[0])


def _opened(session: SessionBase, *, is_current: bool) -> OpenSession:
    return OpenSession(
        client=session.get(CLIENT, ""),
        network=session.get(NETWORK, ""),
        opened_at=datetime.fromtimestamp(session[OPENED_AT], UTC),
        seen_at=datetime.fromtimestamp(session[SEEN_AT], UTC),
        is_current=is_current,
    )
