"""How long a browser's session lasts: while it is used, and never longer than a day's work.

Three values stand in it beside Django's own: its name, which outlives the changes of its key, and when it was opened
and last used, in seconds since 1970.
"""

import secrets
from datetime import datetime
from typing import Final

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

NAME: Final = "name"
OPENED_AT: Final = "opened_at"
SEEN_AT: Final = "seen_at"
NOTED_EVERY_SECONDS: Final = 60  # a write for each click would be for nothing


def begin(session: SessionBase, *, now: datetime) -> None:
    """For whoever has just signed in."""
    session[NAME] = secrets.token_urlsafe(16)
    session[OPENED_AT] = session[SEEN_AT] = now.timestamp()


def is_over(session: SessionBase, *, now: datetime) -> bool:
    """Whether somebody signed in here and their time is up.  A session that does not say when it began has none."""
    if SESSION_KEY not in session:
        return False
    idle = now.timestamp() - session.get(SEEN_AT, 0.0)
    age = now.timestamp() - session.get(OPENED_AT, 0.0)
    return bool(idle > settings.SESSION_IDLE_SECONDS or age > settings.SESSION_MAX_SECONDS)


def note_use(session: SessionBase, *, now: datetime) -> None:
    if SESSION_KEY in session and now.timestamp() - session.get(SEEN_AT, 0.0) >= NOTED_EVERY_SECONDS:
        session[SEEN_AT] = now.timestamp()


def renew(request: HttpRequest) -> None:
    """Another key for the same session, so that one that was known before is worth nothing now."""
    old = request.session.session_key
    request.session.cycle_key()
    # django-allauth lists sessions by their keys.
    UserSession.objects.filter(session_key=old).update(session_key=request.session.session_key)
