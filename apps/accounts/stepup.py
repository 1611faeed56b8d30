"""Step-up: the user of this browser has just confirmed that they are the person who signed in.

django-allauth records authentications in the session; they are judged here, because its own check
(`did_recently_reauthenticate`) accepts users without any factor, and accepts recovery codes and passwords like a
passkey.  A step-up is valid only if:

- it was requested and performed in this session, after signing in: signing in is not a step-up;
- it used a passkey or an authenticator's code, and the user still has that factor;
- it is at most ``MAX_AGE_SECONDS`` old by the database's clock, and not more than ``SKEW_SECONDS`` in the future.

Irreversible actions (many memories at once, a person, a project, a tenant) also require an assertion: a single-use
permission, bound to exactly one action.
"""

import hashlib
import math
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest

from apps.accounts import second_factors, sessions
from apps.accounts.models import Assertion
from apps.core.clock import database_time
from apps.core.errors import Forbidden
from apps.core.queries import execute

MAX_AGE_SECONDS: Final = 300
SKEW_SECONDS: Final = 5
METHODS: Final = second_factors.SECOND


class StepUpRequired(Forbidden):
    """Confirm your identity with a passkey or a code, and try again."""

    code = "STEP_UP_REQUIRED"


class StepUpSpent(StepUpRequired):
    """This confirmation has been used for such an action already: confirm again."""


class AssertionRefused(Forbidden):
    """The confirmed action differs from this request, or was performed already. Check it and confirm again."""

    code = "ASSERTION_REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUp:
    """method: ``webauthn`` or ``totp``.  at: seconds since 1970, as recorded in the session.  age_seconds: age when
    checked."""

    method: str
    at: float
    age_seconds: float


def require_step_up(request: HttpRequest, *, max_age: float = MAX_AGE_SECONDS) -> StepUp:
    """The newest valid step-up of this session.  Raises StepUpRequired."""
    found = find_step_up(request, max_age=max_age)
    if found is None:
        raise StepUpRequired
    return found


def find_step_up(request: HttpRequest, *, max_age: float = MAX_AGE_SECONDS) -> StepUp | None:
    """Like ``require_step_up``, but returns None."""
    person = request.user
    if not person.is_authenticated or not person.is_active or sessions.NAME not in request.session:
        return None
    theirs = second_factors.ids_of(person.pk)
    now = database_time().timestamp()
    for record in reversed(second_factors.records(request)):
        kind = str(record.get("type"))
        if record.get("method") != "mfa" or kind not in METHODS:
            continue
        if theirs.get(record.get("id", 0)) == kind and _is_recent(record, now, max_age):
            return StepUp(method=kind, at=record["at"], age_seconds=now - record["at"])
    return None


def find_password(request: HttpRequest) -> StepUp | None:
    """The newest time that the password was requested and entered after signing in.  It only permits adding the first
    passkey or authenticator.  None for a user who has one."""
    person = request.user
    if not person.is_authenticated or not person.is_active or second_factors.has_second_factor(person.pk):
        return None
    now = database_time().timestamp()
    for record in reversed(second_factors.records(request)):
        if record.get("method") == "password" and _is_recent(record, now, MAX_AGE_SECONDS):
            return StepUp(method="password", at=record["at"], age_seconds=now - record["at"])
    return None


def has_just_added_factor(request: HttpRequest) -> bool:
    """Whether a factor was added in this session within the lifetime of a step-up.  Its user confirmed their identity
    before and used the new factor: this permits showing their recovery codes, but no deletion."""
    now = database_time().timestamp()
    return any(_is_recent(one, now, MAX_AGE_SECONDS, mark="added") for one in second_factors.records(request))


def issue_assertion(request: HttpRequest, *, action: str, target: str, count: int) -> str:
    """Issue an assertion for this action, for its confirmation page: a nonce, of which only a hash is stored.

    Raises StepUpRequired; StepUpSpent if this step-up was already used for such an action.
    """
    step_up = require_step_up(request)
    session, nonce = _session(request), secrets.token_urlsafe(32)
    with transaction.atomic():
        execute(
            "delete from accounts_assertion where user_id = %s and expires_at < clock_timestamp() - interval '1 day'",
            [request.user.pk],
        )
        spent = Assertion.objects.filter(session=session, authenticated_at=step_up.at).exclude(used_at=None)
        if spent.exists():
            raise StepUpSpent
        execute(
            "insert into accounts_assertion (user_id, session, binding, authenticated_at, created_at, expires_at)"
            " values (%s, %s, %s, %s, clock_timestamp(), clock_timestamp() + %s * interval '1 second')",
            [request.user.pk, session, _binding(action, target, count, nonce), step_up.at, MAX_AGE_SECONDS],
        )
    return nonce


def use_assertion(request: HttpRequest, nonce: str, *, action: str, target: str, count: int) -> StepUp:
    """Consume the assertion for exactly this action; returns the step-up.

    A single UPDATE, so that of two concurrent uses one is refused.  Raises StepUpRequired, StepUpSpent,
    AssertionRefused.
    """
    step_up = require_step_up(request)
    try:
        with transaction.atomic():
            used = execute(
                "update accounts_assertion set used_at = clock_timestamp()"
                " where user_id = %s and session = %s and binding = %s and used_at is null"
                " and expires_at > clock_timestamp()",
                [request.user.pk, _session(request), _binding(action, target, count, nonce)],
            )
            if used != 1:
                raise AssertionRefused
    except IntegrityError:
        raise StepUpSpent from None
    return step_up


def _is_recent(record: Mapping[str, Any], now: float, max_age: float, *, mark: str = "reauthenticated") -> bool:
    at = record.get("at")
    if record.get(mark) is not True or not isinstance(at, float) or not math.isfinite(at):
        return False
    return -SKEW_SECONDS <= now - at <= max_age


def _session(request: HttpRequest) -> bytes:
    return hashlib.sha256(str(request.session[sessions.NAME]).encode()).digest()


def _binding(action: str, target: str, count: int, nonce: str) -> bytes:
    """Each part is prefixed with its length, so that different lists of parts never give the same bytes."""
    digest = hashlib.sha256()
    for part in (action, target, str(count), nonce):
        raw = part.encode()
        digest.update(struct.pack(">I", len(raw)) + raw)
    return digest.digest()
