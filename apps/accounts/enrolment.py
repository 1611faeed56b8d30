"""The first passkey or authenticator of an account, and what it takes beside the password.

A person with one adds others with it.  A person with none shows the password and a code that they were given once, when
the account was made or by the host's operator: a stolen password alone adds nothing, and so opens no memory.
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
# Crockford's base 32, without letters that are taken for others: 20 of them are 100 random bits.
ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, OF_A_GROUP = 4, 5
_TAKEN_FOR: Final = str.maketrans({"O": "0", "I": "1", "L": "1"})
_ACCEPTED: Final = "enrolment"  # in the session: the digest of the code that was shown there


class HasSecondFactor(Conflict):
    """This account has a passkey or an authenticator already. `memsync people reset` resets it."""

    code = "SECOND_FACTOR_EXISTS"


class CodeNeeded(Forbidden):
    """The one-time code was used, replaced or has expired. Ask the server's operator for another."""

    code = "ENROLMENT_CODE_NEEDED"


def give_code(person: User, *, actor: str, now: datetime) -> str:
    """A new code in place of the one before, shown now and never again.  Raises HasSecondFactor."""
    if second_factors.has_second_factor(person.pk):
        raise HasSecondFactor
    code = new_code()
    kept = {"digest": _digest(code), "created_at": now, "expires_at": now + LIFETIME}
    with transaction.atomic():
        EnrolmentCode.objects.update_or_create(user=person, defaults=kept)
        record(None, actor=actor, action=AuditAction.FACTOR_CODE, target=f"account:{person.pk}", now=now)
    return code


def new_code() -> str:
    """``K3F8T-…``: belongs to no account until it is given."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(OF_A_GROUP)) for _ in range(GROUPS))


def remember_code(request: HttpRequest, code: str) -> None:
    """For the browser in which a person signs up: it is not asked for there.  The digest is kept."""
    request.session[_ACCEPTED] = _digest(code).hex()


def accept_code(request: HttpRequest, person: User, code: str) -> bool:
    """Whether this is the person's code; the session then holds that it was shown.  It is not used up by that."""
    is_theirs = _live(person, _digest(code)).exists()
    if is_theirs:
        remember_code(request, code)
    return is_theirs


def is_code_accepted(request: HttpRequest, person: User) -> bool:
    """Whether the code was shown in this session, and is good still."""
    shown = _shown(request)
    return shown is not None and _live(person, shown).exists()


@contextmanager
def adding_factor(request: HttpRequest, person: User) -> Iterator[None]:
    """A transaction in which this person gets a passkey or an authenticator; the first one uses up the code.

    Two who show one code at once wait for each other.  Raises CodeNeeded.
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
    """However it was typed: blanks, dashes, case and letters that are taken for digits make no difference."""
    letters = "".join(letter for letter in code.upper() if letter.isalnum()).translate(_TAKEN_FOR)
    return hashlib.sha256(letters.encode(errors="replace")).digest()
