"""How often passwords and codes may be tried, by all processes together, and what the audit trail keeps of it."""

import hashlib
import math
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.apikeys.limits import Window, take
from apps.audit.services import record
from apps.core.errors import LimitReached

# One address may try for several people, one person's password may be tried from several addresses.
PER_ADDRESS: Final = (Window(60, 20),)
PER_PERSON: Final = (Window(60, 10), Window(3600, 60))
# Six digits, three of which are good at any time: at this rate a year of guessing finds one in a few hundred people.
CODES: Final = (Window(60, 5), Window(3600, 20))
SIGN_UPS: Final = (Window(60, 5), Window(3600, 20))
REFUSALS_NOTED: Final = (Window(60, 1),)
ONCE: Final = (Window(300, 1),)


class TooManyAttempts(LimitReached):
    """Too many attempts. Wait a little, and try again."""

    code = "TOO_MANY_ATTEMPTS"


def count_password(address: str, named: str, *, now: datetime) -> None:
    """As ``seconds_to_wait``, but raises TooManyAttempts."""
    if wait := seconds_to_wait(address, named, now=now):
        raise TooManyAttempts(retry_after=wait)


def count_sign_up(address: str, *, now: datetime) -> None:
    """Of new people and their tenants, which cost more than a password.  Raises TooManyAttempts."""
    verdict = take(f"sign-up from {address}"[:64], SIGN_UPS, now=now)
    if not verdict.is_allowed:
        raise TooManyAttempts(retry_after=verdict.retry_after_seconds)


def count_code(person_id: int, *, now: datetime) -> None:
    """As ``seconds_to_wait_for_code``, but raises TooManyAttempts."""
    if wait := seconds_to_wait_for_code(person_id, now=now):
        raise TooManyAttempts(retry_after=wait)


def seconds_to_wait(address: str, named: str, *, now: datetime) -> int:
    """0 when somebody at this address may try this person's password; the attempt is then counted.

    named: what was typed for a name; a passkey names nobody.
    """
    verdicts = [take(f"sign-in from {address}"[:64], PER_ADDRESS, now=now)]
    if named := named.strip().lower():
        verdicts.append(take(f"sign-in as {_digest(named)}", PER_PERSON, now=now))
    return math.ceil(max(verdict.retry_after_seconds for verdict in verdicts))


def seconds_to_wait_for_code(person_id: int, *, now: datetime) -> int:
    """0 when another code or passkey of this person may be tried; the attempt is then counted."""
    return math.ceil(take(f"second factor of {person_id}", CODES, now=now).retry_after_seconds)


def is_first_use(person_id: int, code: str, *, now: datetime) -> bool:
    """Whether this code of an authenticator was not shown before, by any process; it has been from now on."""
    return take(f"code {_digest(f'{person_id} {code}')}", ONCE, now=now).is_allowed


def note_refused_token(*, now: datetime) -> None:
    """One row a minute: guessing must not fill the trail."""
    if take("refused bearer", REFUSALS_NOTED, now=now).is_allowed:
        note(None, "session.refused", reason="bearer", now=now)


def note(person_id: int | None, action: str, *, reason: str = "", now: datetime) -> None:
    """In the trail of no tenant.  person_id None: refused, and what was typed may be a password in the wrong box."""
    actor = f"account:{person_id}" if person_id else "anonymous"
    outcome = "ok" if person_id else "denied"
    target = actor if person_id else "account"
    with transaction.atomic():
        record(None, actor=actor, action=action, target=target, outcome=outcome, reason=reason, now=now)


def _digest(text: str) -> str:
    """What somebody typed is no name for a counter."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
