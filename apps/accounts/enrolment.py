"""Enrolment of an account's first passkey or authenticator.

A user with a second factor adds others with it.  A user without one enters the password and a one-time code, which they
received when the account was created or from the host's operator.  A stolen password alone cannot add a factor, and so
cannot open a memory.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest

from apps.accounts import second_factors
from apps.accounts.models import EnrolmentCode, User
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Forbidden

LIFETIME: Final = timedelta(days=30)
# Crockford's base 32, without ambiguous letters: 20 of them are 100 random bits.
ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, OF_A_GROUP = 4, 5
_TAKEN_FOR: Final = str.maketrans({"O": "0", "I": "1", "L": "1"})
_ACCEPTED: Final = "enrolment"  # session key: the digest of the code entered there


class HasSecondFactor(Conflict):
    """This account has a passkey or an authenticator already. `memsync people reset` resets it."""

    code = "SECOND_FACTOR_EXISTS"


class CodeNeeded(Forbidden):
    """The one-time code was used, replaced or has expired. Ask the server's operator for another."""

    code = "ENROLMENT_CODE_NEEDED"


def give_code(person: User, *, actor: str, now: datetime) -> str:
    """Create a code that replaces the previous one; it is returned once.  Raises HasSecondFactor."""
    if second_factors.has_second_factor(person.pk):
        raise HasSecondFactor
    code = new_code()
    kept = {"digest": _digest(code), "created_at": now, "expires_at": now + LIFETIME}
    with transaction.atomic():
        EnrolmentCode.objects.update_or_create(user=person, defaults=kept)
        record(None, actor=actor, action=AuditAction.FACTOR_CODE, target=f"account:{person.pk}", now=now)
    return code


def new_code() -> str:
    """A code such as ``K3F8T-…``; ``give_code`` assigns one to an account."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(OF_A_GROUP)) for _ in range(GROUPS))


def remember_code(request: HttpRequest, code: str) -> None:
    """Mark the code as accepted in this session, as for the browser in which a user signs up.  Only the digest is
    stored."""
    request.session[_ACCEPTED] = _digest(code).hex()


def accept_code(request: HttpRequest, person: User, code: str) -> bool:
    """Whether this is the user's code.  If so, the session stores that it was entered; the code is not consumed."""
    is_theirs = _live(person, _digest(code)).exists()
    if is_theirs:
        remember_code(request, code)
    return is_theirs


def is_code_accepted(request: HttpRequest, person: User) -> bool:
    """Whether the code was entered in this session and is still valid."""
    shown = _shown(request)
    return shown is not None and _live(person, shown).exists()


@contextmanager
def adding_factor(request: HttpRequest, person: User) -> Iterator[None]:
    """A transaction in which this user gets a passkey or an authenticator; adding the first one consumes the code.

    Concurrent calls with one code wait for each other.  Raises CodeNeeded.
    """
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)
        if not second_factors.has_second_factor(person.pk):
            shown = _shown(request)
            if shown is None or not _live(person, shown).delete()[0]:
                raise CodeNeeded
        yield
    request.session.pop(_ACCEPTED, None)


def _live(person: User, digest: bytes) -> QuerySet[EnrolmentCode]:
    return EnrolmentCode.objects.filter(user=person, digest=digest, expires_at__gt=Now())


def _shown(request: HttpRequest) -> bytes | None:
    held = request.session.get(_ACCEPTED)
    return bytes.fromhex(held) if isinstance(held, str) else None


def _digest(code: str) -> bytes:
    """Digest of the normalized code: spaces, dashes, case and ambiguous letters make no difference."""
    letters = "".join(letter for letter in code.upper() if letter.isalnum()).translate(_TAKEN_FOR)
    return hashlib.sha256(letters.encode(errors="replace")).digest()
