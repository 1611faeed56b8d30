"""Browsers in which a user has signed in before, so that other people's guesses do not slow them down.

A signed cookie names up to five accounts, each with an id of this browser and a mark of the account's password.  It
only proves a complete earlier sign-in: attempts with it have counters of their own, as in OWASP's "Slow Down Online
Guessing Attacks with Device Cookies".  A new password invalidates it.
"""

import secrets
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare

from apps.accounts.models import User

KEPT: Final = timedelta(days=180)
MOST: Final = 5
_SALT: Final = "memsync.devices"
_TO_WRITE: Final = "memsync.devices"  # the response's cookie; clients cannot set this key (theirs begin with HTTP_)


def known_device(request: HttpRequest, email: str) -> str | None:
    """The id of this browser, if the account with this address has signed in here with its current password."""
    entries = list(_entries(request))  # without a cookie, no account is queried
    person = User.objects.filter(email=User.objects.normalize_email(email).strip().lower()).first() if entries else None
    return _of(person, entries) if person else None


def known_device_of(request: HttpRequest, person: User) -> str | None:
    """Like ``known_device``, for a user."""
    return _of(person, list(_entries(request)))


def any_known_device(request: HttpRequest) -> str | None:
    """Like ``known_device``, if no account was named: for the first valid account in the cookie."""
    entries = list(_entries(request))
    people = {one.pk: one for one in User.objects.filter(pk__in=[entry[0] for entry in entries])} if entries else {}
    return next((found for one in people.values() if (found := _of(one, entries))), None)


def remember(request: HttpRequest, person: User) -> None:
    """Called after a complete sign-in: the response to this request sets the cookie."""
    entries = list(_entries(request))
    device = _of(person, entries) or secrets.token_urlsafe(16)
    mine = [person.pk, device, person.password_mark().hex()]
    request.META[_TO_WRITE] = [mine, *(entry for entry in entries if entry[0] != person.pk)][:MOST]


def write(request: HttpRequest, response: HttpResponseBase) -> None:
    entries = request.META.get(_TO_WRITE)
    if entries is not None:
        response.set_cookie(
            settings.DEVICE_COOKIE_NAME,
            signing.dumps(entries, salt=_SALT, compress=True),
            max_age=KEPT,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def _entries(request: HttpRequest) -> Iterator[Sequence[Any]]:
    try:
        yield from signing.loads(request.COOKIES.get(settings.DEVICE_COOKIE_NAME, ""), salt=_SALT, max_age=KEPT)
    except signing.BadSignature:
        return


def _of(person: User, entries: Sequence[Sequence[Any]]) -> str | None:
    mark = person.password_mark().hex()
    return next(
        (str(device) for pk, device, shown in entries if pk == person.pk and constant_time_compare(shown, mark)), None
    )
