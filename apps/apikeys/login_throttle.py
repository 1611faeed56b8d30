"""Rate limits for passwords and codes, shared by all processes, and their audit rows.

Failures are counted, not attempts, and mostly per source: guesses at an owner's name from elsewhere must not lock the
owner out.  A guess is counted for its address, and for the name at that address.  Guesses at one name from many
addresses slow the owner at another address down to one attempt every minute or two, and lock no one out.  A browser in
which the account has signed in before has its own counter (``apps.accounts.devices``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.crypto import salted_hmac

from apps.apikeys import rate_limits
from apps.apikeys.addresses import address_key
from apps.apikeys.rate_limits import RateCeiling, take
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import LimitReached

PER_ADDRESS: Final = (RateCeiling(60, 20),)
PER_NAME_AND_ADDRESS: Final = (RateCeiling(60, 10), RateCeiling(3600, 60))
PER_NAME: Final = (RateCeiling(60, 20), RateCeiling(3600, 120))  # beyond this, SLOWLY applies
SLOWLY: Final = (RateCeiling(60, 1),)  # for one name from one address
PER_DEVICE: Final = (RateCeiling(60, 10), RateCeiling(3600, 60))
# Six digits, three valid codes at any time: at this rate, a year of guessing succeeds for one in a few hundred users.
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
    """A permitted attempt, counted as a failure until it is ``forgiven``."""

    counted: Sequence[Counter]
    at: datetime


def count_password(address: str, named: str, *, device: str | None = None, now: datetime) -> Attempt:
    """Count an attempt to sign in.

    named: the name that was entered; empty for a passkey.  device: id of the browser, if the account has signed in
    there.

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
    """Remove the attempt from the counters, because it succeeded."""
    for counter, windows in attempt.counted:
        rate_limits.give_back(counter, windows, now=attempt.at)


def count_sign_up(address: str, *, now: datetime) -> None:
    """Count a sign-up; its limit is lower, because creating a user and tenant is expensive.  Raises TooManyAttempts."""
    _count([(f"sign-up from {address_key(address)}", SIGN_UPS)], now=now)


def count_registration(address: str, *, now: datetime) -> None:
    """Count an OAuth client that registers itself, and documents of clients that are read.  Raises TooManyAttempts."""
    _count([(f"client from {address_key(address)}", SIGN_UPS)], now=now)


def count_token_request(address: str, *, now: datetime) -> Attempt:
    """Count a request for OAuth tokens; one that succeeds is forgiven.  Raises TooManyAttempts."""
    return _count([(f"tokens from {address_key(address)}", PER_ADDRESS)], now=now)


def count_code(person_id: int, *, device: str | None = None, now: datetime) -> None:
    """Count an attempt with a second-factor code.  device: as in ``count_password``; an attacker who has the password
    and guesses codes elsewhere does not lock the owner out.

    Raises TooManyAttempts.
    """
    at = f" at {_digest(device)}" if device else ""
    _count([(f"code of {person_id}{at}", CODES)], now=now)


def is_first_use(person_id: int, code: str, *, now: datetime) -> bool:
    """Whether no process has seen this authenticator code before; marks it as used."""
    return take(f"code {_digest(f'{person_id} {code}')}", ONCE, now=now).is_allowed


def note_refused_token(*, now: datetime) -> None:
    """Record a refused token, at most once a minute: guessing must not fill the audit trail."""
    if take("refused bearer", REFUSALS_NOTED, now=now).is_allowed:
        note(None, AuditAction.SESSION_REFUSED, reason="bearer", now=now)


def note(person_id: int | None, action: AuditAction, *, reason: str = "", now: datetime) -> None:
    """Record in the audit trail, without a tenant.  person_id: None if refused; the entered name is not recorded,
    because it may be a password typed into the wrong field."""
    actor = f"account:{person_id}" if person_id else "anonymous"
    outcome = "ok" if person_id else "denied"
    target = actor if person_id else "account"
    with transaction.atomic():
        record(None, actor=actor, action=action, target=target, outcome=outcome, reason=reason, now=now)


def _count(counters: Sequence[Counter], *, now: datetime) -> Attempt:
    """Count in all of these counters, or in none.  Raises TooManyAttempts."""
    taken: list[Counter] = []
    for counter, windows in counters:
        verdict = take(counter, windows, now=now)
        if not verdict.is_allowed:
            forgive(Attempt(counted=taken, at=now))
            raise TooManyAttempts(retry_after=math.ceil(verdict.retry_after_seconds))
        taken.append((counter, windows))
    return Attempt(counted=taken, at=now)


def _digest(text: str) -> str:
    """Counters are named by a digest, because users may type a password into the wrong field."""
    return salted_hmac("memsync.attempts", text, algorithm="sha256").hexdigest()[:32]
