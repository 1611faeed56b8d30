"""How often passwords and codes may be tried, by all processes together, and what the audit trail keeps of it.

Failures are counted, not attempts, and mostly by where they come from: guesses at an owner's name from elsewhere
must not keep the owner out.  A guess is counted for its address, and for the name at that address.  Guesses at one name
from many addresses slow down a person at an address of their own, to one attempt a minute or two, and stop
no one.  A browser in which the account has signed in before is counted by itself (``apps.accounts.devices``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.crypto import salted_hmac

from apps.apikeys import limits
from apps.apikeys.addresses import address_key
from apps.apikeys.limits import RateCeiling, take
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import LimitReached

PER_ADDRESS: Final = (RateCeiling(60, 20),)
PER_NAME_AND_ADDRESS: Final = (RateCeiling(60, 10), RateCeiling(3600, 60))
PER_NAME: Final = (RateCeiling(60, 20), RateCeiling(3600, 120))  # beyond that, SLOWLY
SLOWLY: Final = (RateCeiling(60, 1),)  # of a name from one address
PER_DEVICE: Final = (RateCeiling(60, 10), RateCeiling(3600, 60))
# Six digits, three of which are good at any time: at this rate a year of guessing finds one in a few hundred people.
CODES: Final = (RateCeiling(60, 5), RateCeiling(3600, 20))
SIGN_UPS: Final = (RateCeiling(60, 5), RateCeiling(3600, 20))
REFUSALS_NOTED: Final = (RateCeiling(60, 1),)
ONCE: Final = (RateCeiling(300, 1),)
Counter = tuple[str, Sequence[RateCeiling]]


class TooManyAttempts(LimitReached):
    """Too many attempts. Wait, and try again."""

    code = "TOO_MANY_ATTEMPTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One that may be made, and is counted as a failure until it is ``forgiven``."""

    counted: Sequence[Counter]
    at: datetime


def count_password(address: str, named: str, *, device: str | None = None, now: datetime) -> Attempt:
    """named: what was typed for a name; a passkey names no one.  device: of the account, where it is known there.

    Raises TooManyAttempts, and then counts nothing.
    """
    if device and take(known := f"device {_digest(device)}", PER_DEVICE, now=now).is_allowed:
        return Attempt(counted=[(known, PER_DEVICE)], at=now)
    here, name = address_key(address), _digest(named.strip().lower()) if named.strip() else ""
    at_once: list[Counter] = [(f"sign-in from {here}", PER_ADDRESS)]
    if name:
        at_once.append((f"sign-in {_digest(name + here)}", PER_NAME_AND_ADDRESS))
    attempt = _count(at_once, now=now)
    everywhere = f"sign-in as {name}"
    if not name or take(everywhere, PER_NAME, now=now).is_allowed:
        return Attempt(counted=[*attempt.counted, *([(everywhere, PER_NAME)] if name else [])], at=now)
    try:
        slow = _count([(f"slowly {_digest(name + here)}", SLOWLY)], now=now)
    except TooManyAttempts:
        forgive(attempt)
        raise
    return Attempt(counted=[*attempt.counted, *slow.counted], at=now)


def forgive(attempt: Attempt) -> None:
    """It was right."""
    for counter, windows in attempt.counted:
        limits.give_back(counter, windows, now=attempt.at)


def count_sign_up(address: str, *, now: datetime) -> None:
    """Of new people and their tenants, which cost more than a password.  Raises TooManyAttempts."""
    _count([(f"sign-up from {address_key(address)}", SIGN_UPS)], now=now)


def count_code(person_id: int, *, device: str | None = None, now: datetime) -> None:
    """That another code of this person is tried.  device: as of ``count_password``: a person who has the password and
    guesses codes elsewhere does not keep its owner out.

    Raises TooManyAttempts.
    """
    at = f" at {_digest(device)}" if device else ""
    _count([(f"code of {person_id}{at}", CODES)], now=now)


def is_first_use(person_id: int, code: str, *, now: datetime) -> bool:
    """Whether this code of an authenticator was not shown before, by any process; it has been from now on."""
    return take(f"code {_digest(f'{person_id} {code}')}", ONCE, now=now).is_allowed


def note_refused_token(*, now: datetime) -> None:
    """One row a minute: guessing must not fill the trail."""
    if take("refused bearer", REFUSALS_NOTED, now=now).is_allowed:
        note(None, AuditAction.SESSION_REFUSED, reason="bearer", now=now)


def note(person_id: int | None, action: AuditAction, *, reason: str = "", now: datetime) -> None:
    """In the trail of no tenant.  person_id None: refused, and what was typed may be a password in the wrong box."""
    actor = f"account:{person_id}" if person_id else "anonymous"
    outcome = "ok" if person_id else "denied"
    target = actor if person_id else "account"
    with transaction.atomic():
        record(None, actor=actor, action=action, target=target, outcome=outcome, reason=reason, now=now)


def _count(counters: Sequence[Counter], *, now: datetime) -> Attempt:
    """In all of these, or in none.  Raises TooManyAttempts."""
    taken: list[Counter] = []
    for counter, windows in counters:
        verdict = take(counter, windows, now=now)
        if not verdict.is_allowed:
            forgive(Attempt(counted=taken, at=now))
            raise TooManyAttempts(retry_after=math.ceil(verdict.retry_after_seconds))
        taken.append((counter, windows))
    return Attempt(counted=taken, at=now)


def _digest(text: str) -> str:
    """What a user typed, which may be a password in the wrong box, is no name for a counter."""
    return salted_hmac("memsync.attempts", text, algorithm="sha256").hexdigest()[:32]
