"""Signing in to the admin: how often it may be tried, and what the audit trail keeps of it."""

from datetime import datetime

from django.http import HttpRequest

from apps.apikeys import attempts


def seconds_to_wait(request: HttpRequest, *, now: datetime) -> int:
    """0 when the attempt may be made; it is then counted, together with those at the people's pages."""
    return attempts.seconds_to_wait(request.META.get("REMOTE_ADDR", ""), request.POST.get("username", ""), now=now)


def note(request: HttpRequest, *, now: datetime) -> None:
    """Who signed in; of a failure only that there was one."""
    person = request.user.pk if request.user.is_authenticated else None
    attempts.note(person, "session.open" if person else "session.refused", now=now)
