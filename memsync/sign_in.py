"""Signing in to the admin: how often it may be tried, and what the audit trail keeps of it."""

import hashlib
import math
from datetime import datetime
from typing import Final

from django.db import transaction
from django.http import HttpRequest

from apps.apikeys.limits import Window, take
from apps.audit.services import record

# One address may try for several people, one person's password may be tried from several addresses.
PER_ADDRESS: Final = (Window(60, 20),)
PER_PERSON: Final = (Window(60, 10), Window(3600, 60))


def seconds_to_wait(request: HttpRequest, *, now: datetime) -> int:
    """0 when the attempt may be made; it is then counted."""
    named = request.POST.get("username", "").strip().lower()
    person = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]  # an address is no name for a counter
    verdicts = (
        take(f"sign-in from {request.META.get('REMOTE_ADDR', '')}"[:64], PER_ADDRESS, now=now),
        take(f"sign-in as {person}", PER_PERSON, now=now),
    )
    return math.ceil(max(verdict.retry_after_seconds for verdict in verdicts))


def note(request: HttpRequest, *, now: datetime) -> None:
    """Who signed in; of a failure only that there was one, since what was typed may be a password in the wrong box."""
    person = request.user.pk if request.user.is_authenticated else None
    with transaction.atomic():
        if person:
            record(None, actor=f"account:{person}", action="session.open", target=f"account:{person}", now=now)
        else:
            record(None, actor="anonymous", action="session.refused", target="account", outcome="denied", now=now)
